"""Scaled dot-product attention and its gradients on a GPU."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch

_THREADS = 256


def _tile(x: Any) -> int:
    """The queries, keys and columns of a block: `Geometry::TILE`."""
    return 64 if x.dtype == np.float32 else 32


def _problem(q: Any, k: Any, v: Any, mask: Any, scale: float, is_causal: bool) -> tuple[Any, ...]:
    """The arguments that all kernels have."""
    strides = [0] * 4
    if mask is not None:
        steps = (math.prod(mask.shape[1:]), mask.shape[2] * mask.shape[3], mask.shape[3], 1)
        strides = [0 if length == 1 else step for length, step in zip(mask.shape, steps, strict=True)]
    sizes = (q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3])
    scalars = (*map(np.int64, strides), *map(np.int32, sizes), q.dtype.type(scale), np.int32(is_causal))
    return (q, k, v, *launch.optional(mask, q), *scalars)


def _launch(name: str, x: Any, heads: int, rows: int, columns: int, arguments: tuple[Any, ...]) -> None:
    """A block for each tile of `rows` of each head and each tile of `columns`."""
    tile = _tile(x)
    grid = (heads * launch.ceil_div(rows, tile), max(1, launch.ceil_div(columns, tile)))
    launch.kernel("attention", f"{name}<{launch.ctype(x.dtype)}>")(grid, (_THREADS,), arguments)


@launch.upcast_half(statistics=(1, 2))
def attention(q: Any, k: Any, v: Any, mask: Any, *, scale: float, is_causal: bool, with_grad: bool,
              out: tuple[Any, ...] | None = None) -> tuple[Any, Any, Any, None]:
    """(softmax(scale q k^T + mask) v, shift, factor, None); see the CPU kernel. Here `shift` is always the largest score itself.

    Nothing else is kept `with_grad`: a GPU computes exponentials faster than it reads them.
    """
    out_y, out_shift, out_factor, _ = out or (None,) * 4
    q, k, v = map(launch.contiguous, (q, k, v))
    y = launch.result(out_y, (*q.shape[:3], v.shape[3]), q.dtype)
    shift, factor = (launch.result(target, q.shape[:3], q.dtype) for target in (out_shift, out_factor))
    if shift.size:
        arguments = (*_problem(q, k, v, mask, scale, is_causal), y, shift, factor)
        _launch("attention", q, q.shape[0] * q.shape[1], q.shape[2], v.shape[3], arguments)
    return launch.deliver(y, out_y), launch.deliver(shift, out_shift), launch.deliver(factor, out_factor), None


@launch.upcast_half(like={0: 1, 1: 2, 2: 3})
def attention_grad(g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, shift: Any, factor: Any, powers: Any, *, scale: float,
                   is_causal: bool, out: tuple[Any, ...] | None = None) -> tuple[Any, Any, Any]:
    """(dq, dk, dv) of `attention` from its results, of which `powers` is None; `mask` has no gradient."""
    out_dq, out_dk, out_dv = out or (None,) * 3
    g, q, k, v, shift, factor = map(launch.contiguous, (g, q, k, v, shift, factor))
    dq, dk, dv = (launch.result(target, x.shape, x.dtype) for target, x in ((out_dq, q), (out_dk, k), (out_dv, v)))
    arguments = (*_problem(q, k, v, mask, scale, is_causal), g, shift, factor, (g * y).sum(-1, dtype=q.dtype))
    if dq.size:
        _launch("attention_grad_query", q, q.shape[0] * q.shape[1], q.shape[2], q.shape[3], (*arguments, dq))
    if dk.size or dv.size:
        columns = max(k.shape[3], v.shape[3])
        _launch("attention_grad_key_value", q, k.shape[0] * k.shape[1], k.shape[2], columns, (*arguments, dk, dv))
    return launch.deliver_all((dq, dk, dv), out)
