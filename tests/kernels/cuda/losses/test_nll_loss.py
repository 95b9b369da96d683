"""The negative log-likelihood on a GPU against float64 NumPy."""
from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.cuda.losses.test_cross_entropy import IGNORED, data

# aligned rows and others, classes with gaps, no batch dimension, many labels
SHAPES = [(5, 1), (4, 32), (3, 33), (3, 7, 11), (2, 3, 4, 5), (6,), (4500, 3)]


@pytest.fixture
def nll_loss(cp):
    from lucid_kernels.cuda.losses import nll_loss

    return nll_loss


def reference(x, target, weight, reduction, g):
    """(loss, gradient of x) in float64, where g is that of the loss."""
    x, channel = np.asarray(x, np.float64), min(1, x.ndim - 1)
    x = np.moveaxis(x, channel, -1)
    used = target != IGNORED
    label = np.where(used, target, 0)
    weight = np.ones(x.shape[-1]) if weight is None else np.asarray(weight, np.float64)
    each = np.where(used, weight[label], 0)
    scale = 1 / each.sum() if reduction == "mean" else 1.0
    loss = -np.where(used, np.take_along_axis(x, label[..., None], -1)[..., 0], 0) * each
    slopes = (np.arange(x.shape[-1]) == label[..., None]) * (-g * each * scale)[..., None]
    return loss if reduction == "none" else loss.sum() * scale, np.moveaxis(slopes, -1, channel)


def run(nll_loss, cp, x, target, weight, g, reduction):
    x, target, g = map(cp.asarray, (x, target, g))
    weight = None if weight is None else cp.asarray(weight)
    options = {"reduction": reduction, "ignore_index": IGNORED}
    dx = cp.asarray(np.full(x.shape, np.nan, x.dtype))
    assert nll_loss.nll_loss_grad(g, target, weight, shape=x.shape, **options, out=dx) is dx
    return nll_loss.nll_loss(x, target, weight, **options), dx


def gradient(shape, reduction, dtype):
    rng = np.random.default_rng(3)
    return np.asarray(rng.standard_normal((shape[:1] + shape[2:] if len(shape) > 1 else ()) if reduction == "none" else ())).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_values_and_gradients(nll_loss, cp, schedule, reduction, dtype):
    rounding = float(ml_dtypes.finfo(dtype).eps) * 0.51 + (1e-6 if dtype != np.float64 else 1e-14)
    for shape, weighted in itertools.product(SHAPES, [False, True]):
        x, target, weight = data(shape, dtype)
        weight, g = weight if weighted else None, gradient(shape, reduction, dtype)
        results = run(nll_loss, cp, x, target, weight, g, reduction)
        for got, wanted in zip(results, reference(x, target, weight, reduction, g.astype(np.float64)), strict=True):
            assert got.dtype == dtype and got.shape == np.shape(wanted)
            np.testing.assert_allclose(got.get().astype(np.float64), wanted, rtol=rounding, atol=rounding)


def test_ignored_elements_may_be_infinite(nll_loss, cp):
    x, target, _ = data((4, 32), np.float32)
    x[target == IGNORED] = np.inf
    loss, _ = run(nll_loss, cp, x, target, None, np.float32(1), "mean")
    np.testing.assert_allclose(loss.get(), reference(x, target, None, "mean", 1.0)[0], rtol=1e-6)


def test_a_class_is_ignored(nll_loss, cp):
    x, target = np.arange(12.0).reshape(4, 3), np.array([0, 1, 2, 1])
    options = {"reduction": "mean", "ignore_index": 1}
    given = cp.asarray(target), None
    assert nll_loss.nll_loss(cp.asarray(x), *given, **options).get() == -(x[0, 0] + x[2, 2]) / 2
    dx = nll_loss.nll_loss_grad(cp.asarray(np.float64(1)), *given, shape=(4, 3), **options).get()
    assert dx[0, 0] == dx[2, 2] == -0.5 and dx.sum() == -1


def test_nothing_to_average(nll_loss, cp):
    x, target, _ = data((4, 31), np.float32)
    loss, _ = run(nll_loss, cp, x, np.full_like(target, IGNORED), None, np.float32(1), "mean")
    assert np.isnan(loss.get())
    for reduction, wanted in (("mean", np.nan), ("sum", 0.0)):
        loss, dx = run(nll_loss, cp, np.zeros((0, 3), np.float32), np.zeros(0, np.int64), None, np.float32(1), reduction)
        np.testing.assert_array_equal(loss.get(), wanted)
        assert dx.shape == (0, 3)


def test_label_out_of_range(nll_loss, cp, schedule):
    from lucid_kernels.cuda.runtime import launch

    for label in (7, -1, 2**40):
        x, target, _ = data((5, 7, 3), np.float32)
        target.flat[2] = label
        run(nll_loss, cp, x, target, None, gradient(x.shape, "none", np.float32), "none")
        with pytest.raises(IndexError, match=rf"Target {label} is out of bounds\."):
            launch.raise_pending()
