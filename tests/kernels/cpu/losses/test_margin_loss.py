"""Losses of margins between classes on the CPU: against a plain loop in float64, chunks, strides, `out`, NaN and inf, bounds."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.losses.margin_loss import multi_margin_loss, multilabel_margin_loss

SHAPES = [(1, 1), (3, 5), (700, 33), (60, 1000)]  # the last two are several chunks


def one_label(x, target, weight, p, margin):
    """Losses and gradients of each row, in float64."""
    x, losses, grad = x.astype("f8"), np.zeros(len(x)), np.zeros(x.shape)
    for r, label in enumerate(target):
        gaps = margin - x[r, label] + x[r]
        gaps = np.where(gaps > 0, gaps, 0)
        gaps[label] = 0
        own = 1.0 if weight is None else float(weight[label])
        losses[r] = (gaps**p).mean() * own
        grad[r] = p * gaps ** (p - 1) * (gaps > 0) * own / x.shape[1]
        grad[r, label] = -grad[r].sum()
    return losses, grad


def several_labels(x, target):
    x, losses, grad = x.astype("f8"), np.zeros(len(x)), np.zeros(x.shape)
    for r, row in enumerate(target):
        labels = row[: np.append(row < 0, True).argmax()]
        others = np.setdiff1d(np.arange(x.shape[1]), labels)
        for label in labels:
            gaps = 1 - x[r, label] + x[r, others]
            losses[r] += gaps[gaps > 0].sum() / x.shape[1]
            grad[r, others] += (gaps > 0) / x.shape[1]
            grad[r, label] -= (gaps > 0).sum() / x.shape[1]
    return losses, grad


def reduced(losses, grad, reduction):
    if reduction == "none":
        return losses, grad
    return (losses.sum(), grad) if reduction == "sum" else (losses.mean(), grad / len(losses))


def compare(found, expected, dtype):
    tolerance = 2e-6 if dtype == np.float32 else 1e-14
    for computed, wanted in zip(found, expected, strict=True):
        assert computed.dtype == dtype and computed.shape == np.shape(wanted)
        np.testing.assert_allclose(computed, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_values(shape, dtype, reduction):
    rng = np.random.default_rng(0)
    x, weight, target = rng.normal(size=shape).astype(dtype), rng.random(shape[1]).astype(dtype), rng.integers(0, shape[1], shape[0])
    for p, given in ((1, None), (2, weight), (1, weight)):
        options = {"p": p, "margin": 0.75, "reduction": reduction}
        found = multi_margin_loss(x, target, given, with_grad=True, **options)
        compare(found, reduced(*one_label(x, target, given, p, 0.75), reduction), dtype)
        alone, nothing = multi_margin_loss(x, target, given, with_grad=False, **options)
        np.testing.assert_allclose(alone, found[0], rtol=1e-6)
        assert nothing is None
    labels = rng.integers(-1, shape[1], shape)
    labels[: len(labels) // 2] = rng.integers(0, shape[1], (len(labels) // 2, shape[1]))
    found = multilabel_margin_loss(x, labels, reduction=reduction, with_grad=True)
    compare(found, reduced(*several_labels(x, labels), reduction), dtype)
    alone, nothing = multilabel_margin_loss(x, labels, reduction=reduction, with_grad=False)
    np.testing.assert_allclose(alone, found[0], rtol=1e-6)
    assert nothing is None


def test_sums_of_many_labels_are_exact():
    """As those of PyTorch, in float64: one by one in float32 they were 1e-6 off."""
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(20, 1000)).astype("f4"), rng.integers(0, 1000, (20, 1000))
    found, _ = multilabel_margin_loss(x, labels, reduction="none", with_grad=False)
    np.testing.assert_allclose(found, several_labels(x, labels)[0], rtol=2e-7)


def test_strides_out_one_row_and_no_row():
    rng = np.random.default_rng(0)
    x, weight, target = rng.normal(size=(6, 8)), rng.random(8), rng.integers(0, 4, 6)
    labels = rng.integers(-1, 4, (6, 8))
    for kernel, arrays, options in ((multi_margin_loss, (target, weight), {"p": 2, "margin": 1.0}),
                                    (multilabel_margin_loss, (labels,), {})):
        options = {"reduction": "none", "with_grad": True, **options}
        parts = [x[::2, ::2], *[a[::2] if a.ndim == 1 else a[::2, ::2] for a in arrays]]
        expected = kernel(*[part.copy() for part in parts], **options)
        out = np.empty(6)[::2], np.empty((4, 3)).T
        for computed, given, wanted in zip(kernel(*parts, out=out, **options), out, expected, strict=True):
            assert computed is given
            np.testing.assert_array_equal(computed, wanted)
        one = [parts[0][0], *[part if part is parts[-1] and part.shape == (4,) else part[0] for part in parts[1:]]]
        loss, grad = kernel(*one, **options)
        assert loss.shape == () and loss == expected[0][0]
        np.testing.assert_array_equal(grad, expected[1][0])
        none = [part if part is parts[-1] and part.shape == (4,) else part[:0] for part in parts]
        assert [array.shape for array in kernel(*none, **options)] == [(0,), (0, 4)]
        assert np.isnan(kernel(*none, **{**options, "reduction": "mean"})[0])
        assert kernel(*none, **{**options, "reduction": "sum"})[0] == 0


def test_what_is_not_larger_than_nothing():
    """NaN counts nothing, nor does a margin that is met exactly, of which 0.1 and the like would tell."""
    nan, inf = np.nan, np.inf
    x = np.array([[0.1, -0.9, 0.1, nan], [nan, 1, 2, 3], [1, inf, 2, 0]], "f4")
    for p in (1, 2):
        loss, grad = multi_margin_loss(x, np.array([0, 0, 1]), None, p=p, margin=1.0, reduction="none", with_grad=True)
        np.testing.assert_array_equal(loss, [0.25, 0, 0])
        np.testing.assert_array_equal(grad, [[-p / 4, 0, p / 4, 0], [0] * 4, [0] * 4])
    loss, grad = multi_margin_loss(x, np.array([0, 0, 0]), np.full(4, nan, "f4"), p=2, margin=1.0, reduction="none", with_grad=True)
    np.testing.assert_array_equal(loss, [nan, 0, nan])
    np.testing.assert_array_equal(grad, [[nan, 0, nan, 0], [0] * 4, [nan, nan, nan, 0]])
    loss, grad = multilabel_margin_loss(x, np.array([[0, -1, 2, 2], [0, 1, -1, 3], [0, 0, -1, -1]]), reduction="none", with_grad=True)
    np.testing.assert_array_equal(loss, [0.25, 1.25, inf])
    np.testing.assert_array_equal(grad, [[-0.25, 0, 0.25, 0], [0, -0.5, 0.25, 0.25], [-1, 0.5, 0.5, 0]])


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_label_that_is_no_class(wrong):
    x, out = np.zeros((2, 4)), (np.ones(2), np.ones((2, 4)))
    with pytest.raises(IndexError, match="out of range"):
        multi_margin_loss(x, np.array([0, wrong]), None, p=1, margin=1.0, reduction="none", with_grad=True, out=out)
    labels = np.array([[0, -1, 0, 0], [-1, 0, 0, wrong - (wrong < 0)]])
    with pytest.raises(IndexError, match="out of range"):
        multilabel_margin_loss(x, labels, reduction="none", with_grad=True, out=out)
    assert all(array.all() for array in out)
