"""Scaled dot-product attention and its gradients on a GPU."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lucid_kernels.cuda.attention import flash_attention, problem
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch

_THREADS = 256


def _tile(x: Any) -> int:
    """The queries, keys and columns of a block: `Geometry::TILE`."""
    return 64 if x.dtype == np.float32 else 32


def _launch(name: str, x: Any, heads: int, rows: int, columns: int, arguments: tuple[Any, ...]) -> None:
    """A block for each tile of `rows` of each head and each tile of `columns`."""
    tile = _tile(x)
    grid = (heads * launch.ceil_div(rows, tile), max(1, launch.ceil_div(columns, tile)))
    launch.kernel("attention", f"{name}<{launch.ctype(x.dtype)}>")(grid, (_THREADS,), arguments)


def attention(q: Any, k: Any, v: Any, mask: Any, *, scale: float, is_causal: bool, with_grad: bool,
              out: tuple[Any, ...] | None = None) -> tuple[Any, Any, Any, None]:
    """(softmax(scale q k^T + mask) v, shift, factor, None); see the CPU kernel. Here `shift` is the largest score itself, or the
    largest dot product where `problem.factors` says that scores are these.

    Nothing else is kept `with_grad`: a GPU computes exponentials faster than it reads them.
    """
    kernel = flash_attention.attention if flash_attention.serves(q, v) else _attention
    outs = (out or (None,) * 4)[:3]
    results = kernel(q, k, v, mask, scale=scale, is_causal=is_causal, out=outs)
    return (*map(launch.deliver, results, outs), None)


def attention_grad(g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, shift: Any, factor: Any, powers: Any, *, scale: float,
                   is_causal: bool, out: tuple[Any, ...] | None = None) -> tuple[Any, Any, Any]:
    """(dq, dk, dv) of `attention` from its results, of which `powers` is None; `mask` has no gradient."""
    kernel = flash_attention.attention_grad if flash_attention.serves(q, v) else _attention_grad
    outs = out or (None,) * 3
    results = kernel(g, q, k, v, mask, y, shift, factor, scale=scale, is_causal=is_causal, out=outs)
    return launch.deliver_all(results, out)


def with_dropout(plain: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """`attention_dropout`, which is `attention` with dropout of the probabilities, and its gradient; `plain` serves where tensor
    cores do not.
    """

    @functools.wraps(plain["attention_dropout"])
    def attention_dropout(q: Any, k: Any, v: Any, mask: Any, **attributes: Any) -> Any:
        if not flash_attention.serves(q, v):
            return plain["attention_dropout"](q, k, v, mask, **attributes)
        return _forward(q, k, v, mask, **attributes)

    @functools.wraps(plain["attention_dropout_grad"])
    def attention_dropout_grad(g: Any, q: Any, k: Any, v: Any, mask: Any, *kept: Any, **attributes: Any) -> Any:
        if not flash_attention.serves(q, v):
            return plain["attention_dropout_grad"](g, q, k, v, mask, *kept, **attributes)
        return _backward(g, q, k, v, mask, *kept[:3], **attributes)

    return {"attention_dropout": attention_dropout, "attention_dropout_grad": attention_dropout_grad}


def _forward(*arrays: Any, with_grad: bool, p: float, seed: int, offset: int, out: Any = None, **attributes: Any) -> Any:
    outs = (out or (None,) * 4)[:3]
    results = flash_attention.attention(*arrays, **attributes, out=outs, draw=(p, seed, offset))
    return (*map(launch.deliver, results, outs), None)


def _backward(*arrays: Any, p: float, seed: int, offset: int, out: Any = None, **attributes: Any) -> Any:
    results = flash_attention.attention_grad(*arrays, **attributes, out=out or (None,) * 3, draw=(p, seed, offset))
    return launch.deliver_all(results, out)


@launch.upcast_half(statistics=(1, 2))
def _attention(q: Any, k: Any, v: Any, mask: Any, *, scale: float, is_causal: bool, out: Any = None) -> tuple[Any, Any, Any]:
    """`attention` without tensor cores."""
    q, k, v = map(copies.contiguous, (q, k, v))
    outs = out or (None,) * 3
    y = launch.result(outs[0], (*q.shape[:3], v.shape[3]), q.dtype)
    shift, factor = (launch.result(target, q.shape[:3], q.dtype) for target in outs[1:])
    if shift.size:
        given = problem.arguments(q, k, v, mask, launch.optional(mask, q), q.dtype.type, scale, is_causal)
        arguments = (q, k, v, *given, y, shift, factor)
        _launch("attention", q, q.shape[0] * q.shape[1], q.shape[2], v.shape[3], arguments)
    return y, shift, factor


@launch.upcast_half(like={0: 1, 1: 2, 2: 3})
def _attention_grad(g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, shift: Any, factor: Any, *, scale: float, is_causal: bool,
                    out: Any = None) -> tuple[Any, Any, Any]:
    """`attention_grad` without tensor cores."""
    g, q, k, v, shift, factor = map(copies.contiguous, (g, q, k, v, shift, factor))
    dq, dk, dv = (launch.result(target, x.shape, x.dtype) for target, x in zip(out or (None,) * 3, (q, k, v), strict=True))
    dots = (g * y).sum(-1, dtype=q.dtype)
    given = problem.arguments(q, k, v, mask, launch.optional(mask, q), q.dtype.type, scale, is_causal)
    arguments = (q, k, v, *given, g, shift, factor, dots)
    if dq.size:
        _launch("attention_grad_query", q, q.shape[0] * q.shape[1], q.shape[2], q.shape[3], (*arguments, dq))
    if dk.size or dv.size:
        columns = max(k.shape[3], v.shape[3])
        _launch("attention_grad_key_value", q, k.shape[0] * k.shape[1], k.shape[2], columns, (*arguments, dk, dv))
    return dq, dk, dv
