"""The negative log-likelihood of class indices and its gradient, on the CPU: `table(entries)` makes them of other operations.

Steps of arrays in one operation: as operations of their own, they take small batches twice the time.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]

_ALL = {"axis": None, "keepdims": False}


def table(entries: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """The operations, with the other `entries` of the backend."""
    gather, scatter, where = (entries[name] for name in ("gather", "scatter", "where"))

    def weighted(target: Array, weight: Array | None, ignore_index: int | None, dtype: Any) -> tuple[Array, Any, Any]:
        """The class of each target, 0 of ignored ones; which are not ignored, and what they weigh: None where all, and 1."""
        if ignore_index is None:
            return target, None, None if weight is None else weight.take(target)
        valid = target != ignore_index
        classes = where(valid, target, 0)
        return classes, valid, valid.astype(dtype) if weight is None else weight.take(classes) * valid

    def nll_loss(x: Array, target: Array, weight: Array | None, *, reduction: str, ignore_index: int | None) -> Array:
        """The negative of `x` (N, C, *S), or (C,), at the classes `target` (N, *S) times their weights, reduced.

        All targets are classes, but for `ignore_index`, and without one all are.
        """
        shape = target.shape
        if x.ndim == 1:
            x, target = x[None], target.reshape(1)
        classes, valid, weights = weighted(target, weight, ignore_index, x.dtype)
        chosen = gather(x, classes[:, None], axis=1)
        if weights is None and reduction != "none":
            return -entries[reduction](chosen, **_ALL)
        losses = -chosen
        if weights is not None:
            weights = weights[:, None]
            losses = losses * weights
        if valid is not None:  # ignored elements are masked, not multiplied: they may be infinite
            losses = where(valid[:, None], losses, losses.dtype.type(0))
        if reduction == "none":
            return losses.reshape(shape)
        if reduction == "sum":
            return entries["sum"](losses, **_ALL)
        return entries["sum"](losses, **_ALL) / entries["sum"](weights, **_ALL)

    def nll_loss_grad(g: Array, target: Array, weight: Array | None, *, shape: tuple[int, ...], reduction: str,
                      ignore_index: int | None) -> Array:
        """The gradient of `x` of that `shape`, where `g` is that of its `nll_loss`."""
        if len(shape) == 1:
            target, g = target.reshape(1), g.reshape(1)
        classes, valid, weights = weighted(target, weight, ignore_index, g.dtype)
        slopes = -g
        if reduction == "mean":
            slopes = slopes / (g.dtype.type(target.size) if weights is None else entries["sum"](weights, **_ALL))
        if weights is not None:
            slopes = slopes * weights
        if valid is not None:
            slopes = where(valid, slopes, slopes.dtype.type(0))
        result = np.zeros(shape if len(shape) > 1 else (1, *shape), g.dtype)
        scatter(result, classes[:, None], slopes[:, None] if slopes.ndim else slopes, axis=1, out=result)
        return result.reshape(shape)

    return {"nll_loss": nll_loss, "nll_loss_grad": nll_loss_grad}
