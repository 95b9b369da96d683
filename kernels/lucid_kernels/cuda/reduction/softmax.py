"""Softmax and log-softmax along one dimension, with their gradients, on a GPU.

Rows that fit into the registers of a block are read once, up to 16384 elements (backward 8192), of double half as
many, or 4096 (2048) where they are not aligned: forward moves two elements for each, backward three. The rest of longer ones is
read twice, and so are slices with gaps, unless the cache holds them meanwhile.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, rows


def _run(name: str, logarithm: bool, arrays: tuple[Any, ...], dim: int, out: Any) -> Any:
    """Launch `name` over the slices along `dim` of equally shaped arrays."""
    x = arrays[0]
    shape = x.shape
    dim = dim % max(1, x.ndim)
    length = shape[dim] if shape else 1
    inner = math.prod(shape[dim + 1 :])
    arrays = tuple(map(copies.contiguous, arrays))
    y = launch.result(out, shape, x.dtype)
    if x.size:
        slices, kind = x.size // length, launch.ctype(x.dtype)
        arguments = (*arrays, y, np.int32(logarithm), np.int64(slices), np.int64(length))
        if inner == 1:
            pack = rows.pack(length, *arrays, y)
            grid, block = rows.geometry(slices, length, pack, len(arrays))
            kept = rows.packs(length, pack, len(arrays))
            launch.kernel("softmax", f"softmax_rows{name}<{kind}, {pack}, {kept}>")(grid, block, arguments)
        else:
            grid, block = rows.columns(slices, length)
            launch.kernel("softmax", f"softmax_columns{name}<{kind}>")(grid, block, (*arguments, np.int64(inner)))
    return launch.deliver(y, out)


def softmax(x: Any, *, dim: int, out: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `dim`."""
    return _run("", False, (x,), dim, out)


def softmax_grad(g: Any, y: Any, *, dim: int, out: Any = None) -> Any:
    """Gradient of `softmax` from its result."""
    return _run("_grad", False, (g, y), dim, out)


def log_softmax(x: Any, *, dim: int, out: Any = None) -> Any:
    """x - log(sum(exp(x))) along `dim`."""
    return _run("", True, (x,), dim, out)


def log_softmax_grad(g: Any, y: Any, *, dim: int, out: Any = None) -> Any:
    """Gradient of `log_softmax` from its result."""
    return _run("_grad", True, (g, y), dim, out)
