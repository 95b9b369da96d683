"""Scaled dot-product attention: a fused kernel that keeps no large matrix of probabilities, and the same in operations.

The operations do what the kernel does not: a gradient for the mask, and gradients of gradients. They compute half precision in
float32, as the kernel does. Dropout is part of the kernels for tensor cores; elsewhere its operation keeps the probabilities.
"""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed, is_grad_enabled
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._operands import is_differentiated
from ..creation.creation import ones
from ..elementwise.where import where
from ..linalg.matmul import check_batches, matmul
from ..manipulation.broadcasting import broadcast_shapes
from ..manipulation.repetition import repeat_interleave
from ..random.dropout import draw, dropped
from .activation import softmax
from .normalization import wide

__all__ = ()  # a function of nn.functional only
_HALVES = ("float16", "bfloat16")


# ---- the fused operations: q (B, H, L, E), k (B, G, S, E), v (B, G, S, V), H a multiple of G -----------------------------
def _fused(name: str) -> Op:
    """The operation `name`, whose gradient is `name`_grad; with dropout both have the attributes `p`, `seed` and `offset`."""
    def rule(needs: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, scale: float, is_causal: bool, with_grad: bool,
             **draw: Any) -> Vjp:
        needs = needs[:3]

        def vjp(g: Tensor, kept: Any) -> tuple[Any, ...]:
            if is_composed():
                gradients = _composed_gradients(g, q, k, v, mask, scale, is_causal, draw)
            else:
                gradients = gradient(g, q, k, v, mask, *kept, scale=scale, is_causal=is_causal, **draw)
            return (*[gradient if needed else None for gradient, needed in zip(gradients, needs, strict=True)], None)

        return vjp

    gradient = operation(f"{name}_grad")
    return operation(name, rule, saved_outputs=(0, 1, 2, 3), outputs=(0,))


_attention = _fused("attention")
_attention_dropout = _fused("attention_dropout")


# ---- the same in operations ------------------------------------------------------------------------------------------------
def _composed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, is_causal: bool, dropout_p: float) -> Tensor:
    heads = q._array.shape[1]
    probabilities = _probabilities(wide(q), wide(_per_head(k, heads)), mask, scale, is_causal)
    if dropout_p > 0:
        probabilities = dropped(probabilities, **draw(probabilities, probabilities._array.size, dropout_p))
    return matmul(probabilities, wide(_per_head(v, heads))).to(q.dtype)


def _composed_gradients(g: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, is_causal: bool,
                        drawn: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients as differentiable functions of g, q, k and v; `drawn` are the attributes of dropout, if there is any."""
    (batch, groups), heads = k._array.shape[:2], q._array.shape[1]
    g, wide_q, wide_k, wide_v = wide(g), wide(q), wide(_per_head(k, heads)), wide(_per_head(v, heads))
    probabilities = _probabilities(wide_q, wide_k, mask, scale, is_causal)
    upstream, kept = matmul(g, wide_v.mT), probabilities
    if drawn:
        upstream, kept = dropped(upstream, **drawn), dropped(probabilities, **drawn)
    scores = probabilities * (upstream - (upstream * probabilities).sum(-1, keepdim=True)) * scale
    dq, dk, dv = matmul(scores, wide_k), matmul(scores.mT, wide_q), matmul(kept.mT, g)
    if heads != groups:
        dk, dv = (d.reshape(batch, groups, heads // groups, *d._array.shape[2:]).sum(2) for d in (dk, dv))
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def _probabilities(q: Tensor, k: Tensor, mask: Tensor | None, scale: float, is_causal: bool) -> Tensor:
    """softmax(scale q k^T + mask); zeros for a query that sees no key."""
    scores = matmul(q * scale, k.mT)
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    if is_causal:
        scores = where(ones(scores._array.shape[2:], dtype=_dtypes.bool_, device=q.device).tril(), scores, -math.inf)
    if mask is None or not scores._array.shape[3]:
        return softmax(scores, -1)
    blind = (scores == -math.inf).all(-1, keepdim=True)
    # The inner `where` keeps the NaN of a softmax over nothing out of the gradients too.
    return where(blind, 0.0, softmax(where(blind, 0.0, scores), -1))


def _per_head(x: Tensor, heads: int) -> Tensor:
    """Keys or values of each group (B, G, S, E) repeated for each head of queries: (B, heads, S, E)."""
    groups = x._array.shape[1]
    return x if groups == heads else repeat_interleave(x, heads // groups, 1)


# ---- the public function ---------------------------------------------------------------------------------------------------
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """``softmax(query @ key.mT * scale + mask) @ value``, tile by tile, so that the scores are never in memory as a whole.

    `query` is (*, L, E), `key` (*, S, E) and `value` (*, S, V), of one floating-point dtype; the leading dimensions
    broadcast; the result is (*, L, V). `attn_mask` broadcasts to (*, L, S): a bool mask is True where a query may look, a
    floating one is added to the scores and has the dtype of `query`, or float32. With `is_causal`, query i sees keys 0 to i,
    and there is no other mask. `scale` is 1 / sqrt(E) by default. With `dropout_p` above 0 that share of the probabilities is
    dropped, also outside of training. With `enable_gqa`, `query` has a multiple of the heads (dimension -3) of `key` and of
    `value`: consecutive heads share one.

    A query that sees no key gets zeros. float16 is computed in float32. A mask that requires a gradient, gradients of gradients,
    and dropout but on tensor cores take the whole matrix of scores.

    Raises RuntimeError for dtypes, shapes and masks that do not fit and IndexError for a mask of less than two dimensions.

    Sources: Vaswani et al., "Attention is all you need", 2017; Dao et al., "FlashAttention", 2022; for grouped heads Ainslie
    et al., "GQA", 2023.

    >>> query = key = value = lucid.randn(2, 4, 5, 8)  # (batch, heads, positions, features)
    >>> F.scaled_dot_product_attention(query, key, value, is_causal=True).shape
    lucid.Size([2, 4, 5, 8])
    """
    _check(query, key, value, attn_mask, dropout_p, is_causal)
    (*_, length, width), shape = query._array.shape, query._array.shape
    if enable_gqa:
        key, value = _as_many_groups(query, key, value)
    if not shape[:-2] == key._array.shape[:-2] == value._array.shape[:-2]:
        query, key, value = _broadcast(query, key, value, enable_gqa)
        shape = query._array.shape
    # An empty product is 0 and not 0 * inf.
    factor = (1 / math.sqrt(width) if width else 1.0) if scale is None else float(scale)
    mask = None if attn_mask is None else _as_scores(attn_mask, query, key)
    q, k, v = (x if x._array.ndim == 4 else _as_heads(x) for x in (query, key, value))
    if is_differentiated(mask):
        result = _composed(q, k, v, mask, factor, is_causal, dropout_p)
    else:
        attributes = {"scale": factor, "is_causal": is_causal,
                      "with_grad": not (q._node is k._node is v._node is None) and is_grad_enabled()}
        scores = math.prod(q._array.shape[:3]) * k._array.shape[2]
        if dropout_p > 0 and scores:
            result = _attention_dropout(q, k, v, mask, **attributes, **draw(q, scores, dropout_p))[0]
        else:
            result = _attention(q, k, v, mask, **attributes)[0]
    return result if len(shape) == 4 else result.reshape(*shape[:-2], length, value._array.shape[-1])


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool) -> None:
    for position, (name, tensor) in enumerate((("query", query), ("key", key), ("value", value), ("attn_mask", mask)), 1):
        if not isinstance(tensor, Tensor) and (name != "attn_mask" or tensor is not None):
            raise TypeError(f"scaled_dot_product_attention(): argument '{name}' (position {position}) must be Tensor, not "
                            f"{type(tensor).__name__}")
    q, k, v = query._array, key._array, value._array
    if not q.dtype == k.dtype == v.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{type_name(q.dtype)} key.dtype: {type_name(k.dtype)} and value.dtype: {type_name(v.dtype)} "
                           "instead.")
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
                           f"{q.ndim} key.dim: {k.ndim} and value.dim: {v.ndim} instead.")
    if not _dtypes.is_floating(q.dtype):
        error = NotImplementedError if q.dtype.kind == "c" else RuntimeError
        raise error(f"scaled_dot_product_attention: expected scalar type Float but found {type_name(q.dtype)}")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise RuntimeError("scaled_dot_product_attention: query (*, L, E), key (*, S, E) and value (*, S, V) do not fit: "
                           f"{list(q.shape)}, {list(k.shape)} and {list(v.shape)}")
    if dropout_p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if mask is None:
        return
    if is_causal:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    m = mask._array
    if m.dtype.name not in ("bool", "float32") and m.dtype != q.dtype:
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                           f"{type_name(m.dtype)} and  query.dtype: {type_name(q.dtype)} instead.")
    if m.ndim < 2:
        raise IndexError(f"Dimension out of range: attn_mask must have at least 2 dimensions (L, S), but has {m.ndim}")


def _as_many_groups(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Key and value with one number of heads, of which that of the query is a multiple."""
    if min(t._array.ndim for t in (query, key, value)) < 3:
        raise IndexError("Dimension out of range: with enable_gqa, query, key and value need heads as dimension -3")
    heads, groups, others = (t._array.shape[-3] for t in (query, key, value))
    if any(n != heads and (n == 0 or heads % n) for n in (groups, others)):
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query, but they are "
                           f"{groups}, {others} and {heads}")
    if groups == others:
        return key, value
    return repeat_interleave(key, heads // groups, -3), repeat_interleave(value, heads // others, -3)


def _broadcast(query: Tensor, key: Tensor, value: Tensor, grouped: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The three with the same leading dimensions; the number of heads stays where it may differ."""
    kept = -3 if grouped else -2
    batches = [t._array.shape[:kept] for t in (query, key, value)]
    for batch in batches[1:]:
        check_batches(batches[0], batch)
    common = broadcast_shapes(*batches)
    query, key, value = (t.expand(*common, *t._array.shape[kept:]) for t in (query, key, value))
    return query, key, value


def _as_scores(mask: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """`mask` as what is added to the scores (B, H, L, S), each length that of the scores or 1."""
    shape = (*query._array.shape[:-1], key._array.shape[-2])
    given = mask._array.shape
    check_batches(shape, given)
    if broadcast_shapes(shape, given) != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape "
                           f"{list(broadcast_shapes(shape, given))}")
    if mask._array.dtype.kind == "b":
        dtype = query.dtype if query.dtype == _dtypes.float64 else _dtypes.float32
        mask = where(mask, 0.0, -math.inf).to(dtype)
    elif query.dtype == _dtypes.float64:
        mask = mask.to(_dtypes.float64)
    given = (1,) * (len(shape) - len(given)) + given
    if math.prod(given[:-3]) != 1:
        mask = mask.expand(*shape[:-3], *given[-3:])
    return _as_heads(mask)


def _as_heads(x: Tensor) -> Tensor:
    """(*, L, E) as (B, H, L, E)."""
    shape = x._array.shape
    if len(shape) == 4:
        return x
    *batch, heads = shape[:-2] or (1,)
    return x.reshape(math.prod(batch), heads, *shape[-2:])
