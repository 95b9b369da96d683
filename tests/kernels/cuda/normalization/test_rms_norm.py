"""CUDA normalisation by the root of the mean square against float64 NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

# (shape, normalized_ndim): rows for a warp and for a block, many rows (chunks of the weight sums), several dimensions
CASES = [((5, 1), 1), ((3, 31), 1), ((4, 33), 1), ((2, 1000), 1), ((150, 13), 1), ((2, 3, 4, 6), 2), ((7,), 1), ((65, 40), 1),
         ((3, 64), 1), ((1, 4333), 1)]  # fmt: skip
TOLERANCE = {np.float32: {"rtol": 2e-5, "atol": 1e-5}, np.float64: {"rtol": 1e-11, "atol": 1e-12}}
EPS = 1e-3


@pytest.fixture
def rms_norm(cp):
    from lucid_kernels.cuda.normalization import rms_norm

    return rms_norm


def data(shape, ndim, dtype):
    """g, x, weight."""
    rng = np.random.default_rng(0)
    g, x = rng.standard_normal((2, *shape))
    return tuple(v.astype(dtype) for v in (g, x * 2 + 1, rng.standard_normal(shape[len(shape) - ndim :])))


def reference(g, x, weight, ndim):
    """(y, rstd, dx, dweight) in float64."""
    g, x = np.asarray(g, np.float64), np.asarray(x, np.float64)
    axes, outer = tuple(range(x.ndim - ndim, x.ndim)), tuple(range(x.ndim - ndim))
    rstd = 1 / np.sqrt((x * x).mean(axes, keepdims=True) + EPS)
    normal, scale = x * rstd, 1 if weight is None else np.asarray(weight, np.float64)
    gw = g * scale
    dx = rstd * (gw - normal * (gw * normal).mean(axes, keepdims=True))
    return normal * scale, rstd.reshape(x.shape[: x.ndim - ndim]), dx, (g * normal).sum(outer)


def forward_and_backward(rms_norm, cp, g, x, weight, ndim):
    g, x, weight = (None if v is None else cp.asarray(v) for v in (g, x, weight))
    y, rstd = rms_norm.rms_norm(x, weight, normalized_ndim=ndim, eps=EPS)
    return (y, rstd, *rms_norm.rms_norm_grad(g, x, weight, rstd, normalized_ndim=ndim))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [True, False])
def test_values_and_gradients(rms_norm, cp, schedule, dtype, weighted):
    for shape, ndim in CASES:
        g, x, weight = data(shape, ndim, dtype)
        weight = weight if weighted else None
        results = forward_and_backward(rms_norm, cp, g, x, weight, ndim)
        for got, wanted in zip(results, reference(g, x, weight, ndim), strict=True):
            assert got.dtype == dtype and got.shape == wanted.shape
            np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[dtype])


def test_strides_and_out(rms_norm, cp):
    g, x, weight = data((6, 5, 4), 2, np.float32)
    plain = [v.get() for v in forward_and_backward(rms_norm, cp, g, x, weight, 2)]
    tg, tx, tw = (cp.asarray(np.ascontiguousarray(v.T)).T for v in (g, x, weight))
    for order in ("C", "F"):
        out = [cp.zeros(v.shape, np.float32, order=order) for v in plain]
        results = rms_norm.rms_norm(tx, tw, normalized_ndim=2, eps=EPS, out=tuple(out[:2]))
        results += rms_norm.rms_norm_grad(tg, tx, tw, results[1], normalized_ndim=2, out=tuple(out[2:]))
        assert all(a is b for a, b in zip(results, out, strict=True))
        for got, wanted in zip(results, plain, strict=True):
            np.testing.assert_array_equal(got.get(), wanted)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("parameters", ["half", "float32"])
def test_halves_are_rounded_once(rms_norm, cp, dtype, parameters):
    g, x, weight = data((9, 33), 1, dtype)
    weight = weight if parameters == "half" else weight.astype(np.float32)
    results = forward_and_backward(rms_norm, cp, g, x, weight, 1)
    assert [v.dtype for v in results] == [dtype, np.float32, dtype, weight.dtype]
    wide = forward_and_backward(rms_norm, cp, *(v.astype(np.float32) for v in (g, x, weight)), 1)
    for got, wanted in zip(results, wide, strict=True):
        np.testing.assert_array_equal(got.get().astype(np.float32), wanted.get().astype(got.dtype).astype(np.float32))


def test_nan_and_infinity_stay_in_their_row(rms_norm, cp):
    g, x, weight = data((4, 33), 1, np.float32)
    x[1, 2], x[2, 3] = np.nan, np.inf
    y, rstd, dx, _ = (v.get() for v in forward_and_backward(rms_norm, cp, g, x, weight, 1))
    assert np.isnan(y[1]).all() and np.isnan(dx[1]).all() and np.isnan(rstd[1])
    assert np.isnan(y[2, 3]) and not y[2, :3].any() and rstd[2] == 0
    assert np.isfinite(y[[0, 3]]).all() and np.isfinite(dx[[0, 3]]).all()


def test_empty(rms_norm, cp):
    results = forward_and_backward(rms_norm, cp, *data((0, 5), 1, np.float32), 1)
    assert [v.shape for v in results] == [(0, 5), (0,), (0, 5), (5,)] and not results[3].get().any()
    results = forward_and_backward(rms_norm, cp, *data((5, 0), 1, np.float32), 1)
    assert [v.shape for v in results] == [(5, 0), (5,), (5, 0), (0,)]


def test_parity_with_the_cpu(rms_norm, cp):
    cpu = pytest.importorskip("lucid_kernels.cpu.normalization.rms_norm")
    for shape, ndim in CASES:
        g, x, weight = data(shape, ndim, np.float32)
        y, rstd = cpu.rms_norm(x, weight, normalized_ndim=ndim, eps=EPS)
        expected = (y, rstd, *cpu.rms_norm_grad(g, x, weight, rstd, normalized_ndim=ndim))
        for got, wanted in zip(forward_and_backward(rms_norm, cp, g, x, weight, ndim), expected, strict=True):
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got.get(), wanted, rtol=5e-5, atol=2e-5)
