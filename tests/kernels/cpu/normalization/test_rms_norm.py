"""Normalisation by the root of the mean square against NumPy in float64 and PyTorch."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.normalization.layer_norm import WIDEST
from lucid_kernels.cpu.normalization.rms_norm import rms_norm, rms_norm_grad
from lucid_kernels.cpu.simd import nontemporal

# (shape, normalized_ndim): one row, many rows, several axes, sides of the parallel size and of the summing block.
CASES = [((7,), 1), ((5, 3), 1), ((4, 3, 5), 2), ((300, 257), 1), ((2, 3, 9000), 1), ((6, 1), 1), ((33, 50, 41), 2)]
EPS = 1e-5


def data(shape, ndim, dtype=np.float64):
    rng = np.random.default_rng(0)
    x, g = rng.normal(0.5, 3.0, shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    return x, g, rng.normal(size=shape[len(shape) - ndim :]).astype(dtype)


def expected(x, g, weight, ndim):
    """y, rstd, dx and dweight in float64."""
    x, g = x.astype(np.float64), g.astype(np.float64)
    inner, outer = tuple(range(x.ndim - ndim, x.ndim)), tuple(range(x.ndim - ndim))
    rstd = 1 / np.sqrt((x * x).mean(inner, keepdims=True) + EPS)
    normal = x * rstd
    gw = g * weight
    dx = rstd * (gw - normal * (gw * normal).mean(inner, keepdims=True))
    return normal * weight, rstd.reshape(x.shape[: x.ndim - ndim]), dx, (g * normal).sum(outer)


@pytest.mark.parametrize(("shape", "ndim"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-5)])
@pytest.mark.parametrize("weighted", [True, False])
def test_values_and_gradients(shape, ndim, dtype, tolerance, weighted):
    x, g, weight = arrays = data(shape, ndim, dtype)
    before = [a.copy() for a in arrays]
    given = weight if weighted else None
    y, rstd = rms_norm(x, given, normalized_ndim=ndim, eps=EPS)
    results = (y, rstd, *rms_norm_grad(g, x, given, rstd, normalized_ndim=ndim))
    for got, want in zip(results, expected(x, g, weight if weighted else 1.0, ndim), strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("rows", [4, 700])
def test_strides_and_out(rows):
    x, g, weight = data((rows, 130), 1)
    wanted = rms_norm(x, weight, normalized_ndim=1, eps=EPS)
    out = (np.empty((rows, 260))[:, ::2], np.empty(rows))
    for got, want, given in zip(rms_norm(np.asfortranarray(x), weight, normalized_ndim=1, eps=EPS, out=out), wanted, out):
        assert got is given
        np.testing.assert_array_equal(got, want)
    out = (np.empty((130, rows)).T, np.empty(260)[::2])
    results = rms_norm_grad(np.asfortranarray(g), x, weight, wanted[1], normalized_ndim=1, out=out)
    for got, want, given in zip(results, rms_norm_grad(g, x, weight, wanted[1], normalized_ndim=1), out, strict=True):
        assert got is given
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty(shape):
    x = np.empty(shape)
    y, rstd = rms_norm(x, None, normalized_ndim=1, eps=EPS)
    dx, dweight = rms_norm_grad(x, x, None, rstd, normalized_ndim=1)
    assert (y.shape, rstd.shape, dx.shape) == (shape, shape[:1], shape)
    np.testing.assert_array_equal(dweight, np.zeros(shape[1]))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(dtype):
    x, g, weight = (a.astype(dtype) for a in data((4, 6), 1))
    y, rstd = rms_norm(x, weight, normalized_ndim=1, eps=EPS)
    wide = rms_norm(x.astype(np.float32), weight.astype(np.float32), normalized_ndim=1, eps=EPS)
    assert (y.dtype, rstd.dtype) == (dtype, np.float32)
    np.testing.assert_array_equal(y, wide[0].astype(dtype))
    assert {a.dtype for a in rms_norm_grad(g, x, weight, rstd, normalized_ndim=1)} == {np.dtype(dtype)}
    assert rms_norm_grad(g, x, weight.astype(np.float32), rstd, normalized_ndim=1)[1].dtype == np.float32


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "ndim"), CASES)
@pytest.mark.parametrize("bad", [None, np.nan, np.inf])
def test_like_torch(shape, ndim, bad):
    torch = pytest.importorskip("torch")
    x, g, weight = data(shape, ndim, np.float32)
    if bad is not None:
        x.reshape(-1)[3] = bad
    t_x, t_weight = (torch.tensor(a, requires_grad=True) for a in (x, weight))
    t_y = torch.nn.functional.rms_norm(t_x, weight.shape, t_weight, EPS)
    wanted = torch.autograd.grad(t_y, (t_x, t_weight), torch.tensor(g))
    y, rstd = rms_norm(x, weight, normalized_ndim=ndim, eps=EPS)
    np.testing.assert_allclose(y, t_y.detach(), rtol=1e-4, atol=1e-5)
    for got, want in zip(rms_norm_grad(g, x, weight, rstd, normalized_ndim=ndim), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [128, 131, 1000, WIDEST + 4])
def test_streamed_is_the_same(width, dtype, monkeypatch):
    """In large arrays of rows, also where they are not finite. A result that is given is not streamed."""
    x, g, weight = data((60_000 // width + 3, width), 1, dtype)

    def both(out):
        y, rstd = rms_norm(x, weight, normalized_ndim=1, eps=EPS, out=None if out is None else (out, None))
        dx, dweight = rms_norm_grad(g, x, weight, rstd, normalized_ndim=1, out=None if out is None else (g.copy(), None))
        return [y.copy(), rstd, dx, dweight]

    x[1, 5], x[2, 6] = np.nan, np.inf
    with np.errstate(all="ignore"):
        expected = both(None)
        monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
        for out in (None, np.empty_like(x)):
            for computed, whole in zip(both(out), expected, strict=True):
                np.testing.assert_allclose(computed, whole, rtol=1e-4, atol=1e-4)
