"""Cross entropy of class indices, with its gradient, on a GPU.

Logits whose rows fit into the registers of a block are read once and the gradient is written: two elements for each.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.losses import label_sums
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, rows

_FEW = 1024  # labels whose weights each block adds up itself
_NOT, _BY_TOTAL, _BY_SUM = map(np.int32, range(3))
_BAD_LABEL = launch.error_code("cross_entropy: target {value} is out of bounds for {limit} classes")


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
    x, target = copies.contiguous(x), copies.contiguous(target)
    n, wide = target.size, rows.accumulator(x.dtype)
    each = launch.result(out_loss, target.shape, x.dtype) if reduction == "none" else launch.empty(target.shape, wide)
    grad = launch.result(out_grad, x.shape, x.dtype) if with_grad else None
    mean = reduction == "mean" and n > 0
    if n:
        many = mean and n > _FEW
        if many:
            total = label_sums.total_weight(target, weight, wide, ignore_index, classes)
        else:
            total = launch.empty((1,), wide)
        arguments = (
            x, target, *rows.optional(weight, wide, total), each, x if grad is None else grad, np.int32(with_grad), total,
            _BY_TOTAL if many else _BY_SUM if mean else _NOT, np.int64(n), np.int64(classes), np.int64(ignore_index),
            wide.type(label_smoothing), launch.error_flag(), _BAD_LABEL,
        )  # fmt: skip
        kinds = f"{launch.ctype(x.dtype)}, {launch.ctype(each.dtype)}"
        if inner == 1:
            pack = rows.pack(classes, x, grad)
            grid, block = rows.geometry(n, classes, pack)
            launch.kernel("cross_entropy", f"cross_entropy_rows<{kinds}, {pack}>")(grid, block, arguments)
        else:
            grid, block = rows.columns(n, classes)
            launch.kernel("cross_entropy", f"cross_entropy_columns<{kinds}>")(grid, block, (*arguments, np.int64(inner)))
    if reduction == "none":
        loss = each
    elif mean:
        loss = label_sums.sum_of_all(each, x.dtype, total).reshape(())
    else:
        loss = label_sums.sum_of_all(each, x.dtype, each if reduction == "mean" else None).reshape(())
    return launch.deliver(loss, out_loss), None if grad is None else launch.deliver(grad, out_grad)
