"""CUDA batch normalisation, an added residual and ReLU in one pass, against float64 NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.batch_norm_relu_reference import EPS, MOMENTUM, SHAPES, data, reference

OPTIONS = {"momentum": MOMENTUM, "eps": EPS}
TOLERANCE = {np.float32: 1e-4, np.float64: 1e-10}


@pytest.fixture
def fused(cp):
    from lucid_kernels.cuda.normalization import batch_norm_relu

    return batch_norm_relu


def run(fused, cp, g, x, residual, *vectors, training):
    g, x, residual, *vectors = (None if a is None else cp.asarray(a) for a in (g, x, residual, *vectors))
    results = fused.batch_norm_relu(x, residual, *vectors, training=training, **OPTIONS)
    y = None if residual is None else results[0]
    return results, fused.batch_norm_relu_grad(g, x, y, *vectors[:2], *results[1:3], training=training)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("added", [True, False])
def test_values_and_gradients(fused, cp, schedule, dtype, training, added):
    for shape in SHAPES:
        g, x, residual, *vectors = data(shape, dtype)
        residual = residual if added else None
        results, gradients = run(fused, cp, g, x, residual, *vectors, training=training)
        values, wanted = reference(g, x, residual, *vectors, training)
        for got, want in zip((*results, *gradients), (*values, *(wanted if added else (*wanted[:3], None))), strict=True):
            if want is None:
                assert got is None
            else:
                assert got.dtype == dtype and got.shape == want.shape
                np.testing.assert_allclose(got.get(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_without_parameters(fused, cp):
    g, x, residual, _, _, *running = data((5, 3, 7), np.float64)
    results, gradients = run(fused, cp, g, x, residual, None, None, *running, training=True)
    values, wanted = reference(g, x, residual, None, None, *running, True)
    for got, want in zip((*results, *gradients), (*values, *wanted), strict=True):
        np.testing.assert_allclose(got.get(), want, rtol=1e-10, atol=1e-10)


def test_strides_and_out(fused, cp):
    g, x, residual, *vectors = data((4, 3, 5), np.float64)
    wanted, wanted_grad = run(fused, cp, g, x, residual, *vectors, training=True)
    tg, tx, tr = (cp.asarray(np.ascontiguousarray(a.T)).T for a in (g, x, residual))
    weight, bias, mean, var = map(cp.asarray, vectors)
    out = (cp.zeros((5, 3, 4)).T, None, None, mean, var)
    results = fused.batch_norm_relu(tx, tr, weight, bias, mean, var, training=True, **OPTIONS, out=out)
    for got, want, given in zip(results, wanted, out, strict=True):
        assert given is None or got is given
        np.testing.assert_array_equal(got.get(), want.get())
    out = (cp.zeros((5, 3, 4)).T, None, None, cp.zeros((5, 3, 4)).T)
    results = fused.batch_norm_relu_grad(tg, tx, results[0], weight, bias, *results[1:3], training=True, out=out)
    for got, want, given in zip(results, wanted_grad, out, strict=True):
        assert given is None or got is given
        np.testing.assert_array_equal(got.get(), want.get())


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0)])
def test_empty(fused, cp, training, shape):
    results, gradients = run(fused, cp, *data(shape, np.float32), training=training)
    assert results[0].shape == gradients[0].shape == gradients[3].shape == shape
    assert not gradients[1].get().any()


def test_nan_passes_the_relu(fused, cp):
    g, x, _, *vectors = data((4, 3, 6), np.float32)
    x[1, 1, 2] = np.nan
    results, gradients = run(fused, cp, g, x, None, *vectors, training=True)
    assert np.isnan(results[0].get()[:, 1]).all() and np.isnan(gradients[0].get()[:, 1]).all()
    assert np.isfinite(results[0].get()[:, [0, 2]]).all() and np.isfinite(gradients[0].get()[:, [0, 2]]).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("parameters", ["half", "float32"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("added", [True, False])
def test_halves_are_rounded_once(fused, cp, schedule, dtype, parameters, training, added):
    for shape in ((4, 3, 6), (3, 4, 16), (5, 16)):
        g, x, residual, *vectors = data(shape, dtype)
        residual = residual if added else None
        vectors = [v if parameters == "half" else v.astype(np.float32) for v in vectors]
        results, gradients = run(fused, cp, g, x, residual, *vectors, training=training)
        of_parameters = vectors[0].dtype
        assert [a.dtype for a in results] == [dtype, np.float32, np.float32, of_parameters, of_parameters]
        assert [a.dtype for a in gradients[: 3 + added]] == [dtype, of_parameters, of_parameters, dtype][: 3 + added]
        g, x, *vectors = (v.astype(np.float64) for v in (g, x, *vectors))
        residual = residual.astype(np.float64) if added else None
        values, wanted = reference(g, x, residual, *vectors, training)
        rounding = float(ml_dtypes.finfo(dtype).eps) * 0.51
        for got, want in zip((*results, *gradients[: 3 + added]), (*values, *wanted[: 3 + added]), strict=True):
            np.testing.assert_allclose(got.get().astype(np.float64), want, rtol=rounding, atol=1e-4)


def test_the_gradient_stops_where_the_result_was_rounded_to_zero(fused, cp):
    x = np.full((1, 1, 8), 2.0**-10, np.float16)
    weight = np.array([2.0**-16], np.float16)  # the product is half of the smallest float16, and is rounded to 0
    zero, one = np.zeros(1, np.float16), np.ones(1, np.float16)
    _, gradients = run(fused, cp, np.ones_like(x), x, None, weight, zero, zero, one, training=False)
    assert not gradients[0].get().any() and not gradients[2].get().any()


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("added", [True, False])
def test_channels_last(fused, cp, schedule, dtype, training, added):
    def last(a):
        return cp.asarray(np.ascontiguousarray(a.transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2)

    for shape in ((2, 8, 5, 3), (3, 3, 4, 5)):
        g, x, residual, *vectors = data(shape, dtype)
        residual = residual if added else None
        on_gpu = [cp.asarray(v) for v in vectors]
        out = (last(np.full_like(x, np.nan)), None, None, None, None)
        given = last(residual) if added else None
        results = fused.batch_norm_relu(last(x), given, *on_gpu, training=training, **OPTIONS, out=out)
        assert results[0] is out[0]
        gradients = fused.batch_norm_relu_grad(last(g), last(x), results[0] if added else None, *on_gpu[:2], *results[1:3],
                                               training=training)
        for array in (gradients[0], *gradients[3 : 3 + added]):
            assert array.transpose(0, 2, 3, 1).flags.c_contiguous
        g, x, *vectors = (v.astype(np.float64) for v in (g, x, *vectors))
        values, wanted = reference(g, x, residual.astype(np.float64) if added else None, *vectors, training)
        for got, want in zip((*results, *gradients[: 3 + added]), (*values, *wanted[: 3 + added]), strict=True):
            rounding = 1e-4 if got.dtype == np.float32 else float(ml_dtypes.finfo(got.dtype).eps) * 0.51
            np.testing.assert_allclose(got.get().astype(np.float64), want, rtol=rounding, atol=2e-4)


def test_parity_with_the_cpu(fused, cp):
    cpu = pytest.importorskip("lucid_kernels.cpu.normalization.batch_norm_relu")
    for shape in SHAPES:
        g, x, residual, *vectors = data(shape, np.float32)
        expected = cpu.batch_norm_relu(x, residual, *vectors, training=True, **OPTIONS)
        results, _ = run(fused, cp, g, x, residual, *vectors, training=True)
        for got, want in zip(results, expected, strict=True):
            np.testing.assert_allclose(got.get(), want, rtol=1e-4, atol=1e-4)
