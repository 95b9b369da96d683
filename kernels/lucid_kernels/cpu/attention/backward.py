"""The loop of attention's gradient."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..matmul.inner import ROW_BLOCK
from ..runtime.jit import jit, jit_parallel
from ..simd.copy_rows import copy_rows
from ..simd.cpu_features import VECTOR_BYTES
from .microkernels import fill_hidden
from .prefetch import PER_ROW, add_rows, pending, prefetch_rows, rows_ahead
from .products import add_visible, add_visible_transposed, score_products
from .tiles import (
    BEHIND,
    KEYS,
    QUERIES,
    add_mask,
    dots_of_rows,
    exponentials,
    filled,
    heads_of,
    kept_rows,
    queue_rows,
    room,
    row_gradients,
    row_of,
    rows_of,
    scaled_rows,
    transpose,
    whole_columns,
)


@jit
def _score_gradients(scores: Any, kept: bool, gradients: Any, rows: int, mask: Any, has_mask: bool, scale: Any, visible: int,
                     step: int, query: int, key: int, seen: int, shift: Any, dots: Any, slope: Any, ahead: Any) -> None:
    """Scores become exponentials, and the gradients of the probabilities those of the scores; hidden ones become 0.

    Scores that were `kept` are exponentials already. Those of a row are its probabilities but for a factor, by which g and `dots`
    have been multiplied instead. Row r sees the first `visible` + r * `step` of the `seen` keys.
    """
    one, zero, lanes = scores.dtype.type(1), scores.dtype.type(0), VECTOR_BYTES // scores.itemsize
    prefetches = pending(ahead)
    for first in range(0, rows, lanes):
        last = min(first + lanes, rows)
        length = filled(last - 1, visible, step, seen)
        for r in range(first, last):
            if not kept:
                if has_mask:
                    row = scores[r][: min(seen, visible + r * step)]
                    add_mask(row, mask[min(query + r, mask.shape[0] - 1)][key:], scale)
                exponentials(scores, r, length, has_mask, scale, shift[r])
            row_gradients(scores, gradients, r, length, dots[r], slope)
            if prefetches:
                prefetch_rows(ahead, PER_ROW)
        if min(seen, visible + first * step) < length:
            if not kept:
                fill_hidden(scores, first, last, length, visible, step, seen, one, zero)
            fill_hidden(gradients, first, last, length, visible, step, seen, one, zero)


@jit
def _add_tile(q: Any, g: Any, query: int, rows: int, k: Any, k_tile: Any, v_tile: Any, mask: Any, has_mask: bool, scale: Any,
              is_causal: bool, key: int, keys: int, shift: Any, dots: Any, slope: Any, dq: Any, dk: Any, dv: Any,
              scores: Any, kept: bool,
              gradients: Any, accumulate: bool, ahead: Any) -> None:
    """Add to dq, dk and dv what one tile contributes: `rows` queries from `query` on, `keys` keys from `key` on.

    Without `accumulate` dq is not read, but set.
    """
    step, seen, visible = 0, keys, keys
    if is_causal:
        step, seen, visible = 1, min(keys, query + rows - key), query - key + 1
    if kept:
        # They come from memory, half a kibibyte of each row: the processor foresees too little of that.
        own = rows_ahead(1)
        add_rows(own, 1, np.int64(scores.ctypes.data), scores.shape[1] * scores.itemsize, seen * scores.itemsize, rows)
        score_products(g, v_tile, gradients, rows, seen, v_tile.shape[0], visible, step, own)
    else:
        score_products(q, k_tile, scores, rows, seen, k_tile.shape[0], visible, step, ahead)
        score_products(g, v_tile, gradients, rows, seen, v_tile.shape[0], visible, step, ahead)
    _score_gradients(scores, kept, gradients, rows, mask, has_mask, scale, visible, step, query, key, min(keys, seen + BEHIND),
                     shift[query:], dots[query:], slope, ahead)
    add_visible_transposed(scores, g, dv, seen, rows, visible, step)
    add_visible_transposed(gradients, q, dk, seen, rows, visible, step)
    add_visible(gradients, k, dq[query:], rows, seen, visible, step, accumulate, ahead)


@jit_parallel
def backward(g: Any, q: Any, y: Any, heads: int, count: int, queries: int, width: int, k: Any, v: Any, groups: int, keys: int,
             v_width: int, mask: Any, mask_of: Any, scale: Any, slope: Any, is_causal: bool, shift: Any, factor: Any, powers: Any,
             dq: Any, dk: Any, dv: Any) -> None:
    """dq is (tasks, heads, queries, width): each task of a group takes every so many tiles and has sums of its own.

    `g`, `q`, `y`, `k` and `v` say where their rows lie; `count` counts the groups; `scale` is that of `forward`, and `slope`
    the plain one. `powers` is what the forward pass kept, or empty.
    """
    tasks, repeats = dq.shape[0], heads // groups
    columns, v_columns = whole_columns(width, shift), whole_columns(v_width, shift)
    whole = (queries + ROW_BLOCK - 1) // ROW_BLOCK * ROW_BLOCK
    for i in numba.prange(count * tasks):
        n, task = i // tasks, i % tasks
        first = n // groups * heads + n % groups * repeats
        kept = powers.shape[0] > 0
        tile = room(0 if kept else QUERIES, KEYS, shift)
        gradients = room(QUERIES, KEYS, shift)
        k_tile = room(width, KEYS, shift)
        g_rows = room(repeats * whole, v_columns, shift).reshape(repeats, whole, v_columns)
        v_tile = room(v_width, KEYS, shift)
        dk_tile = room(KEYS, columns, shift)
        dv_tile = room(KEYS, v_columns, shift)
        dots = np.empty((repeats, queries), shift.dtype)
        has_mask = mask_of.shape[0] > 0
        ahead, item = rows_ahead(5), shift.itemsize
        if n + 1 < count and task == 0:
            after = (n + 1) // groups * heads + (n + 1) % groups * repeats
            queue_rows(ahead, 1, g, heads, after, v_width, queries, item)
            queue_rows(ahead, 2, y, heads, after, v_width, queries, item)
            queue_rows(ahead, 3, k, groups, n + 1, width, keys, item)
            queue_rows(ahead, 4, v, groups, n + 1, v_width, keys, item)
            queue_rows(ahead, 5, q, heads, after, width, queries, item)
        # The first tile of a task sets dq, but for the queries that see none of its keys.
        hidden = min(queries, task * KEYS // QUERIES * QUERIES) if is_causal else 0
        in_place = queries == whole and width == columns
        if in_place:
            dq_sums = heads_of(dq, task, first, repeats)
        else:
            dq_sums = room(repeats * whole, columns, shift).reshape(repeats, whole, columns)
        dq_sums[:, : hidden if keys > 0 else queries] = 0
        for repeat in range(repeats):
            g_row, y_row = row_of(g, heads, first + repeat, 0, shift), row_of(y, heads, first + repeat, 0, shift)
            dots_of_rows(g_row, g[3], y_row, y[3], queries, v_width, dots[repeat])
            scaled_rows(g, heads, first + repeat, queries, v_width, factor[first + repeat], g_rows[repeat])
            dots[repeat] *= factor[first + repeat]
        for key in range(task * KEYS, keys, tasks * KEYS):
            part = min(KEYS, keys - key)
            if not kept:
                transpose(k, groups, n, key, part, k_tile)
            transpose(v, groups, n, key, part, v_tile)
            k_rows = rows_of(k, groups, n, key, part, 1, width, columns, shift)
            dk_tile[:] = 0
            dv_tile[:] = 0
            for head in range(first, first + repeats):
                for query in range(key // QUERIES * QUERIES if is_causal else 0, queries, QUERIES):
                    rows = min(QUERIES, queries - query)
                    q_part = rows_of(q, heads, head, query, rows, 1 if kept else ROW_BLOCK, width, columns, shift)
                    scores = kept_rows(powers, head, query, key) if kept else tile
                    _add_tile(q_part, g_rows[head - first][query:], query, rows, k_rows, k_tile, v_tile,
                              mask[mask_of[head] if has_mask else 0], has_mask, scale, is_causal, key, part, shift[head],
                              dots[head - first], slope, dq_sums[head - first], dk_tile, dv_tile, scores, kept,
                              gradients, key > task * KEYS, ahead)
            copy_rows(dk_tile, 0, columns, dk[n], key * width, width, part, width)
            copy_rows(dv_tile, 0, v_columns, dv[n], key * v_width, v_width, part, v_width)
        for repeat in range(0 if in_place else repeats):
            copy_rows(dq_sums[repeat], 0, columns, dq[task, first + repeat], 0, width, queries, width)
