"""Losses of margins between the scores of classes, with their gradients, on a GPU: see `margin_loss.cu`."""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.losses.cross_entropy import sum_of_all
from lucid_kernels.cuda.runtime import launch

_NO_CLASS = launch.error_code("multi_margin_loss: target {value} is not one of {limit} classes")
_NO_LABEL = launch.error_code("multilabel_margin_loss: target {value} is neither -1 nor one of {limit} classes")


@launch.upcast_half
def multi_margin_loss(
    x: Any, target: Any, weight: Any, *, p: int, margin: float, reduction: str, with_grad: bool,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The loss of scores x (N, C), (C,) or () and labels (N,) or (), and d(loss)/dx (None without `with_grad`).

    A label that is no class counts nothing; the error is raised later, by `launch.raise_pending`.
    """
    x, real, rows, classes = launch.contiguous(x), x.dtype.type, target.size, x.shape[-1] if x.ndim else 1
    losses, grad, scale = _results(x, target.shape, rows, classes, reduction, with_grad, out)
    if rows:
        launch.kernel("margin_loss", f"multi_margin<{launch.ctype(x.dtype)}>")(
            *launch.slices(rows, classes),
            (
                x, launch.contiguous(target), *launch.optional(weight, x), losses, losses if grad is None else grad,
                np.int32(with_grad), np.int64(rows), np.int64(classes), np.int32(p == 2), real(margin), real(scale),
                launch.error_flag(), _NO_CLASS,
            ),
        )  # fmt: skip
    return _delivered(losses, grad, reduction, out)


@launch.upcast_half
def multilabel_margin_loss(
    x: Any, target: Any, *, reduction: str, with_grad: bool, out: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    """The loss of scores x (N, C), (C,) or () and as many labels, and d(loss)/dx (None without `with_grad`).

    A label that is neither a class nor -1 ends its row, or counts nothing; the error is raised later, by `launch.raise_pending`.
    """
    x, real, classes = launch.contiguous(x), x.dtype.type, x.shape[-1] if x.ndim else 1
    rows, shape = (x.shape[0], x.shape[:1]) if x.ndim == 2 else (1, ())
    losses, grad, scale = _results(x, shape, rows, classes, reduction, with_grad, out)
    if rows:
        launch.kernel("margin_loss", f"multilabel_margin<{launch.ctype(x.dtype)}>")(
            launch.grid_cap(rows), (launch.row_block(classes),),
            (
                x, launch.contiguous(target), cupy.empty((rows, classes), np.int32), losses, losses if grad is None else grad,
                np.int32(with_grad), np.int64(rows), np.int64(classes), real(scale), launch.error_flag(), _NO_LABEL,
            ),
        )  # fmt: skip
    return _delivered(losses, grad, reduction, out)


def _results(
    x: Any, shape: tuple[int, ...], rows: int, classes: int, reduction: str, with_grad: bool, out: tuple[Any, Any] | None
) -> tuple[Any, Any, float]:
    """The losses of the rows, of `shape`, the gradient, and the scale of the gradient."""
    losses = launch.result(out[0] if out and reduction == "none" else None, shape, x.dtype)
    grad = launch.result(out[1] if out else None, x.shape, x.dtype) if with_grad else None
    return losses, grad, 1.0 / (classes * rows if reduction == "mean" and rows else classes)


def _delivered(losses: Any, grad: Any, reduction: str, out: tuple[Any, Any] | None) -> tuple[Any, Any]:
    out_loss, out_grad = out or (None, None)
    if reduction == "mean" and not losses.size:
        losses = cupy.full((), math.nan, losses.dtype)
    elif reduction != "none":
        count = losses.size
        losses = sum_of_all(losses.reshape(-1)).reshape(())
        if reduction == "mean":
            losses /= losses.dtype.type(count)
    return launch.deliver(losses, out_loss), None if grad is None else launch.deliver(grad, out_grad)
