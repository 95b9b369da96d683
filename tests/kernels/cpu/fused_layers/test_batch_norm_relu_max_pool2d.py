"""Batch normalisation, ReLU and max pooling in one call on a CPU."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.fused_layers.batch_norm_relu_max_pool2d import (
    batch_norm_relu_max_pool2d,
    batch_norm_relu_max_pool2d_grad,
)
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from tests.kernels.batch_norm_relu_max_pool2d_reference import EPS, MOMENTUM, SHAPES, data, reference

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def run(g, x, weight, bias, running_mean, running_var, training, outs=(None, None)):
    found = batch_norm_relu_max_pool2d(x, weight, bias, running_mean, running_var, training=training, momentum=MOMENTUM, eps=EPS,
                                       out=outs[0])
    return found, batch_norm_relu_max_pool2d_grad(g, found[1], x, weight, found[2], found[3], training=training, out=outs[1])


def close(found, wanted, tolerance):
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want[np.isfinite(want)]).max(initial=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES[:-1], ids=str)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_values_and_gradients(affine, training, shape, dtype):
    g, x, weight, bias, *running = data(shape, dtype)
    arguments = (g, x, *((weight, bias) if affine else (None, None)), *running, training)
    (found, gradients), (wanted, wanted_gradients) = run(*arguments), reference(*arguments)
    assert found[1].dtype == np.uint8 and {array.dtype for array in (found[0], *found[2:], *gradients)} == {np.dtype(dtype)}
    np.testing.assert_array_equal(found[1], wanted[1])
    close((found[0], *found[2:], *gradients), (wanted[0], *wanted[2:], *wanted_gradients), TOLERANCE[dtype])


def test_an_empty_batch_changes_no_statistics():
    g, x, weight, bias, mean, variance = data(SHAPES[-1], np.float32)
    found, (dx, dweight, dbias) = run(g, x, weight, bias, mean, variance, True)
    assert found[0].shape == (0, 3, 2, 2) and dx.shape == x.shape
    for got, want in ((found[4], mean), (found[5], variance), (dweight, np.zeros(3)), (dbias, np.zeros(3))):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(special):
    g, x, *parameters = data((4, 3, 7, 5), np.float64)
    x[1, 1, 2, 3], g[2, 0, 1, 1] = special, special
    with np.errstate(invalid="ignore"):
        (found, gradients), (wanted, wanted_gradients) = run(g, x, *parameters, False), reference(g, x, *parameters, False)
    np.testing.assert_array_equal(found[1], wanted[1])
    close((found[0], gradients[2]), (wanted[0], wanted_gradients[2]), 1e-12)


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32(half):
    arrays = data((4, 3, 7, 5), half)
    found, gradients = run(*arrays, True)
    wide, wide_gradients = run(*(array.astype(np.float32) for array in arrays), True)
    assert all(array.dtype == half for array in (found[0], *found[4:], *gradients[:1])) and found[2].dtype == np.float32
    np.testing.assert_array_equal(found[0], wide[0].astype(half))
    np.testing.assert_array_equal(found[1], wide[1])
    close([d.astype(np.float32) for d in gradients], wide_gradients, 1e-2)


@pytest.mark.parametrize("training", [True, False])
def test_strides_and_out(training):
    g, x, weight, bias, mean, variance = data((4, 3, 7, 5), np.float32)
    wanted, wanted_gradients = run(g, x, weight, bias, mean, variance, training)
    outs = [tuple(np.full(array.shape[::-1], 7, array.dtype).T for array in group) for group in (wanted, wanted_gradients)]
    g, x = map(np.asfortranarray, (g, x))
    found, gradients = run(g, x, np.repeat(weight, 2)[::2], bias, mean, variance, training, outs)
    for got, want, out in zip((*found, *gradients), (*wanted, *wanted_gradients), (*outs[0], *outs[1]), strict=True):
        assert got is out
        np.testing.assert_array_equal(got, want)


def test_running_statistics_in_place():
    g, x, weight, bias, mean, variance = data((4, 3, 7, 5), np.float32)
    wanted, _ = run(g, x, weight, bias, mean.copy(), variance.copy(), True)
    found, _ = run(g, x, weight, bias, mean, variance, True, ((None, None, None, None, mean, variance), None))
    assert found[4] is mean and found[5] is variance
    np.testing.assert_array_equal(mean, wanted[4])
    np.testing.assert_array_equal(variance, wanted[5])


def test_results_do_not_depend_on_the_number_of_threads():
    arrays, threads, found = data((16, 20, 8, 8), np.float32), get_num_threads(), []
    try:
        for number in (1, 2):
            set_num_threads(number)
            first, second = run(*arrays, True)
            found.append((*first, *second))
    finally:
        set_num_threads(threads)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
