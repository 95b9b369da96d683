"""Running sums and products against NumPy's in float64, running extrema against its own."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.reduction.cummax import running_extremes
from lucid_kernels.cpu.reduction.cumsum import cumprod, cumsum
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

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
    threads = get_num_threads()
    set_num_threads(1)
    try:
        for axis in range(3):
            np.testing.assert_array_equal(cumsum(x, axis=axis), whole[axis])
    finally:
        set_num_threads(threads)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(shape, dtype):
    x = RNG.uniform(0.9, 1.1, shape).astype(dtype)
    for axis in range(len(shape)):
        np.testing.assert_array_equal(cumprod(x, axis=axis), np.cumprod(x, axis=axis, dtype=np.float64).astype(dtype))


def last_places(x, axis, best):
    """Where the running extrema were last, NaN among them."""
    here = (x == best) | (x != x)
    steps = np.arange(x.shape[axis]).reshape([-1 if dim == axis else 1 for dim in range(x.ndim)])
    return np.maximum.accumulate(np.where(here, steps, 0), axis)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if 0 not in shape], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
def test_running_extremes(shape, dtype):
    x = (RNG.standard_normal(shape) * 10).astype(dtype)
    given = [x, -np.sort(x, axis=-1), np.sort(x, axis=0), np.zeros(shape, dtype)]
    if dtype == np.float32:
        odd = x.copy()
        odd[RNG.random(shape) < 0.001] = np.nan
        given += [odd, np.where(RNG.random(shape) < 0.1, -np.inf, x), np.full(shape, np.nan, dtype)]
    for array in given:
        for axis in range(-1, len(shape)):
            for smallest, combine in ((False, np.maximum), (True, np.minimum)):
                values, places = running_extremes(array, axis=axis, smallest=smallest)
                wanted = combine.accumulate(array, axis)
                np.testing.assert_array_equal(values, wanted)
                np.testing.assert_array_equal(places, last_places(array, axis % len(shape), wanted))


def test_running_extremes_of_views():
    x = RNG.standard_normal((40, 60))
    for view in (x.T, x[::2, ::-3], np.broadcast_to(x[:1], (7, 60))):
        for found, wanted in zip(running_extremes(view, axis=0, smallest=True), running_extremes(view.copy(), axis=0, smallest=True)):
            np.testing.assert_array_equal(found, wanted)
