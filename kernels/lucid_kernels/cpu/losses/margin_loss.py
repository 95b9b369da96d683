"""Losses of margins between the scores of classes, with their gradients, in one pass.

For a row x of C scores and its label t, `multi_margin_loss` is the sum over the other classes of

    weight[t] max(0, margin - x[t] + x[c]) ** p / C

and `multilabel_margin_loss`, with the labels of a row up to the first -1, the sum over labels t and classes c that are none of

    max(0, 1 - x[t] + x[c]) / C

What is not larger than 0 counts nothing: so does NaN, as in PyTorch, and a margin that is met exactly has no gradient.
Sums over labels and rows are taken in float64 in memory order.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, contiguous, deliver, outputs, result, row_chunk
from ..runtime.jit import jit, jit_exact, jit_parallel
from .cross_entropy import sum_of_all


# ---- one label a row ---------------------------------------------------------------------------------------------------
@jit_exact
def _outside(labels: Any, low: int, high: int) -> bool:
    """Whether a label is not in [low, high)."""
    found = False
    for i in range(labels.shape[0]):
        found |= (labels[i] < low) | (labels[i] >= high)
    return found


@jit
def _gaps(row: Any, base: Any, square: bool) -> Any:
    """The sum of ``max(0, base + x) ** p``."""
    zero = row.dtype.type(0)
    total = zero
    for c in range(row.shape[0]):
        gap = base + row[c]
        gap = gap if gap > zero else zero
        total += gap * gap if square else gap
    return total


@jit
def _gaps_and_slopes(row: Any, base: Any, square: bool, unit: Any, slopes: Any) -> tuple[Any, Any]:
    """The same, and the sum of the derivatives by x over `unit`; `slopes` takes them."""
    zero, one = row.dtype.type(0), row.dtype.type(1)
    total, pushes = zero, zero
    for c in range(row.shape[0]):
        gap = base + row[c]
        lacks = gap > zero
        gap = gap if lacks else zero
        push = gap if square else one
        slopes[c] = unit * push if lacks else zero
        pushes += push if lacks else zero
        total += gap * gap if square else gap
    return total, pushes


@jit
def _margins(x: Any, labels: Any, weight: Any, square: bool, margin: float, scale: float, losses: Any, grad: Any) -> None:
    """Losses (N,) and, where `grad` is not empty, the gradient of ``scale * C`` times them, for x (N, C)."""
    real = x.dtype.type
    zero, width = real(0), real(x.shape[1])
    step = real(2 * scale if square else scale)
    for r in range(x.shape[0]):
        label = labels[r]
        own = weight[label] if weight.size else real(1)
        base = real(margin) - x[r, label]
        before, after = x[r, :label], x[r, label + 1 :]
        if grad.size:
            unit = step * own
            total, pushes = _gaps_and_slopes(before, base, square, unit, grad[r, :label])
            more, more_pushes = _gaps_and_slopes(after, base, square, unit, grad[r, label + 1 :])
            total += more
            pushes += more_pushes
            grad[r, label] = -unit * pushes if pushes > zero else zero
        else:
            total = _gaps(before, base, square) + _gaps(after, base, square)
        # A weight that is no number is not asked for where nothing lacks.
        losses[r] = total * own / width if total > zero else zero


@jit_parallel
def _all_margins(
    x: Any, labels: Any, weight: Any, square: bool, margin: float, scale: float, losses: Any, grad: Any
) -> None:  # fmt: skip
    rows = row_chunk(x.shape[1])
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        part = slice(i * rows, (i + 1) * rows)
        _margins(x[part], labels[part], weight, square, margin, scale, losses[part], grad[part])


@upcast_half
def multi_margin_loss(
    x: Array, target: Array, weight: Array | None, *, p: int, margin: float, reduction: str, with_grad: bool,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array | None]:  # fmt: skip
    """The loss of scores x (N, C), (C,) or () and labels (N,) or () -> (loss, grad); see `kernels/README.md`.

    `grad` is d(loss)/dx for an upstream gradient of 1 at every loss element, or None with `with_grad=False`. A label that is
    no class raises IndexError before anything is written.
    """
    out = outputs(out, 2)
    classes = x.shape[-1] if x.ndim else 1
    labels, weights = contiguous(target).reshape(-1), np.empty(0, x.dtype) if weight is None else contiguous(weight)
    if _outside(labels, 0, classes):
        raise IndexError("target out of range")
    losses, grad, flat, slopes, scale = _results(x, target.shape, labels.size, classes, reduction, with_grad, out)
    _all_margins(contiguous(x).reshape(labels.size, classes), labels, weights, p == 2, float(margin), scale, flat, slopes)
    return _reduced(losses, reduction, out[0]), grad if grad is None else deliver(out[1], grad)


# ---- several labels a row ----------------------------------------------------------------------------------------------
@jit
def _lacks(base: Any, others: Any) -> Any:
    """The sum of ``max(0, base + x)`` over the `others`."""
    zero = others.dtype.type(0)
    total = zero
    for c in range(others.shape[0]):
        gap = base + others[c]
        total += gap if gap > zero else zero
    return total


@jit
def _lacks_and_counts(base: Any, others: Any, counts: Any) -> tuple[Any, Any]:
    """The same, and how many there are; `counts` goes up at each."""
    zero, one = others.dtype.type(0), others.dtype.type(1)
    total, count = zero, zero
    for c in range(others.shape[0]):
        gap = base + others[c]
        total += gap if gap > zero else zero
        found = one if gap > zero else zero
        count += found
        counts[c] += found
    return total, count


@jit_exact
def _row_of_labels(x: Any, labels: Any, unit: Any, grad: Any, places: Any, others: Any, counts: Any) -> float:
    """C times the loss of a row x (C,), and its gradient where `grad` is not empty; the last three, (C,), are written over."""
    classes, given, rest = x.shape[0], 0, 0
    places[:] = 0
    while given < classes and labels[given] >= 0:
        places[labels[given]] = 1
        given += 1
    for c in range(classes):  # the other classes, side by side
        label = places[c]
        places[rest] = c
        others[rest] = x[c]
        rest += 1 - label
    total = 0.0
    others, counts = others[:rest], counts[:rest]
    if not grad.size:
        for i in range(given):
            total += _lacks(x.dtype.type(1) - x[labels[i]], others)
        return total
    counts[:] = 0
    grad[:] = 0
    for i in range(given):
        label = labels[i]
        lack, count = _lacks_and_counts(x.dtype.type(1) - x[label], others, counts)
        total += lack
        grad[label] -= count * unit
    for i in range(rest):
        grad[places[i]] = counts[i] * unit
    return total


@jit_exact
def _rows_of_labels(x: Any, labels: Any, scale: float, losses: Any, grad: Any) -> None:
    """Losses (N,) and, where `grad` is not empty, the gradient of ``scale * C`` times them, for x and labels (N, C)."""
    classes = x.shape[1]
    places, others, counts = np.empty(classes, np.int64), np.empty(classes, x.dtype), np.empty(classes, x.dtype)
    for r in range(x.shape[0]):
        slopes = grad[r] if grad.size else others[:0]
        losses[r] = _row_of_labels(x[r], labels[r], x.dtype.type(scale), slopes, places, others, counts) / classes


@jit_parallel
def _all_rows_of_labels(x: Any, labels: Any, scale: float, losses: Any, grad: Any, rows: int) -> None:
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        part = slice(i * rows, (i + 1) * rows)
        _rows_of_labels(x[part], labels[part], scale, losses[part], grad[part])


@upcast_half
def multilabel_margin_loss(
    x: Array, target: Array, *, reduction: str, with_grad: bool, out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array | None]:  # fmt: skip
    """The loss of scores x (N, C), (C,) or () and as many labels -> (loss, grad); see `kernels/README.md`.

    `grad` is that of `multi_margin_loss`. A label that is neither a class nor -1, behind the first -1 too, raises IndexError
    before anything is written.
    """
    out = outputs(out, 2)
    classes = x.shape[-1] if x.ndim else 1
    count = x.shape[0] if x.ndim == 2 else 1
    labels = contiguous(target).reshape(count, classes)
    if _outside(labels.reshape(-1), -1, classes):
        raise IndexError("argument #2 'target' is out of range")
    shape = x.shape[:1] if x.ndim == 2 else ()
    losses, grad, flat, slopes, scale = _results(x, shape, count, classes, reduction, with_grad, out)
    # A row may take C * C / 4 steps.
    rows = max(1, GRAIN // (classes * min(classes, 16)))
    _all_rows_of_labels(contiguous(x).reshape(count, classes), labels, scale, flat, slopes, rows)
    return _reduced(losses, reduction, out[0]), grad if grad is None else deliver(out[1], grad)


# ---- what they share -----------------------------------------------------------------------------------------------------
def _results(
    x: Array, shape: tuple[int, ...], count: int, classes: int, reduction: str, with_grad: bool,
    out: Sequence[Array | None],
) -> tuple[Array, Array | None, Array, Array, float]:  # fmt: skip
    """The losses of the rows, of `shape`, and the gradient; both as a kernel gets them; and the scale of its gradient."""
    losses = result(out[0], shape, x.dtype) if reduction == "none" else np.empty(shape, x.dtype)
    grad = result(out[1], x.shape, x.dtype) if with_grad else None
    slopes = np.empty((0, classes), x.dtype) if grad is None else grad.reshape(count, classes)
    return losses, grad, losses.reshape(-1), slopes, 1.0 / (classes * count if reduction == "mean" and count else classes)


def _reduced(losses: Array, reduction: str, out: Array | None) -> Array:
    """The loss that is asked for."""
    if reduction == "none":
        return deliver(out, losses)
    loss = result(out, (), losses.dtype)
    total = sum_of_all(losses.reshape(-1))
    loss[...] = total if reduction == "sum" else total / losses.size if losses.size else math.nan
    return deliver(out, loss)
