"""The loop of attention's gradient."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ._attention_microkernels import fill_hidden
from ._attention_tiles import (
    DIAGONAL_QUERIES,
    KEYS,
    QUERIES,
    add_mask,
    dots_of_rows,
    row_gradients,
    rows_of,
    transpose,
    visible_keys,
    whole_columns,
    whole_runs,
)
from ._compile import jit, jit_parallel
from ._products import multiply, multiply_transposed


@jit
def _score_gradients(scores: Any, gradients: Any, rows: int, mask: Any, has_mask: bool, scale: Any, is_causal: bool, query: int,
                     key: int, seen: int, lse: Any, dots: Any) -> None:
    """Scores become probabilities, and the gradients of the probabilities those of the scores."""
    one, zero, length = scores.dtype.type(1), scores.dtype.type(0), whole_runs(seen)
    for r in range(rows):
        factor = scale
        if has_mask:
            row = scores[r][: visible_keys(key, seen, query + r, is_causal)]
            add_mask(row, mask[min(query + r, mask.shape[0] - 1)][key:], scale)
            factor = one
        row_gradients(scores[r], gradients[r], length, factor, lse[r], dots[r], scale)
    visible = query - key + 1 if is_causal else seen
    if visible < length:
        for part in (scores, gradients):
            fill_hidden(part, rows, length, visible, 1 if is_causal else 0, seen, one, zero)


@jit
def _add_tile(q: Any, g: Any, query: int, rows: int, k: Any, k_tile: Any, v_tile: Any, mask: Any, has_mask: bool, scale: Any,
              is_causal: bool, key: int, keys: int, lse: Any, dots: Any, dq: Any, dk: Any, dv: Any, scores: Any, gradients: Any
              ) -> None:
    """Add to dq, dk and dv what one tile contributes: `rows` queries from `query` on, `keys` keys from `key` on."""
    step = DIAGONAL_QUERIES if is_causal and query < key + keys - 1 else rows
    for first in range(0, rows, step):
        count = min(step, rows - first)
        start = query + first
        seen = visible_keys(key, keys, start + count - 1, is_causal)
        if seen == 0:
            continue
        multiply(q[first:], k_tile, scores, count, seen, k_tile.shape[0], False)
        multiply(g[first:], v_tile, gradients, count, seen, v_tile.shape[0], False)
        _score_gradients(scores, gradients, count, mask, has_mask, scale, is_causal, start, key, seen, lse[start:], dots[start:])
        multiply_transposed(scores, g[first:], dv, seen, dv.shape[1], count, True)
        multiply_transposed(gradients, q[first:], dk, seen, dk.shape[1], count, True)
        multiply(gradients, k, dq[start:], count, dq.shape[1], seen, True)


@jit_parallel
def backward(g: Any, q: Any, y: Any, heads: int, count: int, queries: int, width: int, k: Any, v: Any, groups: int, keys: int,
             v_width: int, mask: Any, mask_of: Any, scale: Any, is_causal: bool, lse: Any, dq: Any, dk: Any, dv: Any) -> None:
    """dq is (tasks, heads, queries, width): each task of a group takes every so many tiles and has sums of its own.

    `g`, `q`, `y`, `k` and `v` say where their rows lie. The rows and columns of dq are whole blocks; `count` counts the groups.
    """
    tasks, repeats, columns, v_columns = dq.shape[0], heads // groups, dq.shape[3], whole_columns(v_width, lse)
    for i in numba.prange(count * tasks):
        n, task = i // tasks, i % tasks
        first = n // groups * heads + n % groups * repeats
        scores = np.empty((QUERIES, KEYS), lse.dtype)
        gradients = np.empty((QUERIES, KEYS), lse.dtype)
        k_tile = np.empty((width, KEYS), lse.dtype)
        v_tile = np.empty((v_width, KEYS), lse.dtype)
        dk_tile = np.empty((KEYS, columns), lse.dtype)
        dv_tile = np.empty((KEYS, v_columns), lse.dtype)
        dots = np.empty((repeats, queries), lse.dtype)
        has_mask = mask_of.shape[0] > 0
        dq[task, first : first + repeats] = 0
        for repeat in range(repeats):
            dots_of_rows(g, y, heads, first + repeat, queries, v_width, dots[repeat])
        for key in range(task * KEYS, keys, tasks * KEYS):
            part = min(KEYS, keys - key)
            transpose(k, groups, n, key, part, k_tile)
            transpose(v, groups, n, key, part, v_tile)
            k_rows = rows_of(k, groups, n, key, part, width, columns, lse)
            dk_tile[:] = 0
            dv_tile[:] = 0
            for head in range(first, first + repeats):
                for query in range(key // QUERIES * QUERIES if is_causal else 0, queries, QUERIES):
                    rows = min(QUERIES, queries - query)
                    _add_tile(rows_of(q, heads, head, query, rows, width, columns, lse),
                              rows_of(g, heads, head, query, rows, v_width, v_columns, lse), query, rows, k_rows, k_tile, v_tile,
                              mask[mask_of[head] if has_mask else 0], has_mask, scale, is_causal, key, part, lse[head],
                              dots[head - first], dq[task, head], dk_tile, dv_tile, scores, gradients)
            dk[n, key : key + part] = dk_tile[:part, :width]
            dv[n, key : key + part] = dv_tile[:part, :v_width]
