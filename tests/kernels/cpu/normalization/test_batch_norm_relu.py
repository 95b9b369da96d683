"""Batch normalisation, an added residual and ReLU in one pass, against NumPy in float64."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.normalization.batch_norm import batch_norm, batch_norm_grad
from lucid_kernels.cpu.normalization.batch_norm_relu import batch_norm_relu, batch_norm_relu_grad

from tests.kernels.batch_norm_relu_reference import EPS, MOMENTUM, SHAPES, data, reference

OPTIONS = {"momentum": MOMENTUM, "eps": EPS}


def run(g, x, residual, *vectors, training):
    results = batch_norm_relu(x, residual, *vectors, training=training, **OPTIONS)
    y = None if residual is None else results[0]
    return results, batch_norm_relu_grad(g, x, y, *vectors[:2], *results[1:3], training=training)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("added", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_values_and_gradients(shape, training, added, dtype, tolerance):
    g, x, residual, *vectors = arrays = data(shape, dtype)
    before = [a.copy() for a in arrays]
    residual = residual if added else None
    results, gradients = run(g, x, residual, *vectors, training=training)
    values, wanted = reference(g, x, residual, *vectors, training)
    for got, want in zip((*results, *gradients), (*values, *(wanted if added else (*wanted[:3], None))), strict=True):
        if want is None:
            assert got is None
        else:
            assert got.dtype == dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("shape", SHAPES)
def test_like_the_separate_kernels(shape):
    """The result has the same bits: what follows the statistics is the same expression."""
    g, x, _, weight, bias, *running = data(shape, np.float32)
    y, mean, rstd, *_ = batch_norm(x, weight, bias, *running, **OPTIONS)
    results, gradients = run(g, x, None, weight, bias, *running, training=True)
    for got, want in zip(results[:3], (np.maximum(y, 0), mean, rstd), strict=True):
        np.testing.assert_array_equal(got, want)
    wanted = batch_norm_grad(np.where(y <= 0, np.float32(0), g), x, weight, mean, rstd)
    for got, want in zip(gradients[:3], wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_without_parameters(training):
    g, x, residual, _, _, *running = data((5, 3, 7), np.float64)
    results, gradients = run(g, x, residual, None, None, *running, training=training)
    values, wanted = reference(g, x, residual, None, None, *running, training)
    for got, want in zip((*results, *gradients), (*values, *wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    assert batch_norm_relu(x, None, None, None, None, None, training=True, **OPTIONS)[3:] == (None, None)


@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 3)])
def test_strides_and_out(shape):
    g, x, residual, *vectors = data(shape, np.float64)
    (wanted, wanted_grad) = run(g, x, residual, *vectors, training=True)
    out = (np.empty(shape[::-1]).T, None, np.empty(6)[::2], vectors[2].copy(), vectors[3].copy())
    results = batch_norm_relu(np.asfortranarray(x), np.asfortranarray(residual), *vectors, training=True, **OPTIONS, out=out)
    for got, want, given in zip(results, wanted, out, strict=True):
        assert given is None or got is given
        np.testing.assert_array_equal(got, want)
    out = (np.empty(shape[::-1]).T, np.empty(3), None, np.empty(shape[::-1]).T)
    results = batch_norm_relu_grad(np.asfortranarray(g), x, results[0], *vectors[:2], *results[1:3], training=True, out=out)
    for got, want, given in zip(results, wanted_grad, out, strict=True):
        assert given is None or got is given
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(0, 3, 4), (0, 3), (2, 0, 4), (2, 3, 0)])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("added", [True, False])
def test_empty(shape, training, added):
    g, x, residual, *vectors = data(shape, np.float32)
    results, gradients = run(g, x, residual if added else None, *vectors, training=training)
    assert results[0].shape == gradients[0].shape == shape
    np.testing.assert_array_equal(results[3], vectors[2])
    np.testing.assert_array_equal(gradients[1], np.zeros(shape[1]))


@pytest.mark.parametrize("added", [True, False])
def test_nan_and_infinity(added):
    """NaN passes the ReLU, forward and backward, and stays in its channel."""
    g, x, residual, *vectors = data((4, 3, 6), np.float32)
    x[1, 1, 2], x[0, 2, 0] = np.nan, np.inf
    residual = residual if added else None
    results, gradients = run(g, x, residual, *vectors, training=True)
    assert np.isnan(results[0][:, 1]).all() and np.isnan(gradients[0][:, 1:]).all()
    assert np.isfinite(results[0][:, 0]).all() and np.isfinite(gradients[0][:, 0]).all()
    results, gradients = run(g, x, residual, *vectors, training=False)
    assert np.isnan(results[0]).sum() == 1 and gradients[0][1, 1, 2] == g[1, 1, 2] * vectors[0][1] * results[2][1]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("parameters", ["half", "float32"])
def test_halves_are_rounded_once(dtype, parameters):
    g, x, residual, *vectors = data((4, 3, 6), dtype)
    vectors = [v if parameters == "half" else v.astype(np.float32) for v in vectors]
    results, gradients = run(g, x, residual, *vectors, training=True)
    of_parameters = vectors[0].dtype
    assert [a.dtype for a in results] == [dtype, np.float32, np.float32, of_parameters, of_parameters]
    assert [a.dtype for a in gradients] == [dtype, of_parameters, of_parameters, dtype]
    wide = batch_norm_relu(*(a.astype(np.float32) for a in (x, residual, *vectors)), training=True, **OPTIONS)
    np.testing.assert_array_equal(results[0], wide[0].astype(dtype))
