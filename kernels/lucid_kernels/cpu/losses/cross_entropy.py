"""Cross entropy from logits and class indices, with its gradient, in one pass and without a log-softmax array.

For a row x of C logits, its softmax p, target t, class weights w (1 where there are none) and label smoothing s,

    loss = (1 - s) w[t] (-log p[t])  +  s / C  sum_c w[c] (-log p[c])
    d loss / dx[c] = p[c] ((1 - s) w[t] + s / C sum(w))  -  (1 - s) w[t] [c == t]  -  s / C w[c]

`'mean'` divides the sum by the sum of w[t] over the rows that are not ignored: 0 / 0 = NaN where there is none, with a
zero gradient, as in PyTorch. An ignored row has loss 0 and gradient 0, or NaN where its logits have no probabilities: a NaN or
+inf among them, or nothing but -inf.

The array is seen as (N, C, S). With S == 1 a row is contiguous; otherwise a kernel takes one n and a tile of S at a
time and runs along that tile. The sum over rows is taken in float64 in memory order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, contiguous, deliver, outputs, result, tile, tiles
from ..math import basic as math_basic
from ..runtime import tuning
from ..runtime.jit import jit, jit_parallel
from ..simd.nontemporal import fence, stream_row, streams_rows
from ..simd.reduce import maximum_of

# The tile of S that a kernel takes at once: 64 classes of it fill 128 KiB in float32.
_TILE = 512


@jit
def _inspected(target: Any, weight: Any, classes: int, ignore_index: int) -> tuple[int, float]:
    """The position of the first label that is neither a class nor `ignore_index`, or -1; and the sum of weight[label] over the
    labels that count. No weights: an empty array, and each counts 1.
    """
    total = 0.0
    for i in range(target.shape[0]):
        label = target[i]
        if label == ignore_index:
            continue
        if label < 0 or label >= classes:
            return i, total
        total += weight[label] if weight.size else 1.0
    return -1, total


@jit
def sum_of_all(values: Any) -> float:
    """The sum of a vector, vectorised, in float64."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


@jit
def _nothing(row: Any) -> Any:
    """0, or NaN where logits have no probabilities."""
    largest = row[0]
    for c in range(1, row.shape[0]):
        largest = math_basic.maximum(largest, row[c])
    return largest - largest


@jit
def _rows(
    x: Any, target: Any, weight: Any, losses: Any, grad: Any, ignore_index: int, smoothing: float, scale: float, streaming: bool
) -> None:
    """Losses (N,) and, where `grad` is not empty, scale * d loss / dx for x (N, C).

    `streaming`: non-temporal stores of the gradient; without label smoothing.
    """
    real = x.dtype.type
    one, zero = real(1), real(0)
    classes = x.shape[1]
    weighted = weight.size > 0
    hard = real(1 - smoothing)
    soft = real(smoothing / classes)
    weight_sum = real(sum_of_all(weight)) if weighted else real(classes)
    unit = real(scale)
    with_grad = grad.size > 0
    width = np.uint64(classes)
    row = np.empty(classes if streaming else 0, x.dtype)
    written = grad if with_grad and not streaming else x
    for r in range(x.shape[0]):
        label = target[r]
        if label == ignore_index:
            losses[r] = zero
            if with_grad:
                nothing = _nothing(x[r])
                for c in range(classes):
                    grad[r, c] = nothing
            continue
        start = np.uint64(r) * width
        # A NaN need not show in the maximum: it shows in the sum.
        largest = maximum_of(x, start, start + width, written)
        total = zero
        if streaming:
            for c in range(classes):
                e = math_basic.exp_nonpositive(x[r, c] - largest)
                row[c] = e
                total += e
        elif with_grad:
            for c in range(classes):
                e = math_basic.exp_nonpositive(x[r, c] - largest)
                grad[r, c] = e
                total += e
        else:
            for c in range(classes):
                total += math_basic.exp_nonpositive(x[r, c] - largest)
        logarithm = real(math.log(total))
        picked = hard * (weight[label] if weighted else one)
        loss = -picked * math_basic.log_share(x[r, label], largest, logarithm)
        if soft != zero:
            spread = zero
            for c in range(classes):
                share = weight[c] if weighted else one
                spread -= share * math_basic.log_share(x[r, c], largest, logarithm)
            loss += soft * spread
        losses[r] = loss
        if not with_grad:
            continue
        factor = unit * (picked + soft * weight_sum) / total
        if streaming:
            # Without smoothing this is picked / factor. What was streamed is not in the cache: there it took ten times as long.
            row[label] -= total
            stream_row(row, factor, grad, start, x)
            continue
        for c in range(classes):
            grad[r, c] *= factor
        grad[r, label] -= unit * picked
        if soft != zero:
            for c in range(classes):
                grad[r, c] -= unit * soft * (weight[c] if weighted else one)
    if streaming:
        fence()


@jit
def _tile(
    x: Any, target: Any, weight: Any, losses: Any, grad: Any, ignore_index: int, smoothing: float, scale: float,
    with_grad: bool, start: int, stop: int,
) -> None:  # fmt: skip
    """The columns [start, stop) of one n: x and grad (C, S), target and losses (S,)."""
    real = x.dtype.type
    one, zero = real(1), real(0)
    classes = x.shape[0]
    weighted = weight.size > 0
    hard = real(1 - smoothing)
    soft = real(smoothing / classes)
    weight_sum = real(sum_of_all(weight)) if weighted else real(classes)
    unit = real(scale)
    labels = target[start:stop]
    loss = losses[start:stop]
    count = stop - start
    largest = x[0][start:stop].copy()
    for c in range(1, classes):
        row = x[c][start:stop]
        for i in range(count):
            largest[i] = math_basic.maximum(largest[i], row[i])
    total = np.zeros(count, x.dtype)
    spread = np.zeros(count, x.dtype)
    for c in range(classes):
        row = x[c][start:stop]
        for i in range(count):
            total[i] += math_basic.exp_nonpositive(row[i] - largest[i])
        if soft != zero:
            share = weight[c] if weighted else one
            for i in range(count):
                spread[i] += share * (row[i] - largest[i])
    factor = np.empty(count, x.dtype)
    for i in range(count):
        label = labels[i]
        if label == ignore_index:
            loss[i] = zero
            factor[i] = zero
            continue
        logarithm = real(math.log(total[i]))
        picked = hard * (weight[label] if weighted else one)
        loss[i] = -picked * math_basic.log_share(x[label, start + i], largest[i], logarithm)
        if soft != zero:
            loss[i] += soft * (weight_sum * logarithm - spread[i])
        factor[i] = unit * (picked + soft * weight_sum) / total[i]
    if not with_grad:
        return
    for c in range(classes):
        row = x[c][start:stop]
        gradient = grad[c][start:stop]
        shift = unit * soft * (weight[c] if weighted else one)
        for i in range(count):
            gradient[i] = math_basic.exp_nonpositive(row[i] - largest[i]) * factor[i] - shift
    for i in range(count):
        label = labels[i]
        if label != ignore_index:
            grad[label, start + i] -= unit * hard * (weight[label] if weighted else one)
        else:
            nothing = total[i] - total[i]
            for c in range(classes):
                grad[c, start + i] = nothing


@jit_parallel
def _rows_parallel(
    x: Any, target: Any, weight: Any, losses: Any, grad: Any, ignore_index: int, smoothing: float, scale: float, streaming: bool
) -> None:
    rows = max(1, GRAIN // x.shape[1])
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        part = slice(i * rows, (i + 1) * rows)
        _rows(x[part], target[part], weight, losses[part], grad[part], ignore_index, smoothing, scale, streaming)


@jit_parallel
def _planes(
    x: Any, target: Any, weight: Any, losses: Any, grad: Any, ignore_index: int, smoothing: float, scale: float
) -> None:
    """x and grad (N, C, S), target and losses (N, S); without a gradient, grad is (0, C, S)."""
    with_grad = grad.size > 0
    for i in numba.prange(x.shape[0] * tiles(x.shape[2], _TILE)):
        n, start, stop = tile(i, x.shape[2], _TILE)
        _tile(
            x[n], target[n], weight, losses[n], grad[n if with_grad else 0], ignore_index, smoothing, scale, with_grad,
            start, stop,
        )  # fmt: skip


@upcast_half
def cross_entropy(
    x: Array,
    target: Array,
    weight: Array | None,
    *,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    with_grad: bool,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array | None]:
    """Cross entropy of logits `x` (N, C, *S) and class indices `target` (N, *S) -> (loss, grad); see the package.

    `grad` is d(loss)/dx for an upstream gradient of 1 at every loss element, or None with `with_grad=False`. A label
    that is out of bounds raises IndexError before anything is written.
    """
    out = outputs(out, 2)
    shape = x.shape if x.ndim > 1 else (1, *x.shape)
    batch, classes, size = shape[0], shape[1], math.prod(shape[2:])
    labels = contiguous(target).reshape(-1)
    weights = np.empty(0, x.dtype) if weight is None else contiguous(weight)
    wrong, counted = _inspected(labels, weights, classes, ignore_index)
    if wrong >= 0:
        raise IndexError(f"Target {labels[wrong]} is out of bounds.")
    denominator = counted if reduction == "mean" else 1.0
    scale = 1.0 / denominator if denominator else 0.0

    losses = result(out[0], target.shape, x.dtype) if reduction == "none" else np.empty(target.shape, x.dtype)
    grad = result(out[1], x.shape, x.dtype) if with_grad else None
    view = (batch, classes) if size == 1 else (batch, classes, size)
    flat_grad = np.empty((0, *view[1:]), x.dtype) if grad is None else grad.reshape(view)
    attributes = (ignore_index, float(label_smoothing), scale)
    if x.size:
        if size == 1:
            kernel = _rows if x.size < tuning.PARALLEL_FROM else _rows_parallel
            # With label smoothing a gradient is read again.
            fresh = grad is not None and grad is not out[1] and not label_smoothing
            streaming = fresh and streams_rows(2 * x.nbytes, classes * x.itemsize)
            kernel(contiguous(x).reshape(view), labels, weights, losses.reshape(-1), flat_grad, *attributes, streaming)
        else:
            planes = (batch, size)
            _planes(
                contiguous(x).reshape(view), labels.reshape(planes), weights, losses.reshape(planes), flat_grad,
                *attributes,
            )  # fmt: skip
    if grad is not None:
        grad = deliver(out[1], grad)
    if reduction == "none":
        return deliver(out[0], losses), grad
    loss = result(out[0], (), x.dtype)
    loss[...] = sum_of_all(losses.reshape(-1)) / denominator if denominator else math.nan
    return deliver(out[0], loss), grad
