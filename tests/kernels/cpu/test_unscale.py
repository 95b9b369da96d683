"""Gradients of a scaled loss: multiplied in place, and whether one of them is not finite."""

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu import optimizer

DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


def unscaled(gradients, factor=0.125):
    """Whether `found` was set; the gradients are checked against float64."""
    expected = [gradient.astype(np.float64) * factor for gradient in gradients]
    found = np.zeros((), np.float32)
    optimizer.multi_tensor_unscale(found, np.float32(factor), *gradients)
    for gradient, wide in zip(gradients, expected, strict=True):
        np.testing.assert_array_equal(gradient.astype(np.float64), wide)  # a power of two changes no digit
    return bool(found)


def gradients(dtype, sizes=(1, 0, 7, 300)):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(size).astype(dtype) for size in sizes]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf])
def test_against_float64(dtype, value):
    for position in (0, 5, 299):
        given = gradients(dtype)
        if value is not None:
            given[-1][position] = value
        assert unscaled(given) == (value is not None)


def test_many_elements_on_several_threads():
    for position in (None, 0, 99_999):
        given = gradients(np.float32, (100_000, 3, 40_001))
        if position is not None:
            given[0][position] = np.inf
        assert unscaled(given) == (position is not None)


def test_strided_mixed_and_repeated_gradients():
    wide = gradients(np.float32, (60,))[0]
    assert not unscaled([wide.reshape(6, 10).T, gradients(np.float16)[-1], gradients(np.float64)[-1], np.asarray(np.float32(2))])
    found = np.zeros((), np.float32)
    optimizer.multi_tensor_unscale(found, np.float32(0.5), wide, wide)
    optimizer.multi_tensor_unscale(found, np.float32(0.5))
    assert not found
