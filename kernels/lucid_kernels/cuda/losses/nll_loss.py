"""The negative log-likelihood of class indices, and its gradient, on a GPU: see `nll_loss.cu`.

Forward reads one element for each label, backward writes every element of the gradient once.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.losses import label_sums
from lucid_kernels.cuda.runtime import launch, rows

_BAD_LABEL = launch.error_code("Target {value} is out of bounds.")
_NONE = np.iinfo(np.int64).min  # no label


def _sizes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The number of classes, and how far apart those of one label lie."""
    return shape[min(1, len(shape) - 1)], math.prod(shape[2:])


def nll_loss(x: Any, target: Any, weight: Any, *, reduction: str, ignore_index: int | None, out: Any = None) -> Any:
    """The negative of `x` (N, C, *S), or (C,), at the classes `target` (N, *S) times their weights, reduced.

    A target that is no class counts as `ignore_index`; the error is raised later, by `launch.raise_pending`.
    """
    classes, inner = _sizes(x.shape)
    x, target = launch.contiguous(x), launch.contiguous(target)
    ignored = _NONE if ignore_index is None else ignore_index
    n, wide = target.size, rows.accumulator(x.dtype)
    each = launch.result(out, target.shape, x.dtype) if reduction == "none" else launch.empty(target.shape, wide)
    if n:
        launch.kernel("nll_loss", f"nll_loss<{launch.ctype(x.dtype)}, {launch.ctype(each.dtype)}>")(
            *launch.grid_1d(n),
            (x, target, *rows.optional(weight, wide, x), each, np.int64(n), np.int64(classes), np.int64(inner), np.int64(ignored),
             launch.error_flag(), _BAD_LABEL),
        )  # fmt: skip
    if reduction == "none":
        return launch.deliver(each, out)
    divisor = None
    if reduction == "mean":
        divisor = label_sums.total_weight(target, weight, wide, ignored, classes) if n else each
    return launch.deliver(label_sums.sum_of_all(each, x.dtype, divisor).reshape(()), out)


def nll_loss_grad(g: Any, target: Any, weight: Any, *, shape: tuple[int, ...], reduction: str, ignore_index: int | None,
                  out: Any = None) -> Any:
    """The gradient of `x` of that `shape`, where `g` is that of its `nll_loss`."""
    classes, inner = _sizes(shape)
    g, target = launch.contiguous(g), launch.contiguous(target)
    ignored = _NONE if ignore_index is None else ignore_index
    n, wide = target.size, rows.accumulator(g.dtype)
    dx = launch.result(out, shape, g.dtype)
    if dx.size:
        mean = reduction == "mean"
        total = label_sums.total_weight(target, weight, wide, ignored, classes) if mean else launch.empty((1,), wide)
        pack = rows.pack(classes, dx) if inner == 1 else 1
        launch.kernel("nll_loss", f"nll_loss_grad<{launch.ctype(g.dtype)}, {pack}>")(
            *launch.grid_1d(dx.size // pack),
            (g, np.int32(reduction != "none"), target, *rows.optional(weight, wide, total), total, np.int32(mean), dx,
             *map(np.int64, (n, classes, inner, ignored))),
        )  # fmt: skip
    return launch.deliver(dx, out)
