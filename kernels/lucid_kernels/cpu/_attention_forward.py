"""The loop of attention's forward pass."""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from . import _math
from ._attention_microkernels import fill_hidden, row_maxima, scale_rows
from ._attention_tiles import (
    DIAGONAL_QUERIES,
    KEYS,
    QUERIES,
    add_mask,
    exponentials,
    rows_of,
    store_rows,
    transpose,
    visible_keys,
    whole_columns,
    whole_runs,
)
from ._compile import jit, jit_parallel
from ._microkernels import VECTOR_BYTES
from ._products import multiply


@jit
def _softmax(scores: Any, rows: int, mask: Any, has_mask: bool, scale: Any, is_causal: bool, query: int, key: int, seen: int,
             largest: Any, total: Any, kept: Any) -> None:
    """Scores become exponentials of what they are beyond the largest one of their row so far; `total` is their sum.

    Earlier exponentials of row r are to be multiplied by kept[r].
    """
    length = whole_runs(seen)
    for r in range(rows if has_mask else 0):
        row = scores[r][: visible_keys(key, seen, query + r, is_causal)]
        add_mask(row, mask[min(query + r, mask.shape[0] - 1)][key:], scale)
    if has_mask:
        scale = scores.dtype.type(1)
    if visible_keys(key, seen, query, is_causal) < length:
        step = 1 if is_causal else 0
        fill_hidden(scores, rows, length, query - key + 1 if is_causal else seen, step, seen, scale, scores.dtype.type(-np.inf))
        scale = scores.dtype.type(1)
    for r in range(0, rows, VECTOR_BYTES // scores.itemsize):
        row_maxima(scores, r, length, scale, kept)
    for r in range(rows):
        after = _math.maximum(largest[r], kept[r])
        # Nothing to see so far: exp(-inf - 0) is 0, exp(-inf + inf) is not.
        shift = after if after > -np.inf else scores.dtype.type(0)
        kept[r] = _math.exp(largest[r] - shift)
        largest[r] = after
    for r in range(rows):
        after = largest[r]
        shift = after if after > -np.inf else scores.dtype.type(0)
        total[r] = total[r] * kept[r] + exponentials(scores[r], length, scale, shift)


@jit
def _block(q: Any, tiles: Any, v: Any, mask: Any, has_mask: bool, scale: Any, is_causal: bool, query: int, rows: int, keys: int,
           out: Any, scores: Any, largest: Any, total: Any, kept: Any) -> None:
    """`out`, the `largest` score and the `total` of the exponentials of the queries q, the first of which is number `query`."""
    largest[:] = -np.inf
    total[:] = 0
    for t in range(tiles.shape[0]):
        key = t * KEYS
        part = min(KEYS, keys - key)
        step = DIAGONAL_QUERIES if is_causal and query < key + part - 1 else rows
        for first in range(0, rows, step):
            count = min(step, rows - first)
            seen = visible_keys(key, part, query + first + count - 1, is_causal)
            if seen == 0:
                continue
            multiply(q[first:], tiles[t], scores, count, seen, tiles.shape[1], False)
            _softmax(scores, count, mask, has_mask, scale, is_causal, query + first, key, seen, largest[first:], total[first:],
                     kept)
            if t > 0:
                scale_rows(out[first:], 0, count, kept)
            multiply(scores, v[key:], out[first:], count, out.shape[1], seen, t > 0)


@jit_parallel
def forward(q: Any, heads: int, count: int, queries: int, width: int, k: Any, v: Any, groups: int, keys: int, v_width: int,
            mask: Any, mask_of: Any, scale: Any, is_causal: bool, tasks: int, y: Any, lse: Any) -> None:
    """`y` and `lse` of `count` heads of queries, `tasks` tasks a head; `q`, `k`, `v` and `y` say where their rows lie."""
    blocks, repeats = (queries + QUERIES - 1) // QUERIES, heads // groups
    columns = whole_columns(v_width, lse)
    for i in numba.prange(count * tasks):
        n, task = i // tasks, i % tasks
        group = n // heads * groups + n % heads // repeats
        tiles = np.empty(((keys + KEYS - 1) // KEYS, width, KEYS), lse.dtype)
        for t in range(tiles.shape[0]):
            transpose(k, groups, group, t * KEYS, min(KEYS, keys - t * KEYS), tiles[t])
        values = rows_of(v, groups, group, 0, keys, v_width, columns, lse)
        scores = np.empty((QUERIES, KEYS), lse.dtype)
        out = np.empty((QUERIES, columns), lse.dtype)
        largest = np.empty(QUERIES, lse.dtype)
        total = np.empty(QUERIES, lse.dtype)
        kept = np.empty(QUERIES, lse.dtype)
        has_mask = mask_of.shape[0] > 0
        for block in range(task, blocks, tasks):
            query = block * QUERIES
            rows = min(QUERIES, queries - query)
            _block(rows_of(q, heads, n, query, rows, width, width, lse), tiles, values, mask[mask_of[n] if has_mask else 0],
                   has_mask, scale, is_causal, query, rows, keys, out, scores, largest, total, kept)
            for r in range(rows):
                kept[r] = 1 / total[r]
                lse[n, query + r] = largest[r] + math.log(total[r])
            scale_rows(out, 0, rows, kept)
            for r in range(rows):
                if total[r] == 0:  # a query that sees nothing gets zeros, and so do its gradients
                    out[r] = 0
                    lse[n, query + r] = np.inf
            store_rows(out, y, heads, n, query, rows, v_width)
