"""Batch normalisation, ReLU and max pooling in one call on a GPU."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.batch_norm_relu_max_pool2d_reference import EPS, MOMENTUM, SHAPES, data, reference

SMALL = [shape for shape in SHAPES if 0 < np.prod(shape) < 1000]


@pytest.fixture
def fused(cp):
    from lucid_kernels.cuda.fused_layers import batch_norm_relu_max_pool2d
    from lucid_kernels.cuda.runtime import launch

    yield batch_norm_relu_max_pool2d
    launch.forget_pending()


def run(fused, cp, arrays, training, outs=(None, None)):
    g, x, weight, bias, *running = (None if array is None else cp.asarray(array) for array in arrays)
    found = fused.batch_norm_relu_max_pool2d(x, weight, bias, *running, training=training, momentum=MOMENTUM, eps=EPS,
                                             out=outs[0])
    return found, fused.batch_norm_relu_max_pool2d_grad(g, found[1], x, weight, found[2], found[3], training=training,
                                                        out=outs[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SMALL, ids=str)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_values_and_gradients(fused, cp, affine, training, shape, dtype):
    g, x, weight, bias, *running = data(shape, dtype)
    arrays = (g, x, *((weight, bias) if affine else (None, None)), *running)
    found, gradients = run(fused, cp, arrays, training)
    wanted, wanted_gradients = reference(*arrays, training)
    assert found[1].dtype == np.uint8 and {array.dtype for array in (found[0], *found[2:], *gradients)} == {np.dtype(dtype)}
    np.testing.assert_array_equal(found[1].get(), wanted[1])
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for got, want in zip((found[0], *found[2:], *gradients), (wanted[0], *wanted[2:], *wanted_gradients), strict=True):
        np.testing.assert_allclose(got.get(), want, rtol=tolerance, atol=tolerance * np.abs(want).max(initial=1))


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32(fused, cp, half):
    arrays = data((4, 3, 7, 5), half)
    found, gradients = run(fused, cp, arrays, True)
    wide, wide_gradients = run(fused, cp, [array.astype(np.float32) for array in arrays], True)
    assert found[0].dtype == gradients[0].dtype == found[4].dtype == half and found[2].dtype == np.float32
    np.testing.assert_array_equal(found[0].get(), wide[0].get().astype(half))
    for got, want in zip(gradients, wide_gradients, strict=True):
        np.testing.assert_allclose(got.get().astype(np.float32), want.get(), rtol=2e-2, atol=2e-2)


def test_out(fused, cp):
    arrays = data((4, 3, 7, 5), np.float32)
    wanted, wanted_gradients = run(fused, cp, arrays, True)
    outs = [tuple(cp.empty(array.shape, array.dtype) for array in group) for group in (wanted, wanted_gradients)]
    for group, given, want in zip(run(fused, cp, arrays, True, outs), outs, (wanted, wanted_gradients), strict=True):
        for got, target, expected in zip(group, given, want, strict=True):
            assert got is target
            np.testing.assert_array_equal(got.get(), expected.get())
