"""The extremes of elements and of their sizes, and how many elements are at them."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

PROBLEMS = [((5,), 0), ((3, 7), 1), ((40, 33), 0), ((2, 3, 4, 5), (1, 3)), ((3, 700), 1), ((900, 3), 0), ((70, 300), None),
            ((2, 5000), 1), ((5000, 2), 0)]  # fmt: skip


def check(cp, shape, axis, dtype, seed=0, special=None, view=lambda x: x):
    from lucid_kernels.cuda.reduction.reduce import reduce

    x = np.random.default_rng(seed).integers(-9, 9, shape).astype(dtype)  # with many ties
    if special is not None:
        x.reshape(-1)[[1, -1]] = special
    device, x = view(cp.asarray(x)), view(x).astype(np.float64)
    wide = np.float64 if dtype == np.float64 else np.float32
    axes = tuple(range(x.ndim)) if axis is None else axis
    for mode in range(4):
        size = np.abs(x) if mode >= 2 else x
        peak = (size.min if mode % 2 else size.max)(axes, keepdims=True)
        ties = ((size == peak) | (np.isnan(size) & np.isnan(peak))).sum(axes)
        out = cp.full(ties.shape, np.nan, dtype)
        found, count = reduce("Peak", device, axis, False, out.dtype, np.dtype(wide), p=mode, out=out)
        assert found is out and count.dtype == wide
        np.testing.assert_array_equal(found.get().astype(np.float64), peak.reshape(ties.shape))
        np.testing.assert_array_equal(count.get(), ties)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_values(cp, dtype):
    for shape, axis in PROBLEMS:
        check(cp, shape, axis, dtype)


def test_under_each_schedule(cp, schedule):
    for shape, axis in (((3, 700), 1), ((9, 33), 0), ((2, 5000), 1), ((5000, 2), 0)):
        check(cp, shape, axis, np.float32)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity(cp, special):
    for shape, axis in (((7,), 0), ((40, 33), 1), ((40, 33), 0), ((2, 9000), None)):
        check(cp, shape, axis, np.float32, special=special)


def test_all_are_the_smallest_there_is(cp):
    from lucid_kernels.cuda.reduction.reduce import reduce

    x = cp.full((3, 700), -np.inf, np.float16)
    found, ties = reduce("Peak", x, 1, False, x.dtype, np.dtype(np.float32))
    assert (found.get() == -np.inf).all() and (ties.get() == 700).all()


def test_strides(cp):
    for view in (lambda v: v.transpose(2, 0, 1), lambda v: v[:, 1:, ::3], lambda v: v[::-1, :, 1:]):
        for axis in (0, 2, None, (0, 1)):
            check(cp, (6, 10, 24), axis, np.float32, view=view)
