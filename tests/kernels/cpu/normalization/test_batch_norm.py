"""Batch normalisation against NumPy in float64, finite differences and PyTorch."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.normalization.batch_norm import (
    batch_norm,
    batch_norm_eval,
    batch_norm_eval_grad,
    batch_norm_grad,
)

# Both layouts, both sides of the size where the kernels go parallel.
SHAPES = [(5, 3), (2, 130), (700, 130), (4, 3, 5), (3, 2, 4, 6), (6, 2, 1, 1), (20, 7, 25, 24), (40, 16, 8, 8), (2, 3, 2, 2, 3)]
EPS = 1e-5


def data(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    channels = shape[1]
    x, g = rng.normal(2.0, 3.0, shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    weight, bias, mean = (rng.normal(size=channels).astype(dtype) for _ in range(3))
    return x, g, weight, bias, mean, rng.uniform(0.5, 2.0, channels).astype(dtype)


def axes_of(x):
    return (0, *range(2, x.ndim))


def spread(values, x):
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))


def expected(x, weight, bias, mean, var):
    return (x - spread(mean, x)) / np.sqrt(spread(var, x) + EPS) * spread(weight, x) + spread(bias, x)


def copies(arrays):
    return [None if a is None else a.copy() for a in arrays]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-5)])
def test_training(shape, dtype, tolerance):
    x, _, weight, bias, running_mean, running_var = arrays = data(shape, dtype)
    before = copies(arrays)
    y, mean, rstd, new_mean, new_var = batch_norm(x, weight, bias, running_mean, running_var, momentum=0.3, eps=EPS)
    x64 = x.astype(np.float64)
    true_mean, true_var = x64.mean(axes_of(x)), x64.var(axes_of(x))
    count = x.size // shape[1]
    np.testing.assert_allclose(mean, true_mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(rstd, 1 / np.sqrt(true_var + EPS), rtol=tolerance)
    np.testing.assert_allclose(y, expected(x64, weight, bias, true_mean, true_var), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(new_mean, 0.7 * running_mean + 0.3 * true_mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        new_var, 0.7 * running_var + 0.3 * true_var * count / (count - 1), rtol=tolerance, atol=tolerance
    )
    assert {a.dtype for a in (y, mean, rstd, new_mean, new_var)} == {np.dtype(dtype)}
    for array, old in zip(arrays, before):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient(shape):
    """The gradient of sum(g * y) by differences in random directions."""
    x, g, weight, bias, *_ = data(shape)
    _, mean, rstd, _, _ = batch_norm(x, weight, bias, None, None, momentum=0.1, eps=EPS)
    gradients = batch_norm_grad(g, x, weight, mean, rstd)

    def loss(x, weight, bias):
        return (g * expected(x, weight, bias, x.mean(axes_of(x)), x.var(axes_of(x)))).sum()

    check_differences(loss, [x, weight, bias], gradients)


def check_differences(loss, inputs, gradients, step=1e-5):
    rng = np.random.default_rng(3)
    for index, gradient in enumerate(gradients):
        direction = rng.normal(size=inputs[index].shape)
        ends = []
        for sign in (1, -1):
            moved = list(inputs)
            moved[index] = inputs[index] + sign * step * direction
            ends.append(loss(*moved))
        assert (gradient * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_eval_and_its_gradient(shape):
    x, g, weight, bias, mean, var = data(shape)
    y = batch_norm_eval(x, weight, bias, mean, var, eps=EPS)
    np.testing.assert_allclose(y, expected(x, weight, bias, mean, var), rtol=1e-12, atol=1e-12)
    dx, dweight, dbias = batch_norm_eval_grad(g, x, weight, mean, var, eps=EPS)
    scale = 1 / np.sqrt(var + EPS)
    np.testing.assert_allclose(dx, g * spread(weight * scale, x), rtol=1e-12)
    np.testing.assert_allclose(dbias, g.sum(axes_of(x)), rtol=1e-10, atol=1e-10)
    normalised = (x - spread(mean, x)) * spread(scale, x)
    np.testing.assert_allclose(dweight, (g * normalised).sum(axes_of(x)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 5)])
def test_without_weight_and_running_statistics(shape):
    x, g, *_ = data(shape)
    y, mean, rstd, running_mean, running_var = batch_norm(x, None, None, None, None, momentum=0.1, eps=EPS)
    assert running_mean is None
    assert running_var is None
    ones, zeros = np.ones(shape[1]), np.zeros(shape[1])
    np.testing.assert_allclose(y, expected(x, ones, zeros, mean, x.var(axes_of(x))))
    for plain, given in zip(batch_norm_grad(g, x, None, mean, rstd), batch_norm_grad(g, x, ones, mean, rstd)):
        np.testing.assert_array_equal(plain, given)
    np.testing.assert_array_equal(
        batch_norm_eval(x, None, None, zeros, ones, eps=EPS), batch_norm_eval(x, ones, zeros, zeros, ones, eps=EPS)
    )


def test_running_statistics_in_place_and_strided_out():
    x, _, weight, bias, mean, var = data((4, 3, 5))
    reference = batch_norm(x, weight, bias, mean, var, momentum=0.1, eps=EPS)
    strided = np.empty((4, 3, 10))[:, :, ::2]
    y, _, _, new_mean, new_var = batch_norm(
        x, weight, bias, mean, var, momentum=0.1, eps=EPS, out=(strided, None, None, mean, var)
    )
    assert y is strided
    assert new_mean is mean
    assert new_var is var
    for got, want in zip((y, new_mean, new_var), (reference[0], *reference[3:])):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(6, 4), (6, 4, 5), (30, 130)])
def test_any_strides(shape):
    x, g, weight, bias, mean, var = data(shape)
    views = [np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1].copy()[::-1]]
    reference = batch_norm(x, weight, bias, mean, var, momentum=0.1, eps=EPS)
    for view in views:
        for got, want in zip(batch_norm(view, weight, bias, mean, var, momentum=0.1, eps=EPS), reference):
            np.testing.assert_array_equal(got, want)
        gradients = batch_norm_grad(np.asfortranarray(g), view, weight, mean, var)
        for got, want in zip(gradients, batch_norm_grad(g, x, weight, mean, var)):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (2, 3, 0), (2, 0, 4)])
def test_empty(shape):
    x = np.empty(shape)
    mean, var = np.full(shape[1], 2.0), np.full(shape[1], 3.0)
    y, _, _, new_mean, new_var = batch_norm(x, None, None, mean, var, momentum=0.1, eps=EPS)
    assert y.shape == shape
    np.testing.assert_array_equal(new_mean, mean)
    np.testing.assert_array_equal(new_var, var)
    assert new_mean is not mean
    assert batch_norm_eval(x, None, None, mean, var, eps=EPS).shape == shape
    dx, dweight, dbias = batch_norm_grad(x, x, None, mean, var)
    assert dx.shape == shape
    assert not dweight.any()
    assert not dbias.any()


@pytest.mark.parametrize("shape", [(3000, 2), (3000, 2, 3)])
def test_float32_statistics_survive_a_large_mean(shape):
    rng = np.random.default_rng(0)
    x = (1e4 + rng.normal(size=shape)).astype(np.float32)
    _, mean, rstd, _, _ = batch_norm(x, None, None, None, None, momentum=0.1, eps=0.0)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(axes_of(x)), rtol=1e-6)
    np.testing.assert_allclose(rstd, 1 / exact.std(axes_of(x)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype):
    x, g, weight, bias, mean, var = data((4, 3, 5), np.float32)
    half = x.astype(dtype)
    results = batch_norm(half, weight, bias, mean, var, momentum=0.1, eps=EPS)
    wide = batch_norm(half.astype(np.float32), weight, bias, mean, var, momentum=0.1, eps=EPS)
    assert [r.dtype for r in results] == [dtype] + [np.float32] * 4
    np.testing.assert_array_equal(results[0], wide[0].astype(dtype))
    gradients = batch_norm_grad(g.astype(dtype), half, weight, wide[1], wide[2])
    assert [r.dtype for r in gradients] == [dtype, np.float32, np.float32]


@pytest.mark.parametrize("shape", SHAPES)
def test_like_torch(shape):
    torch = pytest.importorskip("torch")
    x, g, weight, bias, mean, var = data(shape, np.float32)
    t_x, t_weight, t_bias = (torch.tensor(a, requires_grad=True) for a in (x, weight, bias))
    for training in (True, False):
        t_mean, t_var = torch.tensor(mean), torch.tensor(var)
        t_y = torch.nn.functional.batch_norm(t_x, t_mean, t_var, t_weight, t_bias, training, 0.2, EPS)
        wanted = torch.autograd.grad(t_y, (t_x, t_weight, t_bias), torch.tensor(g))
        if training:
            y, m, r, new_mean, new_var = batch_norm(x, weight, bias, mean, var, momentum=0.2, eps=EPS)
            np.testing.assert_allclose(new_mean, t_mean, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(new_var, t_var, rtol=1e-5, atol=1e-6)
            gradients = batch_norm_grad(g, x, weight, m, r)
        else:
            y = batch_norm_eval(x, weight, bias, mean, var, eps=EPS)
            gradients = batch_norm_eval_grad(g, x, weight, mean, var, eps=EPS)
        np.testing.assert_allclose(y, t_y.detach(), rtol=1e-4, atol=1e-5)
        for got, want in zip(gradients, wanted):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("position", [0, 7])
@pytest.mark.parametrize("shape", [(8, 2), (4, 2, 3)])
def test_nan_and_inf_like_torch(shape, position, bad):
    torch = pytest.importorskip("torch")
    x = data(shape, np.float32)[0]
    x.reshape(-1)[position] = bad
    mean, var = np.zeros(2, np.float32), np.ones(2, np.float32)
    t_mean, t_var = torch.tensor(mean), torch.tensor(var)
    t_y = torch.nn.functional.batch_norm(torch.tensor(x), t_mean, t_var, None, None, True, 0.1, EPS)
    y, _, _, new_mean, new_var = batch_norm(x, None, None, mean, var, momentum=0.1, eps=EPS)
    for got, want in ((y, t_y), (new_mean, t_mean), (new_var, t_var)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(40, 7), (40, 7, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_infinite_weights_make_nan_of_two_infinities(shape, training):
    """As x * scale + shift does, PyTorch's formula; the mean is that of x all the same."""
    x, _, weight, bias, mean, var = data(shape, np.float32)
    weight[[1, 4]] = np.inf, -np.inf
    if training:
        y, mean, rstd, *_ = batch_norm(x, weight, bias, None, None, momentum=0.1, eps=EPS)
        np.testing.assert_allclose(mean, x.mean(axes_of(x)), rtol=1e-4, atol=1e-5)
    else:
        y, rstd = batch_norm_eval(x, weight, bias, mean, var, eps=EPS), 1 / np.sqrt(var + EPS)
    with np.errstate(invalid="ignore"):
        scale = weight * rstd
        want = x * spread(scale, x) + spread(bias - mean * scale, x)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)
    assert np.isnan(y[:, 1]).any()


@pytest.mark.parametrize("kind", ["outlier", "offset", "huge", "spike"])
def test_float32_statistics_are_those_of_float64(kind):
    """Sums are float32 within tiles: an odd first element, a mean far from 0, and squares beyond float32 must not show."""
    x = np.random.default_rng(0).standard_normal((3, 2, 3000)).astype(np.float32)
    if kind == "outlier":
        x[0, :, 0] = 50
    elif kind == "offset":
        x += 1e4
    elif kind == "huge":
        x *= 1e25
    else:
        x[0, :, 0] = 1e5
    _, mean, rstd, _, _ = batch_norm(x, None, None, None, None, momentum=0.1, eps=1e-5)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean, wide.mean((0, 2)), rtol=1e-6, atol=1e-6 * wide.std())
    np.testing.assert_allclose(rstd, 1 / np.sqrt(wide.var((0, 2)) + 1e-5), rtol=1e-6)
