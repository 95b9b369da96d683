"""Sums over labels on a GPU: see `label_sums.cu`."""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import launch

_CHUNK = 4096  # elements that one block sums


def _geometry(n: int) -> tuple[int, tuple[int], tuple[int]]:
    """The number of chunks, grid and block."""
    chunks = launch.ceil_div(n, _CHUNK)
    return chunks, (chunks,), (launch.row_block(min(n, _CHUNK)),)


def total_weight(target: Any, weight: Any, dtype: Any, ignore_index: int, classes: int) -> Any:
    """The sum of the weights of all labels, in an array (1,) of `dtype`; those that are ignored have none."""
    sums = weights_of_chunks(target, weight, dtype, ignore_index, classes)
    return sums if sums.size == 1 else sum_of_all(sums, dtype)


def weights_of_chunks(target: Any, weight: Any, dtype: Any, ignore_index: int, classes: int) -> Any:
    """The terms of `total_weight`: one for each chunk of labels."""
    chunks, grid, block = _geometry(target.size)
    sums = launch.empty((chunks,), dtype)
    launch.kernel("label_sums", f"label_weights<{launch.ctype(dtype)}>")(
        grid, block, (target, *launch.optional(weight, sums), sums, np.int64(target.size), np.int64(_CHUNK), np.int64(classes),
                      np.int64(ignore_index)),
    )  # fmt: skip
    return sums


def sum_of_all(values: Any, dtype: Any, divisor: Any = None) -> Any:
    """The sum of `values` in an array (1,) of `dtype`, over `divisor` if given; an order fixed by the size alone."""
    if not values.size:
        return cupy.full((1,), 0.0 if divisor is None else math.nan, dtype)
    while True:
        n = values.size
        chunks, grid, block = _geometry(n)
        last = chunks == 1
        sums = launch.empty((chunks,), dtype if last else values.dtype)
        divide = last and divisor is not None
        launch.kernel("label_sums", f"sum_chunks<{launch.ctype(values.dtype)}, {launch.ctype(sums.dtype)}>")(
            grid, block, (values, sums, np.int64(n), np.int64(_CHUNK), divisor if divide else values, np.int32(divide)),
        )  # fmt: skip
        if last:
            return sums
        values = sums
