"""Connectionist temporal classification: the loss of sequences whose alignment is not known, with its gradient.

The states of a target of S labels are S + 1 blanks and the labels between them, in arrays of their own: each is then reached from
neighbours of the same index. Their probabilities after many frames are far below the range of float64, and logarithms cost three
exponentials for each state and frame, and digits. So a probability is a mantissa and an exponent of its own, ``m * 2**k``: sums
shift the smaller ones, and nothing overflows. All of it is float64, vectorised, and rounded once.

Source: Graves et al., "Connectionist temporal classification", 2006.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, contiguous, deliver, outputs, result
from ..math import basic as math_basic
from ..math.basic import bits, from_bits
from ..math.polynomial import select
from ..runtime.jit import jit_exact, jit_inline, jit_parallel
from .cross_entropy import sum_of_all

_NEVER = -(1 << 60)  # the exponent of 0
_LEAST = -1e12  # logarithms below are those of 0; their exponents can be added up over millions of frames
_EXPONENT = np.int64(0x7FF)


@jit_inline
def _power(k: Any) -> Any:
    """2 to the power k; from -1022 on for what is less, and up to 1023."""
    return from_bits((min(max(k, -1022), 1023) + 1023) << 52)


@jit_inline
def _share(logarithm: Any) -> tuple[float, int]:
    """The mantissa and the exponent of exp(logarithm)."""
    within = select(logarithm < _LEAST, 0.0, logarithm)
    shifted = within * math_basic.LOG2_E64 + math_basic.ROUND64
    n = shifted - math_basic.ROUND64
    r = within - n * math_basic.LN2_HIGH64
    r = r - n * math_basic.LN2_LOW64
    return select(logarithm < _LEAST, 0.0, math_basic.exp_reduced64(r)), bits(shifted) - math_basic.ROUND64_BITS


@jit_inline
def _product(m: Any, k: Any, other_m: Any, other_k: Any) -> tuple[float, int]:
    """The product, with a mantissa between 1 and 2; NaN stays NaN."""
    m = m * other_m
    exponent = ((bits(m) >> 52) & _EXPONENT) - 1023
    return m * from_bits((1023 - exponent) << 52), _NEVER if m == 0.0 else k + other_k + exponent


@jit_inline
def _sum(a_m: Any, a_k: Any, b_m: Any, b_k: Any) -> tuple[float, int]:
    """The sum of two; its mantissa may be 2 or more."""
    k = max(a_k, b_k)
    return a_m * _power(a_k - k) + b_m * _power(b_k - k), k


@jit_exact
def _shares(row: Any, labels: Any, m: Any, k: Any) -> None:
    """The probabilities of the labels in a frame, of which `row` has the logarithms."""
    for i in range(labels.shape[0]):
        m[i] = row[labels[i]]
    for i in range(m.shape[0]):
        m[i], k[i] = _share(m[i])


@jit_exact
def _blanks(blank: float, blank_m: Any, blank_k: Any, label_m: Any, label_k: Any, m: Any, k: Any) -> None:
    """The blanks of a frame: from themselves and from the label before in the last one."""
    share_m, share_k = _share(blank)
    for i in range(m.shape[0]):
        sum_m, sum_k = _sum(blank_m[i], blank_k[i], label_m[i], label_k[i])
        m[i], k[i] = _product(sum_m, sum_k, share_m, share_k)


@jit_exact
def _labels(
    share_m: Any, share_k: Any, skips: Any, blank_m: Any, blank_k: Any, label_m: Any, label_k: Any, before_m: Any, before_k: Any,
    m: Any, k: Any,
) -> None:  # fmt: skip
    """The labels of a frame: from themselves, the blank before, and the label before where it is another."""
    for i in range(m.shape[0]):
        sum_m, sum_k = _sum(blank_m[i], blank_k[i], label_m[i], label_k[i])
        skipped_m, skipped_k, skip = before_m[i], before_k[i], skips[i]
        sum_m, sum_k = _sum(sum_m, sum_k, skipped_m if skip else 0.0, skipped_k if skip else _NEVER)
        m[i], k[i] = _product(sum_m, sum_k, share_m[i], share_k[i])


@jit_exact
def _through(alpha_m: Any, alpha_k: Any, beta_m: Any, beta_k: Any, scale: float, k: int, share: Any) -> None:
    """The share of the alignments that go through each state, of all; `share` takes it."""
    for i in range(share.shape[0]):
        share[i] = alpha_m[i] * beta_m[i] * scale * _power(alpha_k[i] + beta_k[i] - k)


@jit_exact
def _exponentials(row: Any, result: Any) -> None:
    for c in range(result.shape[0]):
        result[c] = math_basic.exp(row[c])


@jit_exact
def _nothing(m: Any, k: Any) -> None:
    m[:] = 0.0
    k[:] = _NEVER


@jit_exact
def _sequence(x: Any, n: int, labels: Any, frames: int, blank: int, zero_infinity: bool, grad: Any) -> float:
    """The loss of sequence `n`, and its gradient where `grad` is not empty."""
    size = labels.shape[0]
    with_grad = grad.size > 0
    if with_grad:
        grad[frames:, n] = 0
    if frames == 0:
        return math.inf if size and not zero_infinity else 0.0
    rows = frames if with_grad else 2  # of the probabilities that are kept
    # Label i stands at i + 1, after one that never is.
    blank_m, blank_k = np.empty((rows, size + 1)), np.empty((rows, size + 1), np.int64)
    label_m, label_k = np.empty((rows, size + 1)), np.empty((rows, size + 1), np.int64)
    share_m, share_k = np.empty(size), np.empty(size, np.int64)
    skips = np.zeros(size, np.bool_)
    for i in range(1, size):
        skips[i] = labels[i] != labels[i - 1]
    _nothing(blank_m[0], blank_k[0])
    _nothing(label_m[0], label_k[0])
    blank_m[0, 0], blank_k[0, 0] = _share(np.float64(x[0, n, blank]))
    if size:
        label_m[0, 1], label_k[0, 1] = _share(np.float64(x[0, n, labels[0]]))
    for t in range(1, frames):
        now, last = t % rows, (t - 1) % rows
        _shares(x[t, n], labels, share_m, share_k)
        _blanks(np.float64(x[t, n, blank]), blank_m[last], blank_k[last], label_m[last], label_k[last], blank_m[now],
                blank_k[now])
        _nothing(label_m[now, :1], label_k[now, :1])
        _labels(share_m, share_k, skips, blank_m[last], blank_k[last], label_m[last, 1:], label_k[last, 1:], label_m[last],
                label_k[last], label_m[now, 1:], label_k[now, 1:])
    end = (frames - 1) % rows
    all_m, all_k = _sum(blank_m[end, size], blank_k[end, size], label_m[end, size], label_k[end, size])
    if all_m == 0.0:
        if with_grad:
            grad[:frames, n] = 0.0 if zero_infinity else math.nan
        return 0.0 if zero_infinity else math.inf
    if with_grad:
        _gradient(x, n, labels, skips, blank, blank_m, blank_k, label_m, label_k, 1.0 / all_m, all_k, grad)
    return -(math.log(all_m) + all_k * math.log(2.0))


@jit_exact
def _gradient(
    x: Any, n: int, labels: Any, skips: Any, blank: int, blank_m: Any, blank_k: Any, label_m: Any, label_k: Any, scale: float,
    all_k: int, grad: Any,
) -> None:  # fmt: skip
    """exp(x) less the shares of the alignments that go through each class.

    The probabilities of all ends, without the frame itself, go from the last frame to the first. Of blank i and label i there are
    those at i; at the end is what never is.
    """
    size = labels.shape[0]
    # Two rows: of the ends, and of those times the probabilities in the frame.
    ends_m, ends_k = np.empty((2, size + 1)), np.empty((2, size + 1), np.int64)
    later_m, later_k = np.empty((2, size + 1)), np.empty((2, size + 1), np.int64)
    share_m, share_k, share = np.empty(size), np.empty(size, np.int64), np.empty(size + 1)
    _nothing(ends_m.ravel(), ends_k.ravel())
    _nothing(later_m.ravel(), later_k.ravel())
    ends_m[0, size], ends_k[0, size] = 1.0, 0
    if size:
        later_m[0, size - 1], later_k[0, size - 1] = 1.0, 0
    for t in range(blank_m.shape[0] - 1, -1, -1):
        row = grad[t, n]
        _exponentials(x[t, n], row)
        _through(blank_m[t], blank_k[t], ends_m[0], ends_k[0], scale, all_k, share)
        row[blank] -= sum_of_all(share)
        _through(label_m[t, 1:], label_k[t, 1:], later_m[0], later_k[0], scale, all_k, share[:size])
        for i in range(size):
            row[labels[i]] -= share[i]
        if t:
            _shares(x[t, n], labels, share_m, share_k)
            _step_back(np.float64(x[t, n, blank]), share_m, share_k, skips, ends_m, ends_k, later_m, later_k)


@jit_exact
def _times(share_m: Any, share_k: Any, m: Any, k: Any, product_m: Any, product_k: Any) -> None:
    for i in range(share_m.shape[0]):
        product_m[i], product_k[i] = _product(m[i], k[i], share_m[i], share_k[i])


@jit_exact
def _step_back(
    blank: float, share_m: Any, share_k: Any, skips: Any, ends_m: Any, ends_k: Any, later_m: Any, later_k: Any
) -> None:
    """The ends of the frame before, from blanks (`ends`) and labels (`later`)."""
    size = share_m.shape[0]
    blank_m, blank_k = _share(blank)
    for i in range(size + 1):
        ends_m[1, i], ends_k[1, i] = _product(ends_m[0, i], ends_k[0, i], blank_m, blank_k)
    _times(share_m, share_k, later_m[0], later_k[0], later_m[1], later_k[1])
    _sums(ends_m[1], ends_k[1], later_m[1], later_k[1], ends_m[0], ends_k[0])
    _sums(ends_m[1, 1:], ends_k[1, 1:], later_m[1], later_k[1], later_m[0, :size], later_k[0, :size])
    _or_next(skips[1:], later_m[1, 1:], later_k[1, 1:], later_m[0], later_k[0])


@jit_exact
def _sums(a_m: Any, a_k: Any, b_m: Any, b_k: Any, m: Any, k: Any) -> None:
    for i in range(m.shape[0]):
        m[i], k[i] = _sum(a_m[i], a_k[i], b_m[i], b_k[i])


@jit_exact
def _or_next(skips: Any, next_m: Any, next_k: Any, m: Any, k: Any) -> None:
    for i in range(skips.shape[0]):
        skipped_m, skipped_k, skip = next_m[i], next_k[i], skips[i]
        m[i], k[i] = _sum(m[i], k[i], skipped_m if skip else 0.0, skipped_k if skip else _NEVER)


@jit_parallel
def _sequences(x: Any, labels: Any, inputs: Any, lengths: Any, blank: int, zero_infinity: bool, losses: Any, grad: Any) -> None:
    for n in numba.prange(losses.shape[0]):
        losses[n] = _sequence(x, n, labels[n, : lengths[n]], inputs[n], blank, zero_infinity, grad)


@jit_exact
def _wrong(labels: Any, lengths: Any, classes: int) -> int:
    """The index of the first label that is no class; -1 if there is none."""
    for n in range(labels.shape[0]):
        for i in range(lengths[n]):
            if labels[n, i] < 0 or labels[n, i] >= classes:
                return n * labels.shape[1] + i
    return -1


def ctc_loss(
    x: Array, labels: Array, inputs: Array, lengths: Array, *, blank: int, zero_infinity: bool, with_grad: bool,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array | None]:  # fmt: skip
    """The losses (N,) of logarithms of probabilities x (T, N, C), and with `with_grad` the gradient of each; see
    the docstring of the package.

    Of sequence n the first inputs[n] frames and the first lengths[n] labels (N, S) count. Raises IndexError for labels that are
    no class.
    """
    out = outputs(out, 2)
    labels, inputs, lengths = contiguous(labels), contiguous(inputs), contiguous(lengths)
    wrong = _wrong(labels, lengths, x.shape[2])
    if wrong >= 0:
        raise IndexError(f"ctc_loss: target {labels.flat[wrong]} is not one of {x.shape[2]} classes")
    losses = result(out[0], x.shape[1:2], x.dtype)
    grad = result(out[1], x.shape, x.dtype) if with_grad else None
    written = np.empty((0, 0, 0), x.dtype) if grad is None else grad
    _sequences(contiguous(x), labels, inputs, lengths, blank, zero_infinity, losses, written)
    return deliver(out[0], losses), None if grad is None else deliver(out[1], grad)
