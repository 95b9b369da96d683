"""The CUDA gamma numbers are those of the CPU."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

SHAPES = np.concatenate([np.linspace(1, 9, 300), [np.nan, np.inf, -1.0, 0.0, 1e-300], np.linspace(0.01, 0.99, 96)])
PLACES = [(0x123456789ABCDEF, 2**32 - 30), (2**64 - 1, 2**64 - 2), (0, 0)]


@pytest.fixture
def gamma(cp):
    from lucid_kernels.cuda.random import gamma

    return gamma


def check(cp, cuda, dtype, place):
    from lucid_kernels.cpu.random import gamma as cpu

    shapes = SHAPES.astype(dtype)
    draw = dict(zip(("seed", "offset"), place, strict=True))
    for log in (False, True):
        out = cp.full(shapes.shape, np.nan, dtype)
        assert cuda.random_gamma(cp.asarray(shapes), **draw, log=log, out=out) is out
        expected = cpu.random_gamma(shapes, **draw, log=log)
        np.testing.assert_array_equal(out.get()[:304], expected[:304])  # no exponential function
        np.testing.assert_allclose(out.get(), expected, rtol=1e-15 if dtype == np.float64 else 1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", PLACES)
def test_the_numbers_of_the_cpu(gamma, cp, schedule, dtype, place):
    check(cp, gamma, np.dtype(dtype), place)


def test_strides_halves_and_empty(gamma, cp):
    shapes = cp.asarray(np.linspace(0.5, 4, 12).reshape(3, 4)).T
    y = gamma.random_gamma(shapes, seed=3, offset=4)
    np.testing.assert_array_equal(y.get(), gamma.random_gamma(cp.ascontiguousarray(shapes), seed=3, offset=4).get())
    half = gamma.random_gamma(shapes.astype(ml_dtypes.bfloat16), seed=3, offset=4)
    assert half.dtype == ml_dtypes.bfloat16
    assert gamma.random_gamma(cp.zeros((0, 3)), seed=3, offset=4).shape == (0, 3)
    assert gamma.random_gamma(cp.ones(()), seed=3, offset=4).shape == ()
