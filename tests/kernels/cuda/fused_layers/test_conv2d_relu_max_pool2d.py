"""Convolution, ReLU and max pooling in one call on a GPU, against the three one after the other on a CPU."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.conv2d_relu_max_pool2d_reference import CASES, data, one_by_one

SMALL = ("odd results", "dilated", "small", "groups")


@pytest.fixture
def fused(cp):
    from lucid_kernels.cuda.fused_layers import conv2d_relu_max_pool2d
    from lucid_kernels.cuda.runtime import launch

    yield conv2d_relu_max_pool2d
    launch.forget_pending()


def run(fused, cp, arrays, attributes, outs=(None, None)):
    x, weight, bias, g = (None if array is None else cp.asarray(array) for array in arrays)
    y, winners = fused.conv2d_relu_max_pool2d(x, weight, bias, **attributes, out=outs[0])
    return (y, winners), fused.conv2d_relu_max_pool2d_grad(
        g, winners, x, weight, input_shape=x.shape, weight_shape=weight.shape, **attributes, out=outs[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("with_bias", [True, False])
def test_values_and_gradients(fused, cp, case, dtype, with_bias):
    x, weight, bias, g = data(case, dtype)
    arrays = (x, weight, bias if with_bias else None, g)
    found, gradients = run(fused, cp, arrays, CASES[case][2])
    wanted, wanted_gradients = one_by_one(*arrays, CASES[case][2])
    assert found[0].dtype == dtype and found[1].dtype == np.uint8 and [d.dtype for d in gradients] == [dtype] * 3
    np.testing.assert_array_equal(found[1].get(), wanted[1])
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for got, want in zip((found[0], *gradients), (wanted[0], *wanted_gradients), strict=True):
        np.testing.assert_allclose(got.get(), want, rtol=tolerance, atol=tolerance * np.abs(want).max())


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32(fused, cp, half):
    arrays = data("small", half)
    found, gradients = run(fused, cp, arrays, CASES["small"][2])
    wanted, wanted_gradients = run(fused, cp, [array.astype(np.float32) for array in arrays], CASES["small"][2])
    assert found[0].dtype == gradients[0].dtype == gradients[2].dtype == half
    np.testing.assert_array_equal(found[0].get(), wanted[0].get().astype(half))
    for got, want in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(got.get().astype(np.float32), want.get(), rtol=5e-2, atol=5e-2)


def test_out(fused, cp):
    arrays = data("small", np.float32)
    wanted, wanted_gradients = run(fused, cp, arrays, CASES["small"][2])
    outs = [tuple(cp.empty(array.shape, array.dtype) for array in group) for group in (wanted, wanted_gradients)]
    found = run(fused, cp, arrays, CASES["small"][2], outs)
    for group, given, want in zip(found, outs, (wanted, wanted_gradients), strict=True):
        for got, target, expected in zip(group, given, want, strict=True):
            assert got is target
            np.testing.assert_array_equal(got.get(), expected.get())


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(fused, cp, special):
    x, weight, bias, g = data("small", np.float64)
    x[0, 0, 1:3, 1], g[1, 0, 0, 1], bias[2] = special, special, special
    found, _ = run(fused, cp, (x, weight, bias, g), CASES["small"][2])
    wanted, _ = one_by_one(x, weight, bias, g, CASES["small"][2])
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.get(), want, atol=1e-12)


def test_one_gradient_alone(fused, cp):
    x, weight, bias, g = map(cp.asarray, data("small", np.float32))
    attributes = {"input_shape": x.shape, "weight_shape": weight.shape, **CASES["small"][2]}
    _, winners = fused.conv2d_relu_max_pool2d(x, weight, bias, **CASES["small"][2])
    both = fused.conv2d_relu_max_pool2d_grad(g, winners, x, weight, **attributes)
    dx, *nothing = fused.conv2d_relu_max_pool2d_grad(g, winners, None, weight, **attributes)
    no_dx, *parameters = fused.conv2d_relu_max_pool2d_grad(g, winners, x, None, **attributes)
    assert no_dx is None and nothing == [None, None]
    for got, want in zip((dx, *parameters), both, strict=True):
        np.testing.assert_array_equal(got.get(), want.get())
