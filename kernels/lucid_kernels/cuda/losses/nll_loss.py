"""The negative log-likelihood of class indices, and its gradient, on a GPU: see `nll_loss.cu`.

Forward reads one element for each label, backward writes every element of the gradient once. A sum or a mean is one launch, of
more than a chunk of labels two; the gradient is one, of the mean of more than a few labels two.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.losses import label_sums
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, rows

_BAD_LABEL = launch.error_code("Target {value} is out of bounds.")
_NONE = np.iinfo(np.int64).min  # no label
_CHUNK = 1024  # labels that one block adds up
_FEW = 4096  # labels whose weights each block of the gradient adds up: reads of the cache, where another kernel is a launch
_BLOCKS_PER_MULTIPROCESSOR = 4


def _sizes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The number of classes, and how far apart those of one label lie."""
    return shape[min(1, len(shape) - 1)], math.prod(shape[2:])


def nll_loss(x: Any, target: Any, weight: Any, *, reduction: str, ignore_index: int | None, out: Any = None) -> Any:
    """The negative of `x` (N, C, *S), or (C,), at the classes `target` (N, *S) times their weights, reduced.

    A target that is no class counts as `ignore_index`; the error is raised later, by `launch.raise_pending`.
    """
    classes, inner = _sizes(x.shape)
    x, target = copies.contiguous(x), copies.contiguous(target)
    n, wide, kind = target.size, rows.accumulator(x.dtype), launch.ctype(x.dtype)
    last = *map(np.int64, (classes, inner, _NONE if ignore_index is None else ignore_index)), launch.error_flag(), _BAD_LABEL
    if reduction == "none":
        each = launch.result(out, target.shape, x.dtype)
        if n:
            launch.kernel("nll_loss", f"nll_loss<{kind}>")(
                *launch.grid_1d(n), (x, target, *rows.optional(weight, wide, x), each, np.int64(n), *last))
        return launch.deliver(each, out)
    loss, divide, chunks = launch.result(out, (), x.dtype), np.int32(reduction == "mean"), launch.ceil_div(n, _CHUNK)
    sums = launch.empty((2 * chunks if chunks > 1 else 1,), wide)
    if n:
        launch.kernel("nll_loss", f"nll_sums<{kind}>")(
            (chunks,), (launch.row_block(min(n, _CHUNK)),),
            (x, target, *rows.optional(weight, wide, sums), sums, loss, divide, np.int64(n), np.int64(_CHUNK), *last))
    if chunks != 1:
        launch.kernel("nll_loss", f"nll_total<{kind}>")((1,), (launch.BLOCK,), (sums, loss, divide, np.int64(chunks)))
    return launch.deliver(loss, out)


def nll_loss_grad(g: Any, target: Any, weight: Any, *, shape: tuple[int, ...], reduction: str, ignore_index: int | None,
                  out: Any = None) -> Any:
    """The gradient of `x` of that `shape`, where `g` is that of its `nll_loss`."""
    classes, inner = _sizes(shape)
    g, target = copies.contiguous(g), copies.contiguous(target)
    ignored = _NONE if ignore_index is None else ignore_index
    n, wide = target.size, rows.accumulator(g.dtype)
    dx = launch.result(out, shape, g.dtype)
    if dx.size:
        divide = reduction == "mean"
        many = divide and n > _FEW
        parts = label_sums.weights_of_chunks(target, weight, wide, ignored, classes) if many else launch.empty((1,), wide)
        pack = rows.pack(classes, dx) if inner == 1 else 1
        (grid,), block = launch.grid_1d(dx.size // pack)
        if divide and not many:  # blocks that all look at the labels
            grid = min(grid, _BLOCKS_PER_MULTIPROCESSOR * launch.multiprocessors())
        launch.kernel("nll_loss", f"nll_loss_grad<{launch.ctype(g.dtype)}, {pack}>")(
            (grid,), block,
            (g, np.int32(reduction != "none"), target, *rows.optional(weight, wide, parts), parts,
             np.int64(parts.size if many else 0), np.int32(divide), dx, *map(np.int64, (n, classes, inner, ignored))),
        )  # fmt: skip
    return launch.deliver(dx, out)
