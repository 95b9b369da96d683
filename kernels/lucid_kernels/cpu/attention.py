"""Scaled dot-product attention and its gradient, tile by tile: the scores of a tile never leave the L2 cache.

Forward, a block of queries walks over the tiles of the keys and keeps a running maximum and sum for each query (Milakov and
Gimelshein 2018); what it saves for the gradient is the logarithm of the sum of exponentials, not the probabilities. The
gradient computes them again, tile by tile (Dao et al., "FlashAttention", 2022). The order of every sum depends on the shapes
only, not on the number of threads.

A *head* is one head of queries in one sample, numbered over both; a *group* is a head of keys and values with the `repeats`
heads of queries that it serves.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from . import _math
from ._compile import jit, jit_parallel
from ._layout import Array, contiguous, deliver, outputs, result, upcast_half
from ._microkernels import VECTOR_BYTES
from ._panels import pointer, transpose_block
from ._pool import empty
from ._products import COLUMN_BLOCK_BYTES, ROW_BLOCK, multiply, multiply_transposed

# A tile of the scores is 64 x 128: 32 KiB in float32. Smaller ones spend their time on the edges of the products, larger
# ones leave the L1 cache.
_QUERIES = 64
_KEYS = 128
# With fewer groups than this, the tiles of a group's keys go to several tasks, each with its own sum of the gradient of q.
_TASKS = 16


@jit
def _transpose(rows: Any, target: Any, start: int) -> None:
    """target[:, j] = rows[start + j], zero where there are no more rows; whole vectors of columns, both C-contiguous.

    Blocks of shuffles take a fifth of the time of LLVM's loop, which gathers.
    """
    width, length, item = rows.shape[1], target.shape[1], rows.itemsize
    stop, lanes = min(rows.shape[0] - start, length), VECTOR_BYTES // item
    whole = stop - stop % lanes
    for j in range(0, whole, lanes):
        for d in range(0, width, lanes):
            source = pointer(rows, rows.ctypes.data + ((start + j) * width + d) * item)
            transpose_block(source, width, pointer(rows, target.ctypes.data + (d * length + j) * item), length)
    for d in range(width if whole < length else 0):
        line = target[d]
        for j in range(whole, stop):
            line[j] = rows[start + j, d]
        for j in range(stop, length):
            line[j] = 0


@jit_parallel
def _transpose_tiles(x: Any, tiles: Any) -> None:
    """tiles[n, t] is the transposed tile t of the rows of x[n]."""
    count = tiles.shape[1]
    for i in numba.prange(tiles.shape[0] * count):
        n, t = i // count, i % count
        _transpose(x[n], tiles[n, t], t * _KEYS)


@jit
def _add_mask(scores: Any, mask: Any, scale: Any) -> None:
    for c in range(scores.shape[0]):
        scores[c] = scores[c] * scale + mask[c]


@jit
def _scale(scores: Any, scale: Any) -> None:
    for c in range(scores.shape[0]):
        scores[c] *= scale


@jit
def _row_maximum(row: Any) -> Any:
    largest = row[0]
    for c in range(row.shape[0]):
        largest = _math.maximum(largest, row[c])
    return largest


@jit
def _exponentials(row: Any, shift: Any) -> Any:
    """row = exp(row - shift); returns the sum."""
    total = row.dtype.type(0)
    for c in range(row.shape[0]):
        e = _math.exp(row[c] - shift)
        row[c] = e
        total += e
    return total


@jit
def _visible(key: int, keys: int, query: int, is_causal: bool) -> int:
    """How many of the `keys` keys of the tile that starts at `key` the query sees."""
    return max(0, min(keys, query - key + 1)) if is_causal else keys


@jit
def _forward_block(q: Any, tiles: Any, v: Any, mask: Any, has_mask: bool, scale: Any, is_causal: bool, query: int, out: Any,
                   lse: Any, scores: Any, largest: Any, total: Any) -> None:
    """`out` and `lse` of the queries q, the first of which is number `query`; q and out are slices of whole row blocks."""
    rows, keys, zero = q.shape[0], v.shape[0], q.dtype.type(0)
    largest[:] = -np.inf
    total[:] = zero
    for t in range(tiles.shape[0]):
        key = t * _KEYS
        seen = _visible(key, min(_KEYS, keys - key), query + rows - 1, is_causal)
        if seen == 0:
            break
        multiply(q, tiles[t], scores, rows, seen, q.shape[1], False)
        for r in range(rows):
            visible = _visible(key, seen, query + r, is_causal)
            row = scores[r][:visible]
            if has_mask:
                _add_mask(row, mask[min(query + r, mask.shape[0] - 1)][key : key + visible], scale)
            else:
                _scale(row, scale)
            top = largest[r]
            if visible > 0:
                top = _math.maximum(top, _row_maximum(row))
            shift = zero if top == -np.inf else top  # nothing to see so far: exp(-inf - 0) is 0, exp(-inf + inf) is not
            kept = _math.exp(largest[r] - shift)
            largest[r] = top
            total[r] = total[r] * kept + _exponentials(row, shift)
            scores[r][visible:seen] = zero
            if t > 0 and kept != 1:
                _scale(out[r], kept)
        multiply(scores, v[key : key + seen], out, rows, out.shape[1], seen, t > 0)
    for r in range(rows):
        if largest[r] == -np.inf:  # a query that sees nothing gets zeros, and so do its gradients
            out[r] = zero
            lse[r] = np.inf
        else:
            _scale(out[r], q.dtype.type(1) / total[r])
            lse[r] = largest[r] + math.log(total[r])


@jit_parallel
def _forward(q: Any, tiles: Any, v: Any, mask: Any, mask_of: Any, repeats: int, scale: Any, is_causal: bool, out: Any, lse: Any
             ) -> None:
    blocks = (q.shape[1] + _QUERIES - 1) // _QUERIES
    for i in numba.prange(q.shape[0] * blocks):
        n = i // blocks
        query = i % blocks * _QUERIES
        part = slice(query, min(query + _QUERIES, q.shape[1]))
        scores = np.empty((_QUERIES, _KEYS), q.dtype)
        largest = np.empty(_QUERIES, q.dtype)
        total = np.empty(_QUERIES, q.dtype)
        has_mask = mask_of.shape[0] > 0
        _forward_block(q[n, part], tiles[n // repeats], v[n // repeats], mask[mask_of[n] if has_mask else 0], has_mask, scale,
                       is_causal, query, out[n, part], lse[n, part], scores, largest, total)


@jit
def _probabilities(row: Any, lse: Any) -> None:
    for c in range(row.shape[0]):
        row[c] = _math.exp(row[c] - lse)


@jit
def _score_gradients(probabilities: Any, gradients: Any, dot: Any, scale: Any) -> None:
    """gradients = probabilities * (gradients - dot) * scale."""
    for c in range(gradients.shape[0]):
        gradients[c] = probabilities[c] * (gradients[c] - dot) * scale


@jit
def _dot(a: Any, b: Any) -> Any:
    total = a.dtype.type(0)
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@jit
def _add(a: Any, b: Any) -> None:
    for r in range(a.shape[0]):
        left, right = a[r], b[r]
        for c in range(left.shape[0]):
            left[c] += right[c]


@jit
def _backward_tile(g: Any, q: Any, k: Any, k_tile: Any, v_tile: Any, mask: Any, has_mask: bool, scale: Any, is_causal: bool,
                   key: int, lse: Any, dots: Any, dq: Any, dk: Any, dv: Any, scores: Any, gradients: Any) -> None:
    """Add to dq, and to dk and dv of one tile of keys, what one head of queries contributes; `k` are the rows of the tile."""
    keys, zero = k.shape[0], q.dtype.type(0)
    first = key // _QUERIES * _QUERIES if is_causal else 0
    for query in range(first, q.shape[0], _QUERIES):
        rows = min(_QUERIES, q.shape[0] - query)
        real = min(rows, lse.shape[0] - query)  # the rest is padding
        queries, upstream = q[query : query + rows], g[query : query + rows]
        seen = _visible(key, keys, query + rows - 1, is_causal)
        multiply(queries, k_tile, scores, rows, seen, q.shape[1], False)
        multiply(upstream, v_tile, gradients, rows, seen, g.shape[1], False)
        for r in range(rows):
            visible = _visible(key, seen, query + r, is_causal) if r < real else 0
            row, other = scores[r][:visible], gradients[r][:visible]
            if has_mask:
                _add_mask(row, mask[min(query + r, mask.shape[0] - 1)][key : key + visible], scale)
            else:
                _scale(row, scale)
            if r < real:
                _probabilities(row, lse[query + r])
                _score_gradients(row, other, dots[query + r], scale)
            scores[r][visible:] = zero
            gradients[r][visible:] = zero
        multiply_transposed(scores, upstream, dv, seen, g.shape[1], rows, True)
        multiply_transposed(gradients, queries, dk, seen, q.shape[1], rows, True)
        multiply(gradients, k, dq[query : query + rows], rows, q.shape[1], seen, True)


@jit_parallel
def _row_dots(g: Any, out: Any, dots: Any) -> None:
    for n in numba.prange(dots.shape[0]):
        for r in range(dots.shape[1]):
            dots[n, r] = _dot(g[n, r], out[n, r])


@jit_parallel
def _backward(g: Any, q: Any, k: Any, k_tiles: Any, v_tiles: Any, mask: Any, mask_of: Any, scale: Any, is_causal: bool,
              lse: Any, dots: Any, dq: Any, dk: Any, dv: Any) -> None:
    """dq is (tasks, heads, queries, width): each task of a group takes every so many tiles and has sums of its own."""
    tasks, heads, count = dq.shape[0], q.shape[0], k_tiles.shape[1]
    repeats = heads // k.shape[0]
    for i in numba.prange(k.shape[0] * tasks):
        n, task = i // tasks, i % tasks
        scores = np.empty((_QUERIES, _KEYS), q.dtype)
        gradients = np.empty((_QUERIES, _KEYS), q.dtype)
        dk_tile = np.empty((_KEYS, q.shape[2]), q.dtype)
        dv_tile = np.empty((_KEYS, g.shape[2]), q.dtype)
        has_mask = mask_of.shape[0] > 0
        dq[task, n * repeats : (n + 1) * repeats] = 0
        for t in range(task, count, tasks):
            part = slice(t * _KEYS, min((t + 1) * _KEYS, k.shape[1]))
            dk_tile[:] = 0
            dv_tile[:] = 0
            for head in range(n * repeats, (n + 1) * repeats):
                _backward_tile(g[head], q[head], k[n, part], k_tiles[n, t], v_tiles[n, t],
                               mask[mask_of[head] if has_mask else 0], has_mask, scale, is_causal, part.start, lse[head],
                               dots[head], dq[task, head], dk_tile, dv_tile, scores, gradients)
            dk[n, part] = dk_tile[: part.stop - part.start, : dk.shape[2]]
            dv[n, part] = dv_tile[: part.stop - part.start, : dv.shape[2]]


# --- around the loops ---


def _ceil(size: int, block: int) -> int:
    return -(-size // block) * block


def _heads(x: Array, rows: int | None = None) -> Array:
    """(B, H, L, E) as (B * H, L, E), C-contiguous, with zeros up to whole blocks of columns and to `rows` rows."""
    x = contiguous(x).reshape(x.shape[0] * x.shape[1], *x.shape[2:])
    shape = (x.shape[0], x.shape[1] if rows is None else rows, _ceil(x.shape[2], COLUMN_BLOCK_BYTES // x.itemsize))
    if shape == x.shape:
        return x
    padded = np.zeros(shape, x.dtype)
    padded[:, : x.shape[1], : x.shape[2]] = x
    return padded


def _tiles(x: Array) -> Array:
    """The transposed tiles of the rows of x (heads, L, E): (heads, tiles, E, _KEYS)."""
    tiles = empty((x.shape[0], -(-x.shape[1] // _KEYS), x.shape[2], _KEYS), x.dtype)
    _transpose_tiles(x, tiles)
    return tiles


def _masks(mask: Array | None, q: Array, keys: int) -> tuple[Array, Array]:
    """The different masks (count, 1 or queries, keys) and the number of each head's; no numbers without a mask."""
    if mask is None:
        return np.empty((1, 1, 0), q.dtype), np.empty(0, np.int64)
    count = np.arange(math.prod(mask.shape[:2])).reshape(mask.shape[:2])
    rows = contiguous(np.broadcast_to(mask, (*mask.shape[:3], keys))).astype(q.dtype, copy=False)
    return rows.reshape(-1, mask.shape[2], keys), np.ascontiguousarray(np.broadcast_to(count, q.shape[:2])).reshape(-1)


@upcast_half(results=(0, None))
def attention(q: Array, k: Array, v: Array, mask: Array | None, *, scale: float, is_causal: bool,
              out: tuple[Array | None, Array | None] | None = None) -> tuple[Array, Array]:
    """(softmax(scale q k^T + mask) v, log of the sum of exponentials), over the keys.

    q is (B, H, L, E), k (B, G, S, E) and v (B, G, S, V) with H a multiple of G: head h of q goes with head h // (H / G). The
    results are (B, H, L, V) and (B, H, L). `mask`, of the dtype of q, is (B, H, L, S) or has ones in their places. With
    `is_causal` query i sees keys 0 to i. A query that sees no key gets zeros and +inf.
    """
    (batch, heads, queries, _), (keys, width) = q.shape, v.shape[2:]
    out_y, out_lse = outputs(out, 2)
    scale = q.dtype.type(scale)
    q_rows, v_rows = _heads(q, _ceil(queries, ROW_BLOCK)), _heads(v)
    y = empty((*q_rows.shape[:2], v_rows.shape[2]), q.dtype)
    lse = np.empty(q_rows.shape[:2], q.dtype)
    if q_rows.size or y.size or lse.size:
        repeats = heads // max(1, k.shape[1])
        _forward(q_rows, _tiles(_heads(k)), v_rows, *_masks(mask, q, keys), repeats, scale, is_causal, y, lse)
    y = y.reshape(batch, heads, *y.shape[1:])[:, :, :queries, :width]
    return deliver(out_y, contiguous(y)), deliver(out_lse, contiguous(lse.reshape(batch, heads, lse.shape[1])[:, :, :queries]))


@upcast_half(results=(1, 2, 3))
def attention_grad(g: Array, q: Array, k: Array, v: Array, mask: Array | None, y: Array, lse: Array, *, scale: float,
                   is_causal: bool, out: tuple[Array | None, ...] | None = None) -> tuple[Array, Array, Array]:
    """(dq, dk, dv) of `attention` from its results; `mask` has no gradient."""
    out_dq, out_dk, out_dv = outputs(out, 3)
    queries, keys = q.shape[2], k.shape[2]
    rows = _ceil(queries, ROW_BLOCK)
    g_rows, q_rows, y_rows, k_rows = _heads(g, rows), _heads(q, rows), _heads(y, rows), _heads(k)
    lse = contiguous(lse).reshape(q_rows.shape[0], queries)
    dots = np.empty_like(lse)
    _row_dots(g_rows, y_rows, dots)
    k_tiles = _tiles(k_rows)
    tasks = min(max(1, _TASKS // max(1, k_rows.shape[0])), max(1, k_tiles.shape[1]))
    dq = empty((tasks, *q_rows.shape), q.dtype)
    dk, dv = result(out_dk, k.shape, k.dtype), result(out_dv, v.shape, v.dtype)
    _backward(g_rows, q_rows, k_rows, k_tiles, _tiles(_heads(v)), *_masks(mask, q, keys), q.dtype.type(scale), is_causal,
              lse, dots, dq, dk.reshape(k_rows.shape[0], *k.shape[2:]), dv.reshape(k_rows.shape[0], *v.shape[2:]))
    total = dq[0] if tasks == 1 else dq.sum(0)
    dq = contiguous(total[:, :queries, : q.shape[3]]).reshape(q.shape)
    return deliver(out_dq, dq), deliver(out_dk, dk), deliver(out_dv, dv)
