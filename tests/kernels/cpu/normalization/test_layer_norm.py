"""Layer normalisation against NumPy in float64, finite differences and PyTorch."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.normalization.layer_norm import WIDEST, layer_norm, layer_norm_grad
from lucid_kernels.cpu.simd import nontemporal

# (shape, normalized_ndim): one row, many rows, several axes, sides of the parallel size and of the summing block.
CASES = [((7,), 1), ((5, 3), 1), ((4, 3, 5), 2), ((300, 257), 1), ((2, 3, 9000), 1), ((6, 1), 1), ((33, 50, 41), 2)]
EPS = 1e-5


def data(shape, ndim, dtype=np.float64):
    rng = np.random.default_rng(0)
    x, g = rng.normal(2.0, 3.0, shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    weight, bias = (rng.normal(size=shape[len(shape) - ndim :]).astype(dtype) for _ in range(2))
    return x, g, weight, bias


def expected(x, weight, bias, ndim):
    axes = tuple(range(x.ndim - ndim, x.ndim))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + EPS) * weight + bias


@pytest.mark.parametrize(("shape", "ndim"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-5)])
def test_forward(shape, ndim, dtype, tolerance):
    x, _, weight, bias = arrays = data(shape, ndim, dtype)
    before = [a.copy() for a in arrays]
    y, mean, rstd = layer_norm(x, weight, bias, normalized_ndim=ndim, eps=EPS)
    x64 = x.astype(np.float64)
    axes = tuple(range(x.ndim - ndim, x.ndim))
    np.testing.assert_allclose(y, expected(x64, weight, bias, ndim), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(mean, x64.mean(axes), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(rstd, 1 / np.sqrt(x64.var(axes) + EPS), rtol=tolerance)
    assert mean.shape == rstd.shape == shape[: len(shape) - ndim]
    assert y.dtype == mean.dtype == rstd.dtype == dtype
    for array, old in zip(arrays, before):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize(("shape", "ndim"), CASES)
def test_gradient(shape, ndim):
    """The gradient of sum(g * y) by differences in random directions."""
    x, g, weight, bias = data(shape, ndim)
    _, mean, rstd = layer_norm(x, weight, bias, normalized_ndim=ndim, eps=EPS)
    gradients = layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=ndim)
    rng = np.random.default_rng(3)
    inputs, step = [x, weight, bias], 1e-5
    for index, gradient in enumerate(gradients):
        assert gradient.shape == inputs[index].shape
        direction = rng.normal(size=inputs[index].shape)
        ends = []
        for sign in (1, -1):
            moved = list(inputs)
            moved[index] = inputs[index] + sign * step * direction
            ends.append((g * expected(*moved, ndim)).sum())
        assert (gradient * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-5)


def test_without_weight_and_bias():
    x, g, *_ = data((4, 6), 1)
    y, mean, rstd = layer_norm(x, None, None, normalized_ndim=1, eps=EPS)
    np.testing.assert_allclose(y, expected(x, 1.0, 0.0, 1))
    for plain, given in zip(
        layer_norm_grad(g, x, None, mean, rstd, normalized_ndim=1),
        layer_norm_grad(g, x, np.ones(6), mean, rstd, normalized_ndim=1),
    ):
        np.testing.assert_array_equal(plain, given)


@pytest.mark.parametrize("rows", [4, 700])
def test_strides_and_out(rows):
    x, g, weight, bias = data((rows, 130), 1)
    reference = layer_norm(x, weight, bias, normalized_ndim=1, eps=EPS)
    out = (np.empty((rows, 260))[:, ::2], None, np.empty(rows))
    results = layer_norm(np.asfortranarray(x), weight, bias, normalized_ndim=1, eps=EPS, out=out)
    assert results[0] is out[0]
    assert results[2] is out[2]
    for got, want in zip(results, reference):
        np.testing.assert_array_equal(got, want)
    _, mean, rstd = reference
    wanted = layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=1)
    out = (np.empty((130, rows)).T, np.empty(130), np.empty(260)[::2])
    results = layer_norm_grad(np.asfortranarray(g), x, weight, mean, rstd, normalized_ndim=1, out=out)
    for got, want, given in zip(results, wanted, out):
        assert got is given
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty(shape):
    x = np.empty(shape)
    y, mean, rstd = layer_norm(x, None, None, normalized_ndim=1, eps=EPS)
    assert y.shape == shape
    assert mean.shape == shape[:1]
    dx, dweight, dbias = layer_norm_grad(x, x, None, mean, rstd, normalized_ndim=1)
    assert dx.shape == shape
    np.testing.assert_array_equal(dweight, np.zeros(shape[1]))
    np.testing.assert_array_equal(dbias, np.zeros(shape[1]))


def test_float32_statistics_survive_a_large_mean():
    x = (1e4 + np.random.default_rng(0).normal(size=(3, 50000))).astype(np.float32)
    _, mean, rstd = layer_norm(x, None, None, normalized_ndim=1, eps=0.0)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(1), rtol=1e-6)
    np.testing.assert_allclose(rstd, 1 / exact.std(1), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype):
    x, g, weight, bias = (a.astype(dtype) for a in data((4, 6), 1))
    y, mean, rstd = layer_norm(x, weight, bias, normalized_ndim=1, eps=EPS)
    wide = layer_norm(*(a.astype(np.float32) for a in (x, weight, bias)), normalized_ndim=1, eps=EPS)
    assert (y.dtype, mean.dtype, rstd.dtype) == (dtype, np.float32, np.float32)
    np.testing.assert_array_equal(y, wide[0].astype(dtype))
    assert {a.dtype for a in layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=1)} == {np.dtype(dtype)}


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "ndim"), CASES)
@pytest.mark.parametrize("bad", [None, np.nan, np.inf])
def test_like_torch(shape, ndim, bad):
    torch = pytest.importorskip("torch")
    x, g, weight, bias = data(shape, ndim, np.float32)
    if bad is not None:
        x.reshape(-1)[3] = bad
    t_x, t_weight, t_bias = (torch.tensor(a, requires_grad=True) for a in (x, weight, bias))
    t_y = torch.nn.functional.layer_norm(t_x, weight.shape, t_weight, t_bias, EPS)
    wanted = torch.autograd.grad(t_y, (t_x, t_weight, t_bias), torch.tensor(g))
    y, mean, rstd = layer_norm(x, weight, bias, normalized_ndim=ndim, eps=EPS)
    np.testing.assert_allclose(y, t_y.detach(), rtol=1e-4, atol=1e-5)
    for got, want in zip(layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=ndim), wanted):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


@pytest.mark.torch
@pytest.mark.parametrize("place", ["weight", "gradient"])
@pytest.mark.parametrize("rows", [5, 700])
def test_gradients_with_infinities_like_torch(rows, place):
    torch = pytest.importorskip("torch")
    x, g, weight, bias = data((rows, 50), 1, np.float32)
    if place == "weight":
        weight[7] = np.inf
    else:
        g[3, 9], g[4, 7] = np.inf, -np.inf
    _, mean, rstd = layer_norm(x, weight, bias, normalized_ndim=1, eps=EPS)
    ours = layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=1)
    leaves = [torch.tensor(array, requires_grad=True) for array in (x, weight, bias)]
    torch.nn.functional.layer_norm(leaves[0], (50,), *leaves[1:], eps=EPS).backward(torch.tensor(g))
    assert np.isnan(ours[0]).any() and np.isfinite(ours[0]).any() == (place == "gradient")
    for found, leaf in zip(ours, leaves, strict=True):
        np.testing.assert_allclose(found, leaf.grad.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [128, 131, 1000, WIDEST + 4])
def test_streamed_is_the_same(width, dtype, monkeypatch):
    """In large arrays of rows, also where they are not finite. A result that is given is not streamed."""
    x, g, weight, bias = data((60_000 // width + 3, width), 1, dtype)

    def both(out):
        y, mean, rstd = layer_norm(x, weight, bias, normalized_ndim=1, eps=EPS, out=out if out is None else (out, None, None))
        dx, *rest = layer_norm_grad(g, x, weight, mean, rstd, normalized_ndim=1, out=None if out is None else (g.copy(), None, None))
        return [y.copy(), mean, rstd, dx, *rest]

    x[1, 5], x[2, 6] = np.nan, np.inf
    with np.errstate(all="ignore"):
        expected = both(None)
        monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
        for out in (None, np.empty_like(x)):
            for computed, whole in zip(both(out), expected, strict=True):
                np.testing.assert_allclose(computed, whole, rtol=1e-4, atol=1e-4)
