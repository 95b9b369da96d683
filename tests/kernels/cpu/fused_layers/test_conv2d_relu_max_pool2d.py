"""Convolution, ReLU and max pooling in one pass on a CPU, against the three one after the other."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.convolution.conv2d import conv2d_grad_input, conv2d_grad_parameters, window_of
from lucid_kernels.cpu.fused_layers.conv2d_relu_max_pool2d import conv2d_relu_max_pool2d, conv2d_relu_max_pool2d_grad
from lucid_kernels.cpu.pooling.max_2x2 import expanded
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from tests.kernels.conv2d_relu_max_pool2d_reference import CASES, data, one_by_one

TOLERANCE = {np.float32: 1e-5, np.float64: 1e-13}


def run(x, weight, bias, g, attributes):
    y, winners = conv2d_relu_max_pool2d(x, weight, bias, **attributes)
    return (y, winners), gradients_of(x, weight, g, winners, attributes)


def gradients_of(x, weight, g, winners, attributes, **options):
    return conv2d_relu_max_pool2d_grad(g, winners, x, weight, input_shape=x.shape, weight_shape=weight.shape, **attributes, **options)


def close(found, wanted, tolerance):
    for got, want in zip(found, wanted, strict=True):
        largest = np.abs(want[np.isfinite(want)]).max(initial=1)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_values_and_gradients(case, dtype, with_bias):
    x, weight, bias, g = data(case, dtype)
    bias = bias if with_bias else None
    (y, winners), gradients = run(x, weight, bias, g, CASES[case][2])
    (wanted, places), wanted_gradients = one_by_one(x, weight, bias, g, CASES[case][2])
    assert y.dtype == dtype and winners.dtype == np.uint8 and [d.dtype for d in gradients] == [dtype] * 3
    np.testing.assert_array_equal(winners, places)
    close((y, *gradients), (wanted, *wanted_gradients), TOLERANCE[dtype])
    shapes = {"input_shape": x.shape, "weight_shape": weight.shape, **CASES[case][2]}
    dx, *nothing = conv2d_relu_max_pool2d_grad(g, winners, None, weight, **shapes)
    assert nothing == [None, None]
    no_dx, *parameters = conv2d_relu_max_pool2d_grad(g, winners, x, None, **shapes)
    assert no_dx is None
    close((dx, *parameters), wanted_gradients, TOLERANCE[dtype])


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["x", "weight", "bias", "g"])
def test_numbers_that_are_not_finite(special, where):
    arrays = dict(zip(("x", "weight", "bias", "g"), data("three channels", np.float64), strict=True))
    arrays[where].reshape(-1)[arrays[where].size // 3] = special
    attributes = CASES["three channels"][2]
    (y, winners), gradients = run(*arrays.values(), attributes)
    (wanted, places), wanted_gradients = one_by_one(*arrays.values(), attributes)
    np.testing.assert_array_equal(winners, places)
    close((y, *gradients), (wanted, *wanted_gradients), 1e-12)


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32(half):
    arrays = data("28x28", half)
    found = run(*arrays, CASES["28x28"][2])
    wide = run(*(array.astype(np.float32) for array in arrays), CASES["28x28"][2])
    assert all(array.dtype == half for array in (found[0][0], *found[1]))
    np.testing.assert_array_equal(found[0][0], wide[0][0].astype(half))
    np.testing.assert_array_equal(found[0][1], wide[0][1])
    close([d.astype(np.float32) for d in found[1]], wide[1], 1e-2)


@pytest.mark.parametrize("case", ["28x28", "groups"])
def test_strides_and_out(case):
    x, weight, bias, g = data(case, np.float32)
    attributes = CASES[case][2]
    wanted, wanted_gradients = run(x, weight, bias, g, attributes)
    x, weight, g = map(np.asfortranarray, (x, weight, g))
    out = np.full(wanted[0].shape[::-1], np.nan, np.float32).T, np.empty(wanted[1].shape, np.uint8)
    results = conv2d_relu_max_pool2d(x, weight, bias, **attributes, out=out)
    assert results[0] is out[0] and results[1] is out[1]
    given = np.empty_like(x), np.empty(weight.shape, np.float32), np.empty((2 * bias.size,), np.float32)[::2]
    gradients = gradients_of(x, weight, g, np.asfortranarray(results[1]), attributes, out=given)
    assert all(got is target for got, target in zip(gradients, given, strict=True))
    for got, want in zip((*results, *gradients), (*wanted, *wanted_gradients), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(0, 1, 28, 28), (2, 1, 1, 9)])
def test_nothing(shape):
    x, (_, weight, bias, _) = np.ones(shape, np.float32), data("28x28", np.float32)
    (y, winners), gradients = run(x, weight, bias, np.ones((shape[0], 32, shape[2] // 2, shape[3] // 2), np.float32),
                                  CASES["28x28"][2])
    assert y.shape == winners.shape == (shape[0], 32, shape[2] // 2, shape[3] // 2)
    assert not any(gradient.any() for gradient in gradients)


def test_threads_change_nothing():
    arrays = data("28x28", np.float32)
    before, results = get_num_threads(), []
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            results.append(run(*arrays, CASES["28x28"][2]))
    finally:
        set_num_threads(before)
    for one, other in zip(*(result[0] + result[1] for result in results), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("channels", [1, 32])
def test_the_gradient_is_as_accurate_as_that_of_all_positions(channels):
    rng = np.random.default_rng(1)
    attributes = CASES["28x28"][2]
    x, weight = rng.random((64, channels, 28, 28), np.float32), rng.standard_normal((32, channels, 3, 3)).astype(np.float32)
    g = rng.standard_normal((64, 32, 14, 14)).astype(np.float32)
    _, winners = conv2d_relu_max_pool2d(x, weight, None, **attributes)
    found = gradients_of(x, weight, g, winners, attributes)
    full = expanded(g, winners, window_of(x.shape, weight.shape, *((1, 1),) * 3))
    others, exact = ((conv2d_grad_input(g, w, input_shape=x.shape, **attributes),
                      *conv2d_grad_parameters(g, x, weight_shape=w.shape, **attributes))
                     for g, x, w in ((full, x, weight), (array.astype(np.float64) for array in (full, x, weight))))
    for got, other, want in zip(found, others, exact, strict=True):
        assert np.abs(got - want).max() <= 2 * np.abs(other - want).max()


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["x", "g"])
def test_tiles_of_numbers_that_are_not_finite(special, where):
    """An image with one is computed directly."""
    x, weight, bias, g = data("tiles", np.float32)
    array = x if where == "x" else g
    array[3, 5, 3, 3], array[4, 7, 0, 0] = special, special
    found, gradients = run(x, weight, bias, g, CASES["tiles"][2])
    wanted, wanted_gradients = one_by_one(x, weight, bias, g, CASES["tiles"][2])
    np.testing.assert_array_equal(found[1], wanted[1])
    close((found[0], *gradients), (wanted[0], *wanted_gradients), 1e-5)
