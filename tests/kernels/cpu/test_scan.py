"""Running sums against NumPy's in float64."""
from __future__ import annotations

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.scan import cumsum

RNG = np.random.default_rng(0)
SHAPES = [(7,), (1,), (4, 5), (9, 3), (3, 1030, 5), (2, 7, 1500), (1, 3), (0, 3), (3, 0), (2, 0, 4), (5000, 9), (6, 20_000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(shape, dtype):
    x = RNG.standard_normal(shape).astype(dtype)
    for axis in range(-len(shape), len(shape)):
        y = cumsum(x, axis=axis)
        assert y.dtype == dtype and y.shape == shape and y.flags.c_contiguous
        np.testing.assert_array_equal(y, np.cumsum(x, axis=axis, dtype=np.float64).astype(dtype))


def test_strides():
    x = RNG.standard_normal((40, 60)).astype(np.float32)
    for view in (x.T, x[::2, ::-3], np.broadcast_to(x[:1], (7, 60))):
        before = view.copy()
        for axis in (0, 1):
            np.testing.assert_array_equal(cumsum(view, axis=axis), cumsum(view.copy(), axis=axis))
        np.testing.assert_array_equal(view, before)


@pytest.mark.parametrize("axis", [0, 1])
def test_not_finite_numbers_reach_what_follows(axis):
    x = np.ones((6, 6), np.float32)
    x[2, 1], x[3, 3], x[4, 2], x[4, 4] = np.nan, np.inf, np.inf, -np.inf
    x[5, :3] = 3e38, 3e38, -3e38  # the sum overflows float32, and comes back
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(cumsum(x, axis=axis), np.cumsum(x, axis=axis, dtype=np.float64).astype(np.float32))


def test_results_do_not_depend_on_the_number_of_threads():
    x = RNG.standard_normal((30, 500, 40)).astype(np.float32)
    whole = [cumsum(x, axis=axis) for axis in range(3)]
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        for axis in range(3):
            np.testing.assert_array_equal(cumsum(x, axis=axis), whole[axis])
    finally:
        numba.set_num_threads(threads)
