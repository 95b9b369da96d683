"""Gradients of a scaled loss: multiplied in place, and whether one of them is not finite."""

import ml_dtypes
import numpy as np
import pytest

DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


@pytest.fixture
def unscale():
    from lucid_kernels.cuda.optimizer import multi_tensor_unscale

    return multi_tensor_unscale


def check(cp, unscale, dtype, position=None, value=np.nan):
    """`found` and all gradients against float64, with something that is not finite at `position` of the largest."""
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(size).astype(dtype) for size in (3, 0, 5000, 1, 64)]
    if position is not None:
        given[2][position] = value
    arrays, found = list(map(cp.asarray, given)), cp.zeros((), np.float32)
    unscale(found, cp.asarray(np.float32(0.125)), *arrays)
    for array, before in zip(arrays, given, strict=True):
        expected = (before.astype(np.float64) * 0.125).astype(dtype)  # only subnormal numbers are rounded
        np.testing.assert_array_equal(array.get().astype(np.float64), expected.astype(np.float64))
    assert float(found.get()) == (position is not None)


@pytest.mark.parametrize("dtype", DTYPES)
def test_against_float64(cp, schedule, unscale, dtype):
    check(cp, unscale, dtype)
    check(cp, unscale, dtype, 4999)
    check(cp, unscale, dtype, 0, -np.inf)
    check(cp, unscale, dtype, slice(None))


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_mixed_and_repeated_gradients(cp, unscale, dtype):
    first = np.arange(60).reshape(6, 10).astype(dtype)
    second, third = np.ones(7, np.float16), np.full(5, 3.0)
    arrays = [cp.asarray(first).T, cp.asarray(second), cp.asarray(third)]
    found, factor = cp.zeros((), np.float32), cp.asarray(np.float32(0.5))
    unscale(found, factor, *arrays, arrays[1])
    for array, before in zip(arrays, (first.T, second, third), strict=True):
        np.testing.assert_array_equal(array.get().astype(np.float64), before.astype(np.float64) * 0.5)
    unscale(found, factor)
    assert not found.get()
    arrays[0][3, 3] = np.nan
    unscale(found, factor, *arrays)
    assert found.get() == 1
