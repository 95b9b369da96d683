"""Cross entropy of class indices, with its gradient, on a GPU."""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import launch

_CHUNK = 4096  # elements that one block sums
_BAD_LABEL = launch.error_code("cross_entropy: target {value} is out of bounds for {limit} classes")


@launch.upcast_half
def cross_entropy(
    x: Any,
    target: Any,
    weight: Any,
    *,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    with_grad: bool,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """Loss of (N, C, *S) or (C,) logits against class indices, and d(loss)/dx (None without `with_grad`).

    A label out of range counts as ignored; the error is raised later, by `launch.raise_pending`.
    """
    out_loss, out_grad = out or (None, None)
    channel = 1 if x.ndim > 1 else 0
    classes, inner = x.shape[channel], math.prod(x.shape[channel + 1 :])
    x, target = launch.contiguous(x), launch.contiguous(target)
    n = target.size
    real = x.dtype.type
    each = launch.result(out_loss if reduction == "none" else None, target.shape, x.dtype)
    grad = launch.result(out_grad, x.shape, x.dtype) if with_grad else None
    total = each  # a placeholder: a kernel argument is never null
    if reduction == "mean" and n:
        total = sum_of_all(_label_weights(x, target, weight, ignore_index, classes))
    if n:
        rows = inner == 1
        grid, block = launch.slices(n, classes) if rows else launch.grid_1d(n)
        launch.kernel("cross_entropy", f"cross_entropy<{launch.ctype(x.dtype)}, {'true' if rows else 'false'}>")(
            grid,
            block,
            (
                x, target, *launch.optional(weight, x), each, each if grad is None else grad, np.int32(with_grad),
                total, np.int32(reduction == "mean"), np.int64(n), np.int64(classes), np.int64(inner),
                np.int64(ignore_index), real(label_smoothing), launch.error_flag(), _BAD_LABEL,
            ),
        )  # fmt: skip
    if reduction == "none":
        loss = each
    else:
        loss = sum_of_all(each, total if reduction == "mean" else None).reshape(())
    return launch.deliver(loss, out_loss), None if grad is None else launch.deliver(grad, out_grad)


def _label_weights(x: Any, target: Any, weight: Any, ignore_index: int, classes: int) -> Any:
    """The weight of each label, 0 where it is ignored."""
    weights = launch.empty(target.shape, x.dtype)
    grid, block = launch.grid_1d(target.size)
    arguments = (target, *launch.optional(weight, x), weights, np.int64(target.size), np.int64(classes), np.int64(ignore_index))
    launch.kernel("cross_entropy", f"label_weights<{launch.ctype(x.dtype)}>")(grid, block, arguments)
    return weights


def sum_of_all(values: Any, divisor: Any = None) -> Any:
    """The sum of `values` in an array of one element, over `divisor` if given; an order fixed by the size alone."""
    if not values.size:
        return cupy.full((1,), 0.0 if divisor is None else math.nan, values.dtype)
    while True:
        n = values.size
        chunks = launch.ceil_div(n, _CHUNK)
        divide = chunks == 1 and divisor is not None
        sums = launch.empty((chunks,), values.dtype)
        launch.kernel("cross_entropy", f"sum_chunks<{launch.ctype(values.dtype)}>")(
            (chunks,),
            (launch.row_block(min(n, _CHUNK)),),
            (values, sums, np.int64(n), np.int64(_CHUNK), divisor if divide else sums, np.int32(divide)),
        )
        if chunks == 1:
            return sums
        values = sums
