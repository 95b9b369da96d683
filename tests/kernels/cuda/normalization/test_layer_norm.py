"""CUDA layer normalisation against float64 NumPy."""
from __future__ import annotations

import math
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

# (shape, normalized_ndim): rows for a warp and for a block, many rows (chunks of the column sums), several dimensions
CASES = [((5, 1), 1), ((3, 31), 1), ((4, 33), 1), ((3, 257), 1), ((2, 1000), 1), ((150, 13), 1), ((2, 3, 4, 6), 2), ((7,), 1),
         ((65, 40), 1), ((2, 5, 9), 2), ((3, 64), 1), ((70, 520), 1), ((90, 263), 1)]  # fmt: skip
LONG = [((2, 16_400), 1), ((1, 4333), 1), ((1, 16_700), 1)]  # rows that do not fit into the registers of a block
HALVES = [np.float16, ml_dtypes.bfloat16]
TOLERANCE = {np.float32: {"rtol": 2e-5, "atol": 1e-5}, np.float64: {"rtol": 1e-11, "atol": 1e-12}}
EPS = 1e-3


@pytest.fixture
def layer_norm(cp):
    from lucid_kernels.cuda.normalization import layer_norm

    return layer_norm


def reference(x, weight, bias, ndim):
    """(y, mean, rstd) in float64."""
    x = np.asarray(x, np.float64)
    axes = tuple(range(x.ndim - ndim, x.ndim))
    mean = x.mean(axes, keepdims=True)
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + EPS)
    y = (x - mean) * rstd * (1 if weight is None else weight) + (0 if bias is None else bias)
    return y, mean.reshape(x.shape[: x.ndim - ndim]), rstd.reshape(x.shape[: x.ndim - ndim])


def reference_grad(g, x, weight, ndim):
    """(dx, dweight, dbias) in float64."""
    g, x = np.asarray(g, np.float64), np.asarray(x, np.float64)
    axes, outer = tuple(range(x.ndim - ndim, x.ndim)), tuple(range(x.ndim - ndim))
    normal, _, rstd = reference(x, None, None, ndim)
    rstd = rstd.reshape(*rstd.shape, *(1 for _ in axes))
    gw = g * (1 if weight is None else weight)
    dx = rstd * (gw - gw.mean(axes, keepdims=True) - normal * (gw * normal).mean(axes, keepdims=True))
    return dx, (g * normal).sum(outer), g.sum(outer)


def data(shape, ndim, dtype, seed=0):
    """g, x (around 5), weight, bias."""
    rng = np.random.default_rng(seed)
    g, x = rng.standard_normal((2, *shape))
    weight, bias = rng.standard_normal((2, *shape[len(shape) - ndim :]))
    return tuple(v.astype(dtype) for v in (g, x * 2 + 5, weight, bias))


def poisoned(cp, shape, dtype):
    """An array for a result: what a kernel forgets to write stays NaN."""
    return cp.asarray(np.full(shape, np.nan, dtype))


def forward_and_backward(layer_norm, cp, g, x, weight, bias, ndim):
    g, x, weight, bias = (None if v is None else cp.asarray(v) for v in (g, x, weight, bias))
    wide, split = np.float64 if x.dtype == np.float64 else np.float32, x.ndim - ndim
    out = (poisoned(cp, x.shape, x.dtype), *(poisoned(cp, x.shape[:split], wide) for _ in range(2)))
    y, mean, rstd = layer_norm.layer_norm(x, weight, bias, normalized_ndim=ndim, eps=EPS, out=out)
    kind = (x if weight is None else weight).dtype
    out = (poisoned(cp, x.shape, x.dtype), *(poisoned(cp, x.shape[split:], kind) for _ in range(2)))
    return (y, mean, rstd, *layer_norm.layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=ndim, out=out))


def check_other_sums(layer_norm, cp):
    """Of many rows that do not fit into registers: in three launches, with any rows in the place of such."""
    from lucid_kernels.cuda.normalization import row_norm

    for shape in ((150, 13), (65, 40)):
        g, x, weight, bias = data(shape, 1, np.float32)
        with mock.patch.object(row_norm, "most_kept", return_value=0):
            results = forward_and_backward(layer_norm, cp, g, x, weight, bias, 1)
        for got, wanted in zip(results[3:], reference_grad(g, x, weight, 1), strict=True):
            np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[np.float32])


def test_other_sums(layer_norm, cp):
    check_other_sums(layer_norm, cp)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affine", ["weight and bias", "weight", "neither"])
def test_values_and_gradients(layer_norm, cp, schedule, dtype, affine):
    for shape, ndim in CASES:
        g, x, weight, bias = data(shape, ndim, dtype)
        weight, bias = (weight if "weight" in affine else None), (bias if "bias" in affine else None)
        results = forward_and_backward(layer_norm, cp, g, x, weight, bias, ndim)
        expected = (*reference(x, weight, bias, ndim), *reference_grad(g, x, weight, ndim))
        for got, wanted in zip(results, expected, strict=True):
            assert got.dtype == dtype and got.shape == wanted.shape
            np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_longer_than_the_registers(layer_norm, cp, dtype):
    for shape, ndim in LONG:
        g, x, weight, bias = data(shape, ndim, dtype)
        x[:, -50:] += 100  # the part in the registers has another mean
        results = forward_and_backward(layer_norm, cp, g, x, weight, bias, ndim)
        for got, wanted in zip(results, (*reference(x, weight, bias, ndim), *reference_grad(g, x, weight, ndim)), strict=True):
            np.testing.assert_allclose(got.get(), wanted, rtol=TOLERANCE[dtype]["rtol"] * 5, atol=TOLERANCE[dtype]["atol"] * 5)
    for place in (3, -3):
        _, x, _, _ = data((1, 16_400), 1, dtype)
        x[0, place] = np.inf
        y, mean, rstd = layer_norm.layer_norm(cp.asarray(x), None, None, normalized_ndim=1, eps=EPS)
        assert np.isinf(mean.get()).all() and np.isnan(rstd.get()).all() and np.isnan(y.get()).all()


def test_rows_that_are_not_aligned(layer_norm, cp):
    g, x, weight, bias = data((3, 64), 1, np.float32)
    for shifted in range(4):
        arrays = [cp.asarray(np.concatenate([np.zeros(1, np.float32), v.ravel()]))[1:].reshape(v.shape) if k == shifted else cp.asarray(v)
                  for k, v in enumerate((g, x, weight, bias))]
        y, mean, rstd = layer_norm.layer_norm(*arrays[1:], normalized_ndim=1, eps=EPS)
        grads = layer_norm.layer_norm_grad(*arrays[:3], mean, rstd, normalized_ndim=1)
        for got, wanted in zip((y, mean, rstd, *grads), (*reference(x, weight, bias, 1), *reference_grad(g, x, weight, 1)), strict=True):
            np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[np.float32])


def test_strides_and_out(layer_norm, cp):
    g, x, weight, bias = data((6, 5, 4), 2, np.float32)
    plain = [v.get() for v in forward_and_backward(layer_norm, cp, g, x, weight, bias, 2)]
    tg, tx, tw, tb = (cp.asarray(np.ascontiguousarray(v.T)).T for v in (g, x, weight, bias))
    for order in ("C", "F"):
        out = [cp.zeros(v.shape, np.float32, order=order) for v in plain]
        y, mean, rstd = layer_norm.layer_norm(tx, tw, tb, normalized_ndim=2, eps=EPS, out=(out[0], None, out[2]))
        assert y is out[0] and rstd is out[2]
        grads = layer_norm.layer_norm_grad(tg, tx, tw, mean, rstd, normalized_ndim=2, out=tuple(out[3:]))
        assert all(a is b for a, b in zip(grads, out[3:], strict=True))
        for got, wanted in zip((y, mean, rstd, *grads), plain, strict=True):
            np.testing.assert_array_equal(got.get(), wanted)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("parameters", ["half", "float32"])
def test_halves_are_rounded_once(layer_norm, cp, dtype, parameters):
    unit = float(ml_dtypes.finfo(dtype).eps) * 0.51
    for shape in ((9, 33), (3, 64), (1, 3000), (130, 16), (130, 17)):
        g, x, weight, bias = data(shape, 1, dtype)
        if parameters == "float32":
            weight, bias = weight.astype(np.float32), bias.astype(np.float32)
        results = forward_and_backward(layer_norm, cp, g, x, weight, bias, 1)
        of_parameters = np.dtype(dtype if parameters == "half" else np.float32)
        assert [v.dtype for v in results] == [dtype, np.float32, np.float32, dtype, of_parameters, of_parameters]
        expected = (*reference(x.astype(np.float64), weight.astype(np.float64), bias.astype(np.float64), 1),
                    *reference_grad(g.astype(np.float64), x.astype(np.float64), weight.astype(np.float64), 1))
        for got, wanted in zip(results, expected, strict=True):
            rtol = 1e-5 if got.dtype == np.float32 else unit
            np.testing.assert_allclose(got.get().astype(np.float64), wanted, rtol=rtol, atol=3e-5)


def test_nan_and_infinity_stay_in_their_row(layer_norm, cp):
    g, x, weight, bias = data((4, 33), 1, np.float32)
    x[1, 2], x[2, 3] = np.nan, np.inf
    y, mean, rstd, dx, _, _ = (v.get() for v in forward_and_backward(layer_norm, cp, g, x, weight, bias, 1))
    for rows in (y, dx):
        assert np.isnan(rows[1:3]).all() and np.isfinite(rows[[0, 3]]).all()
    assert np.isnan(mean[1]) and np.isinf(mean[2]) and np.isnan(rstd[1:3]).all()


def test_large_mean(layer_norm, cp):
    _, x, _, _ = data((3, 1000), 1, np.float32)
    x += 10_000
    y, _, rstd = layer_norm.layer_norm(cp.asarray(x), None, None, normalized_ndim=1, eps=EPS)
    expected, _, expected_rstd = reference(x, None, None, 1)
    np.testing.assert_allclose(rstd.get(), expected_rstd, rtol=1e-5)
    np.testing.assert_allclose(y.get(), expected, atol=2e-3)  # half a unit of the float32 mean


def test_empty(layer_norm, cp):
    g, x, weight, bias = data((0, 5), 1, np.float32)
    results = forward_and_backward(layer_norm, cp, g, x, weight, bias, 1)
    assert [v.shape for v in results] == [(0, 5), (0,), (0,), (0, 5), (5,), (5,)]
    assert not results[4].get().any() and not results[5].get().any()
    g, x, weight, bias = data((5, 0), 1, np.float32)
    results = forward_and_backward(layer_norm, cp, g, x, weight, bias, 1)
    assert [v.shape for v in results] == [(5, 0), (5,), (5,), (5, 0), (0,), (0,)]


def test_parity_with_the_cpu(layer_norm, cp):
    cpu = pytest.importorskip("lucid_kernels.cpu.normalization.layer_norm")
    for shape, ndim in CASES:
        g, x, weight, bias = data(shape, ndim, np.float32)
        y, mean, rstd = cpu.layer_norm(x, weight, bias, normalized_ndim=ndim, eps=EPS)
        expected = (y, mean, rstd, *cpu.layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=ndim))
        for got, wanted in zip(forward_and_backward(layer_norm, cp, g, x, weight, bias, ndim), expected, strict=True):
            assert got.shape == wanted.shape and math.isfinite(np.abs(wanted).max())
            np.testing.assert_allclose(got.get(), wanted, rtol=5e-5, atol=2e-5)
