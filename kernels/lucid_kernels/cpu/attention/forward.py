"""The loop of attention's forward pass."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..math import basic as math_basic
from ..matmul.inner import ROW_BLOCK
from ..runtime.jit import jit, jit_parallel
from ..simd.cpu_features import VECTOR_BYTES
from .microkernels import fill_hidden, row_maxima, scale_rows
from .prefetch import PER_ROW, pending, prefetch_rows, rows_ahead
from .products import add_visible, score_products
from .tiles import (
    KEYS,
    LOG2_E,
    QUERIES,
    add_mask,
    columns_from,
    exponentials,
    filled,
    keep,
    queue_rows,
    room,
    rows_of,
    store_rows,
    transpose,
    whole_columns,
)


@jit
def _softmax(scores: Any, rows: int, mask: Any, has_mask: bool, scale: Any, visible: int, step: int, query: int, key: int,
             seen: int, largest: Any, total: Any, kept: Any, powers: Any, offset: int, ahead: Any) -> None:
    """Scores, times `scale` and with the mask added, become exponentials of what they are beyond the largest one of their row so
    far, without a mask powers of two; `total` is their sum.

    Earlier exponentials of row r are to be multiplied by kept[r]. Row r sees the first `visible` + r * `step` of the `seen` keys.
    """
    lanes, one, zero = VECTOR_BYTES // scores.itemsize, scores.dtype.type(1), scores.dtype.type(0)
    unit = scores.dtype.type(LOG2_E) if has_mask else one
    for r in range(rows if has_mask else 0):
        row = scores[r][: min(seen, visible + r * step)]
        add_mask(row, mask[min(query + r, mask.shape[0] - 1)][key:], scale)
    if has_mask:
        scale = one
    for first in range(0, rows, lanes):
        length, whole = _length(first, lanes, visible, step, seen)
        if not whole:
            last = first + lanes
            fill_hidden(scores, first, last, length, visible, step, seen, scale, scores.dtype.type(-np.inf))
        row_maxima(scores, first, length, scale if whole else one, kept)
    for r in range(rows):
        after = math_basic.maximum(largest[r], kept[r])
        # Nothing to see so far: exp(-inf - 0) is 0, exp(-inf + inf) is not.
        kept[r] = math_basic.exp2_nonpositive((largest[r] - (after if after > -np.inf else zero)) * unit)
        largest[r] = after
    keeps, prefetches = powers.shape[0] > 0, pending(ahead)
    for first in range(0, rows, lanes):
        length, whole = _length(first, lanes, visible, step, seen)
        factor = scale if whole else one
        for r in range(first, min(first + lanes, rows)):
            shift = largest[r] if largest[r] > -np.inf else zero
            total[r] = total[r] * kept[r] + exponentials(scores, r, length, has_mask, factor, shift)
            if keeps:
                keep(scores, r, length, powers, offset + r * powers.shape[2])
            if prefetches:
                prefetch_rows(ahead, PER_ROW)


@jit
def _length(first: int, rows: int, visible: int, step: int, seen: int) -> Any:
    """How much of `rows` rows from `first` on is computed, and whether all of them see all of that."""
    length = filled(first + rows - 1, visible, step, seen)
    return length, min(seen, visible + first * step) == length


@jit
def _block(q: Any, tiles: Any, v: Any, mask: Any, has_mask: bool, scale: Any, is_causal: bool, query: int, rows: int, keys: int,
           out: Any, scores: Any, span: int, largest: Any, total: Any, kept: Any, powers: Any, offset: int, ahead: Any) -> None:
    """`out`, the `largest` score and the `total` of the exponentials of the queries q, the first of which is number `query`.

    `scores` has room for those of `span` keys, all or as many as a tile has: it takes so many at a time.
    """
    largest[:] = -np.inf
    total[:] = 0
    step = 1 if is_causal else 0
    last = min(keys, query + rows) if is_causal else keys
    for key in range(0, last, span):
        seen = min(span, last - key)
        visible = query - key + 1 if is_causal else seen
        for start in range(0, seen, KEYS):
            score_products(q, tiles[(key + start) // KEYS], columns_from(scores, start), rows, min(KEYS, seen - start),
                           tiles.shape[1], visible - start, step, ahead)
        _softmax(scores, rows, mask, has_mask, scale, visible, step, query, key, seen, largest, total, kept, powers, offset,
                 ahead)
        if key > 0:
            scale_rows(out, 0, rows, kept)
        for start in range(0, seen, KEYS):
            add_visible(columns_from(scores, start), v[key + start :], out, rows, min(KEYS, seen - start), visible - start, step,
                        key + start > 0, ahead)


@jit_parallel
def forward(q: Any, heads: int, count: int, queries: int, width: int, k: Any, v: Any, groups: int, keys: int, v_width: int,
            mask: Any, mask_of: Any, scale: Any, is_causal: bool, tasks: int, y: Any, powers: Any, shift: Any, factor: Any
            ) -> None:
    """`y`, `shift` and `factor` of `count` heads of queries, `tasks` tasks a head; `q`, `k`, `v`, `y` say where their rows lie.

    `scale` is, without a mask, for powers of two: log2(e) times that of the exponentials. `powers` gets what `attention` keeps,
    unless it is empty.
    """
    blocks, repeats = (queries + QUERIES - 1) // QUERIES, heads // groups
    columns = whole_columns(v_width, shift)
    for i in numba.prange(count * tasks):
        n, task = i // tasks, i % tasks
        group = n // heads * groups + n % heads // repeats
        parts = (keys + KEYS - 1) // KEYS
        tiles = room(parts * width, KEYS, shift).reshape(parts, width, KEYS)
        for t in range(parts):
            transpose(k, groups, group, t * KEYS, min(KEYS, keys - t * KEYS), tiles[t])
        values = rows_of(v, groups, group, 0, keys, 1, v_width, columns, shift)
        keep = powers.shape[0] > 0
        scores = room(QUERIES, powers.shape[2] if keep else KEYS, shift)
        out = room(QUERIES, columns, shift)
        largest = np.empty(QUERIES, shift.dtype)
        total = np.empty(QUERIES, shift.dtype)
        kept = np.empty(QUERIES, shift.dtype)
        has_mask = mask_of.shape[0] > 0
        ahead, item = rows_ahead(4), shift.itemsize
        m = n + 1
        if m < count and task == 0:
            after = m // heads * groups + m % heads // repeats
            queue_rows(ahead, 1, k, groups, after, width, keys, item)
            queue_rows(ahead, 2, v, groups, after, v_width, keys, item)
            queue_rows(ahead, 3, q, heads, m, width, queries, item)
            queue_rows(ahead, 4, y, heads, m, v_width, queries, item)
        for block in range(task, blocks, tasks):
            query = block * QUERIES
            rows = min(QUERIES, queries - query)
            offset = (n * powers.shape[1] + query) * powers.shape[2]
            q_part = rows_of(q, heads, n, query, rows, ROW_BLOCK, width, width, shift)
            _block(q_part, tiles, values, mask[mask_of[n] if has_mask else 0], has_mask, scale, is_causal, query, rows, keys, out,
                   scores, keys if keep else KEYS, largest, total, kept, powers, offset, ahead)
            for r in range(rows):
                kept[r] = 1 / total[r]
            scale_rows(out, 0, rows, kept)
            for r in range(rows):
                blind = total[r] == 0
                if blind:  # a query that sees nothing gets zeros, and so do its gradients
                    out[r] = 0
                shift[n, query + r] = np.inf if blind else largest[r]
                factor[n, query + r] = 0 if blind else kept[r]
            store_rows(out, y, heads, n, query, rows, v_width)
