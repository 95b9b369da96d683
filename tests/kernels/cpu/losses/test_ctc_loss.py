"""Connectionist temporal classification on the CPU: against extended precision, over the range of exponents, lengths, errors."""
from __future__ import annotations

import math

import numpy as np
import pytest
from lucid_kernels.cpu.losses.ctc_loss import ctc_loss


def reference(x, labels, blank):
    """Loss and gradient of one sequence x (T, C), by logarithms of extended precision."""
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.append([False] * 2, states[2:] != states[:-2])[: states.size]
    emitted = x.astype(np.longdouble)[:, states]

    def beginnings(emitted, skips):
        alpha = np.full(emitted.shape, -np.inf, np.longdouble)
        alpha[0, :2] = emitted[0, :2]
        for t in range(1, len(emitted)):
            last = np.append([-np.inf] * 2, alpha[t - 1])
            alpha[t] = np.logaddexp(np.logaddexp(last[2:], last[1:-1]), np.where(skips, last[:-2], -np.inf)) + emitted[t]
        return alpha

    forward = beginnings(emitted, skips)
    backward = beginnings(emitted[::-1, ::-1], np.append(skips[2:], [False] * 2)[: states.size][::-1])[::-1, ::-1]
    total = np.logaddexp.reduce(forward[-1, -2:])
    grad = np.exp(x.astype(np.longdouble))
    np.subtract.at(grad, (slice(None), states), np.exp(forward + backward - emitted - total))
    return -total, grad


def random(frames, batch, classes, dtype, scale=1.0, seed=0):
    z = np.random.default_rng(seed).normal(size=(frames, batch, classes)) * scale
    return (z - np.log(np.exp(z).sum(2, keepdims=True))).astype(dtype)


@pytest.mark.parametrize("scale", [1, 30])  # the second one's states are apart by more than float64 can hold
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 3e-7), (np.float64, 3e-14)])
def test_values(dtype, rtol, scale):
    rng = np.random.default_rng(1)
    x, labels, inputs, lengths = random(90, 5, 7, dtype, scale), rng.integers(0, 7, (5, 30)), [90, 61, 9, 1, 90], [30, 20, 0, 1, 7]
    labels[labels == 3] = 4
    kept = x.copy()
    losses, grad = ctc_loss(x, labels, np.array(inputs), np.array(lengths), blank=3, zero_infinity=False, with_grad=True)
    assert losses.dtype == grad.dtype == dtype
    np.testing.assert_array_equal(x, kept)
    for n, (frames, length) in enumerate(zip(inputs, lengths, strict=True)):
        loss, slope = reference(x[:frames, n], labels[n, :length], 3)
        np.testing.assert_allclose(losses[n], float(loss), rtol=rtol)
        np.testing.assert_allclose(grad[:frames, n], slope.astype("f8"), atol=rtol)
        assert not grad[frames:, n].any()
    alone, nothing = ctc_loss(x, labels, np.array(inputs), np.array(lengths), blank=3, zero_infinity=False, with_grad=False)
    np.testing.assert_array_equal(alone, losses)
    assert nothing is None


def test_strides_and_out():
    x, labels = random(6, 4, 5, np.float64), np.array([[1, 2, 2], [3, 1, 1]])
    inputs, lengths = np.array([6, 9, 5, 9])[::2], np.array([3, 9, 2, 9])[::2]
    expected = ctc_loss(x[:, ::2].copy(), labels, inputs.copy(), lengths.copy(), blank=0, zero_infinity=False, with_grad=True)
    out = np.empty(4)[::2], np.empty((5, 2, 6)).transpose(2, 1, 0)
    found = ctc_loss(x[:, ::2], labels.T.copy().T, inputs, lengths, blank=0, zero_infinity=False, with_grad=True, out=out)
    for computed, given, wanted in zip(found, out, expected, strict=True):
        assert computed is given
        np.testing.assert_array_equal(computed, wanted)
    empty = ctc_loss(x[:, :0], labels[:0], inputs[:0], lengths[:0], blank=0, zero_infinity=False, with_grad=True)
    assert [array.shape for array in empty] == [(0,), (6, 0, 5)]


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_no_alignment(zero_infinity):
    """Too few frames, none, a class that never is; and no frame for no target."""
    x = random(4, 4, 5, np.float32)
    x[:, 2, 1] = -np.inf
    losses, grad = ctc_loss(x, np.ones((4, 2), int), np.array([2, 0, 4, 0]), np.array([2, 1, 1, 0]), blank=0,
                            zero_infinity=zero_infinity, with_grad=True)
    np.testing.assert_array_equal(losses, [0, 0, 0, 0] if zero_infinity else [np.inf, np.inf, np.inf, 0])
    for n, frames in enumerate((2, 0, 4, 0)):
        np.testing.assert_array_equal(grad[:frames, n], 0 if zero_infinity else np.nan)
        assert not grad[frames:, n].any()


def test_special_values():
    x = random(5, 3, 4, np.float64)
    x[2, 0, 2], x[2, 1, 1], x[:, 2] = -np.inf, np.nan, -1e9
    losses, grad = ctc_loss(x, np.ones((3, 1), int), np.full(3, 5), np.ones(3, int), blank=0, zero_infinity=False, with_grad=True)
    assert math.isfinite(losses[0]) and np.isfinite(grad[:, 0]).all() and grad[2, 0, 2] == 0
    assert np.isnan(losses[1]) and np.isnan(grad[:, 1, :2]).all()
    np.testing.assert_allclose(losses[2], 5e9, rtol=1e-8)


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_label_that_is_no_class(wrong):
    labels = np.array([[1, wrong], [1, 2]])
    attributes = {"blank": 0, "zero_infinity": False, "with_grad": False}
    with pytest.raises(IndexError, match=f"target {wrong} is not one of 4 classes"):
        ctc_loss(np.zeros((5, 2, 4)), labels, np.array([5, 5]), np.array([2, 2]), **attributes)
    assert ctc_loss(np.zeros((5, 2, 4)), labels, np.array([5, 5]), np.array([1, 2]), **attributes)[0].shape == (2,)
