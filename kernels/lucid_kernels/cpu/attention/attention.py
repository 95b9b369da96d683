"""Scaled dot-product attention and its gradient, tile by tile: the scores of a tile never leave the L2 cache.

Forward, a block of queries walks over the tiles of the keys and keeps a running maximum and sum for each query (Milakov and
Gimelshein 2018); these two it saves for the gradient, not the probabilities: their logarithm's sum would round the second away
where all scores are as low as the masks of language models are. The gradient computes the exponentials again, tile by tile (Dao
et al., "FlashAttention", 2022), and multiplies the rows of g by 1 / their sum. For short sequences without a causal mask, or few
queries, a block takes all keys at once, and the exponentials, *powers*, are kept: then the gradient makes four products instead
of five, no exponential and no mask. The order of every sum depends on the shapes only, not on the number of threads.

A *head* is one head of queries in one sample, numbered over both; a *group* is a head of keys and values with the `repeats`
heads of queries that read it. Rows may lie apart, as those of the heads in one projection do.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from ..runtime import tuning
from ..runtime.allocator import empty
from ..simd.aligned import aligned, whole_vectors
from ..simd.cpu_features import VECTOR_BYTES
from .backward import backward
from .decode import forward_decode
from .forward import forward
from .tiles import KEYS, LOG2_E, QUERIES, layout, whole_runs

# With fewer heads than this, the queries of a head go to several tasks, and for the gradient the tiles of its keys, each with its
# own sum of the gradient of q.
_TASKS = 16


def _like(x: Array, shape: tuple[int, ...]) -> Array:
    """A new array (B, H, L, V) in whose memory samples, heads and rows have the order of `x`, as PyTorch's result does."""
    sample, head, row, _ = x.strides
    if sample >= head >= row:
        return empty(shape, x.dtype)
    order = sorted(range(3), key=lambda dim: -x.strides[dim])
    memory = empty((*(shape[dim] for dim in order), shape[3]), x.dtype)
    return memory.transpose(*(order.index(dim) for dim in range(3)), 3)


def _masks(mask: Array | None, q: Array, keys: int) -> tuple[Array, Array]:
    """The different masks (count, 1 or queries, keys) and the index of each head's; no indices without a mask.

    Both can be written, though nobody does: for arrays that can only be read, such as expanded ones, the kernels would be
    recompiled.
    """
    if mask is None:
        return _no_masks(q.dtype)
    rows = contiguous(mask if mask.shape[3] == keys else np.broadcast_to(mask, (*mask.shape[:3], keys)))
    rows = rows.astype(q.dtype, copy=not rows.flags.writeable).reshape(math.prod(mask.shape[:2]), mask.shape[2], keys)
    indices = np.empty(q.shape[:2], np.int64)
    indices[...] = np.arange(len(rows)).reshape(mask.shape[:2])
    return rows, indices.reshape(-1)


def _powers(q: Array, keys: int) -> Array:
    """Room for what the forward pass keeps: as many scalars for each query as it has keys, and a vector.

    Without that rows may lie a power of two apart, where they push each other out of the caches.
    """
    lanes = VECTOR_BYTES // q.itemsize
    batch, heads, queries, _ = q.shape
    shape = batch * heads, whole_vectors(queries, q.itemsize), whole_runs(keys) + lanes
    return aligned(math.prod(shape), q.dtype).reshape(shape)


@functools.cache  # arrays without elements: small calls take 0.5 us less
def _no_masks(dtype: np.dtype) -> tuple[Array, Array]:
    return np.empty((1, 1, 0), dtype), np.empty(0, np.int64)


@functools.cache
def _nothing(dtype: np.dtype) -> Array:
    """What stands for powers that are not kept."""
    return np.empty((0, 0, 0), dtype)


def _scale(scale: float, mask: Array | None) -> float:
    """The factor of the scores: without a mask they are exponents of two."""
    return scale * LOG2_E if mask is None else scale


@upcast_half(results=(0, None, None, None))
def attention(q: Array, k: Array, v: Array, mask: Array | None, *, scale: float, is_causal: bool, with_grad: bool,
              out: tuple[Array | None, ...] | None = None) -> tuple[Array, Array, Array, Array | None]:
    """(softmax(scale q k^T + mask) v, shift, factor, powers): the probabilities are exp(scale q k^T + mask - shift) * factor.

    q is (B, H, L, E), k (B, G, S, E) and v (B, G, S, V) with H a multiple of G: head h of q goes with head h // (H / G). The
    results are (B, H, L, V), in memory in the order of q, and (B, H, L). `mask`, of the dtype of q, is (B, H, L, S) or has ones
    in their places. With `is_causal` query i sees keys 0 to i. `shift` is the largest score of a query, without a mask times
    log2(e). A query that sees no key gets zeros, +inf and 0. `powers` are the exponentials, which the gradient would otherwise
    compute again, or None: without `with_grad`, and where that is no faster or takes much memory.
    """
    (batch, heads, queries, _), (_, groups, keys, width) = q.shape, v.shape
    out_y, out_shift, out_factor, _ = outputs(out, 4)
    (q, q_layout), (k, k_layout), (v, v_layout) = layout(q), layout(k), layout(v)
    y = _like(q, (batch, heads, queries, width))
    shift, factor = (result(target, (batch, heads, queries), q.dtype) for target in (out_shift, out_factor))
    few = queries <= tuning.ATTENTION_FEW_QUERIES and not is_causal
    short = 0 < keys <= tuning.ATTENTION_KEPT_KEYS * q.shape[3] and q.shape[3] >= tuning.ATTENTION_KEPT_WIDTH
    keeps = with_grad and not is_causal and ((few and keys > 0) or short)
    powers = _powers(q, keys) if keeps else _nothing(q.dtype)
    if shift.size:
        operands = (q_layout, heads, batch * heads, queries, q.shape[3], k_layout, v_layout, groups, keys, width,
                    *_masks(mask, q, keys), q.dtype.type(_scale(scale, mask)))
        rows = shift.reshape(batch * heads, queries), factor.reshape(batch * heads, queries)
        if few:
            forward_decode(*operands, layout(y)[1], powers, *rows)
        else:
            tasks = min(-(-_TASKS // (batch * heads)), -(-queries // QUERIES))  # more would prepare keys for no queries
            forward(*operands, is_causal, tasks, layout(y)[1], powers, *rows)
    return deliver(out_y, y), deliver(out_shift, shift), deliver(out_factor, factor), powers if keeps else None


@upcast_half(results=(1, 2, 3))
def attention_grad(g: Array, q: Array, k: Array, v: Array, mask: Array | None, y: Array, shift: Array, factor: Array,
                   powers: Array | None, *, scale: float, is_causal: bool, out: tuple[Array | None, ...] | None = None
                   ) -> tuple[Array, Array, Array]:
    """(dq, dk, dv) of `attention` from its results; `mask` has no gradient."""
    (batch, heads, queries, width), (_, groups, keys, _) = q.shape, k.shape
    out_dq, out_dk, out_dv = outputs(out, 3)
    (g, g_layout), (q, q_layout), (y, y_layout), (k, k_layout), (v, v_layout) = (layout(x) for x in (g, q, y, k, v))
    count = batch * groups
    tasks = min(max(1, _TASKS // max(1, count)), max(1, -(-keys // KEYS)))
    sums = empty((tasks, batch * heads, queries, width), q.dtype)
    dk, dv = result(out_dk, k.shape, k.dtype), result(out_dv, v.shape, v.dtype)
    if count and heads:
        backward(g_layout, q_layout, y_layout, heads, count, queries, width, k_layout, v_layout, groups, keys, v.shape[3],
                 *_masks(mask, q, keys), q.dtype.type(_scale(scale, mask)), q.dtype.type(scale), is_causal,
                 *(contiguous(x).reshape(batch * heads, queries) for x in (shift, factor)),
                 _nothing(q.dtype) if powers is None else powers, sums,
                 dk.reshape(count, *k.shape[2:]), dv.reshape(count, *v.shape[2:]))
    total = sums[0] if tasks == 1 else sums.sum(0)
    return deliver(out_dq, total.reshape(q.shape)), deliver(out_dk, dk), deliver(out_dv, dv)
