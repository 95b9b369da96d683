"""Attention with dropout, where no kernel has it: the whole matrix of probabilities, on NumPy or CuPy."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any, kernels: dict[str, Kernel]) -> dict[str, Kernel]:
    """`attention_dropout` and its gradient, of the operations `matmul`, `softmax` and `dropout` of a backend."""

    def probabilities(q: Array, k: Array, mask: Array | None, scale: float, is_causal: bool) -> Array:
        """softmax(scale q k^T + mask); zeros for a query that sees no key."""
        scores = kernels["matmul"](q * scale, k, transpose_b=True)
        if mask is not None:
            scores = scores + mask.astype(scores.dtype)
        if is_causal:
            scores = xp.where(xp.tri(*scores.shape[2:], dtype=bool), scores, scores.dtype.type(-math.inf))
        if mask is None or not scores.shape[3]:
            return kernels["softmax"](scores, dim=3)
        blind = (scores == -math.inf).all(-1, keepdims=True)
        zero = scores.dtype.type(0)
        return xp.where(blind, zero, kernels["softmax"](xp.where(blind, zero, scores), dim=3))

    def per_head(x: Array, heads: int) -> Array:
        return x if x.shape[1] == heads else x.repeat(heads // x.shape[1], 1)

    def attention_dropout(q: Array, k: Array, v: Array, mask: Array | None, *, scale: float, is_causal: bool, with_grad: bool,
                          p: float, seed: int, offset: int, out: Any = None) -> tuple[Array, None, None, Array | None]:
        """`attention` in which a share `p` of the probabilities is dropped, as `dropout` does it to all of them.

        What is kept for the gradient are the probabilities.
        """
        heads = q.shape[1]
        found = probabilities(wide(q), wide(per_head(k, heads)), mask, scale, is_causal)
        y = kernels["matmul"](kernels["dropout"](found, p=p, seed=seed, offset=offset), wide(per_head(v, heads)))
        return _delivered((y,), (q,), None if out is None else out[:1])[0], None, None, found if with_grad else None

    def attention_dropout_grad(g: Array, q: Array, k: Array, v: Array, mask: Array | None, y: Array, shift: None, factor: None,
                               found: Array, *, scale: float, is_causal: bool, p: float, seed: int, offset: int, out: Any = None
                               ) -> tuple[Array, ...]:
        """(dq, dk, dv) of `attention_dropout` from its results."""
        heads, matmul = q.shape[1], kernels["matmul"]
        draw = {"p": p, "seed": seed, "offset": offset}
        upstream = kernels["dropout"](matmul(wide(g), wide(per_head(v, heads)), transpose_b=True), **draw)
        scores = found * (upstream - (upstream * found).sum(-1, keepdims=True)) * scale
        gradients = [matmul(scores, wide(per_head(k, heads))), matmul(scores, wide(q), transpose_a=True),
                     matmul(kernels["dropout"](found, **draw), wide(g), transpose_a=True)]
        batch, groups = k.shape[:2]
        if heads != groups:
            gradients[1:] = [d.reshape(batch, groups, heads // groups, *d.shape[2:]).sum(2) for d in gradients[1:]]
        return _delivered(tuple(gradients), (q, k, v), out)

    return {"attention_dropout": attention_dropout, "attention_dropout_grad": attention_dropout_grad}


def _delivered(results: tuple[Array, ...], like: tuple[Array, ...], out: Any) -> tuple[Array, ...]:
    """The results in the dtypes of `like`, in `out` where that is given."""
    given = []
    for result, model, target in zip(results, like, out or (None,) * len(results), strict=True):
        if target is None:
            given.append(result.astype(model.dtype) if model.dtype in HALVES else result)
        else:
            target[...] = result
            given.append(target)
    return tuple(given)
