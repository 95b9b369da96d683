"""Cross entropy against its formula in float64, and against PyTorch where it is installed."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.losses.cross_entropy import cross_entropy
from lucid_kernels.cpu.simd import nontemporal

RNG = np.random.default_rng(0)
SHAPES = [(7, 5), (5,), (3, 4, 2, 5), (1, 6), (2, 3, 700)]
DEFAULTS = {"reduction": "mean", "ignore_index": -100, "label_smoothing": 0.0, "with_grad": True}


def inputs(shape, dtype=np.float64):
    classes = shape[1] if len(shape) > 1 else shape[0]
    labels = shape[:1] + shape[2:] if len(shape) > 1 else ()
    x = (3 * RNG.standard_normal(shape)).astype(dtype)
    return x, np.asarray(RNG.integers(0, classes, labels)), RNG.random(classes).astype(dtype)


def oracle(x, target, weight, reduction, ignore_index, label_smoothing):
    """Losses from the definition; the gradient by the formula for one row, row by row."""
    shape = x.shape
    x = x.astype(np.float64)[None] if x.ndim == 1 else x.astype(np.float64)
    rows = np.moveaxis(x, 1, -1).reshape(-1, x.shape[1])
    weight = np.ones(rows.shape[1]) if weight is None else weight.astype(np.float64)
    losses, grads, denominator = np.zeros(len(rows)), np.zeros_like(rows), 0.0
    for r, (row, label) in enumerate(zip(rows, target.reshape(-1), strict=True)):
        if label == ignore_index:
            continue
        logs = row - row.max() - np.log(np.exp(row - row.max()).sum())
        share = label_smoothing / len(row) * weight
        share[label] += (1 - label_smoothing) * weight[label]
        losses[r], grads[r] = -(share * logs).sum(), np.exp(logs) * share.sum() - share
        denominator += weight[label]
    scale = denominator if reduction == "mean" else 1.0
    loss = losses.reshape(target.shape) if reduction == "none" else losses.sum() / scale
    grads = np.moveaxis((grads / scale).reshape(x.shape[0], *x.shape[2:], x.shape[1]), -1, 1)
    return loss, grads.reshape(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(shape, dtype):
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    for weighted, smoothing, reduction in itertools.product((False, True), (0.0, 0.1), ("none", "mean", "sum")):
        x, target, weight = inputs(shape, dtype)
        weight = weight if weighted else None
        attributes = {"reduction": reduction, "ignore_index": 1, "label_smoothing": smoothing}
        if target.size == 1:
            target[...] = 2
        copies = x.copy(), target.copy()
        loss, grad = cross_entropy(x, target, weight, **attributes, with_grad=True)
        expected_loss, expected_grad = oracle(x, target, weight, **attributes)
        np.testing.assert_allclose(loss, expected_loss, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(grad, expected_grad, rtol=tolerance, atol=tolerance)
        assert loss.dtype == grad.dtype == dtype and loss.shape == (target.shape if reduction == "none" else ())
        assert grad.shape == shape and grad.flags.c_contiguous
        np.testing.assert_array_equal(x, copies[0])
        np.testing.assert_array_equal(target, copies[1])
        alone, none = cross_entropy(x, target, weight, **attributes, with_grad=False)
        assert none is None
        np.testing.assert_allclose(alone, loss, rtol=tolerance)


@pytest.mark.parametrize("shape", [(40, 30), (40, 30, 7)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_large_numbers_of_one_size_lose_no_digits(shape, smoothing):
    x, target, _ = inputs(shape)
    x = (x + 1e4).astype(np.float32)
    attributes = {"reduction": "none", "ignore_index": -100, "label_smoothing": smoothing}
    loss, _ = cross_entropy(x, target, None, **attributes, with_grad=False)
    np.testing.assert_allclose(loss, oracle(x, target, None, **attributes)[0], rtol=3e-6, atol=3e-6)



@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype):
    x, target, _ = inputs((7, 5), dtype)
    loss, grad = cross_entropy(x, target, None, **DEFAULTS)
    expected_loss, expected_grad = oracle(x, target, None, "mean", -100, 0.0)
    assert loss.dtype == grad.dtype == dtype
    np.testing.assert_allclose(float(loss), expected_loss, rtol=1e-2)
    np.testing.assert_allclose(grad.astype(np.float64), expected_grad, atol=2e-3)


@pytest.mark.parametrize("shape", [(4, 5), (2, 5, 3)])
def test_wrong_label_changes_nothing(shape):
    x, target, _ = inputs(shape)
    out = np.full((), 9.0), np.full(shape, 9.0)
    for label in (7, 5, -1):
        target.reshape(-1)[-1] = label
        with pytest.raises(IndexError, match=f"Target {label} is out of bounds"):
            cross_entropy(x, target, None, **DEFAULTS, out=out)
    assert out[0] == 9 and (out[1] == 9).all()


@pytest.mark.parametrize("shape", [(4, 5), (2, 5, 3)])
def test_nothing_to_average(shape):
    x, target, _ = inputs(shape)
    target[...] = -100
    loss, grad = cross_entropy(x, target, None, **DEFAULTS)
    assert np.isnan(loss) and not grad.any()
    loss, grad = cross_entropy(x[:0], target[:0], None, **DEFAULTS)
    assert np.isnan(loss) and grad.shape == x[:0].shape
    loss, _ = cross_entropy(x[:0], target[:0], None, **{**DEFAULTS, "reduction": "sum"})
    assert loss == 0


def test_out_and_strides():
    x, target, _ = inputs((6, 5))
    expected = cross_entropy(x, target, None, **DEFAULTS)
    for out in ((np.empty(()), np.empty((6, 5))), (None, np.empty((5, 6)).T)):
        got = cross_entropy(np.asfortranarray(x), np.repeat(target, 2)[::2], None, **DEFAULTS, out=out)
        assert got[1] is out[1] and out[0] in (None, got[0])
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])


def test_not_finite():
    x = np.zeros((3, 20), np.float32)
    x[0, 1], x[1, 1], x[2, 1] = np.nan, np.inf, -np.inf
    loss, grad = cross_entropy(x, np.array([0, 0, 0]), None, **{**DEFAULTS, "reduction": "none"})
    assert np.isnan(loss[:2]).all() and np.isnan(grad[:2]).all()
    np.testing.assert_allclose(loss[2], np.log(19), rtol=1e-6)
    assert grad[2, 1] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_streamed_is_the_same(smoothing, dtype, monkeypatch):
    """In large arrays of rows; also ignored rows, labels without weight, and what is not finite. What is given is not streamed."""
    for width in (128, 131, 1000):
        x, target, weight = inputs((60_000 // width, width), dtype)
        target[3], target[4], weight[target[5]] = -100, target[5], 0
        x[0, target[0]] += 50
        x[1, 7], x[2, 8] = np.nan, np.inf
        for weights in (None, weight):
            attributes = {**DEFAULTS, "reduction": "sum", "label_smoothing": smoothing}
            loss, grad = cross_entropy(x, target, weights, **attributes)
            with monkeypatch.context() as patch:
                patch.setattr(nontemporal, "_streamed_from", lambda: 0)
                copy = x.copy()
                results = [cross_entropy(x, target, weights, **attributes),
                           cross_entropy(copy, target, weights, **attributes, out=(None, copy))]
            for streamed_loss, streamed in results:
                np.testing.assert_array_equal(streamed_loss, loss)
                np.testing.assert_allclose(streamed, grad, rtol=1e-5, atol=10 * np.finfo(dtype).eps)


def test_parallel():
    x, target, _ = inputs((4000, 10), np.float32)
    loss, grad = cross_entropy(x, target, None, **DEFAULTS)
    expected_loss, expected_grad = oracle(x, target, None, "mean", -100, 0.0)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-6)
    np.testing.assert_allclose(grad, expected_grad, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_as_in_torch(shape):
    torch = pytest.importorskip("torch")
    for weighted, smoothing, reduction in itertools.product((False, True), (0.0, 0.2), ("none", "mean", "sum")):
        x, target, weight = inputs(shape)
        leaf = torch.tensor(x, requires_grad=True)
        expected = torch.nn.functional.cross_entropy(
            leaf,
            torch.tensor(target),
            torch.tensor(weight) if weighted else None,
            reduction=reduction,
            ignore_index=2,
            label_smoothing=smoothing,
        )
        (gradient,) = torch.autograd.grad(expected.sum(), leaf)
        loss, grad = cross_entropy(
            x,
            target,
            weight if weighted else None,
            reduction=reduction,
            ignore_index=2,
            label_smoothing=smoothing,
            with_grad=True,
        )
        np.testing.assert_allclose(loss, expected.detach().numpy(), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(grad, gradient.numpy(), rtol=1e-12, atol=1e-13)
