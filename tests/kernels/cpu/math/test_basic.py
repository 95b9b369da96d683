"""Functions for kernels against NumPy in float64."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.math import basic as math_basic
from lucid_kernels.cpu.runtime.jit import jit


@jit
def power_of_two(x, y):
    for i in range(x.size):
        y[i] = math_basic.exp2_nonpositive(x[i])


@pytest.mark.parametrize(("dtype", "smallest"), [(np.float32, -126), (np.float64, -1022)])
def test_powers_of_two(dtype, smallest):
    x = np.concatenate([np.linspace(smallest, 0, 100_001), np.linspace(-1, 0, 100_001)]).astype(dtype)
    y = np.empty_like(x)
    power_of_two(x, y)
    wanted = np.exp2(x.astype(np.longdouble))
    assert np.abs(y / wanted - 1).max() <= 2 * np.finfo(dtype).eps
    assert y[x == 0].tolist() == [1.0] * 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits_of_powers_of_two(dtype):
    with np.errstate(invalid="ignore"):
        nan = np.array([0x7FC00001, 0x7FABCDEF, 0xFFFFFFFF], np.uint32).view(np.float32).astype(dtype)
    x = np.concatenate([nan, np.array([-np.inf, -1e30, -2000], dtype)])
    y = np.empty_like(x)
    power_of_two(x, y)
    assert np.isnan(y[:3]).all()
    assert y[3:].tolist() == [0.0] * 3
