"""Products with a tile of scores: what a causal mask hides of it is left out, register block by register block.

Row r of a tile sees its first `visible` + r * `step` columns: `step` is 1 under a causal mask, whose `visible` is at least 1, and
0 without one. For 128 queries and keys that is 53 % of the square, 62 % for the scores themselves; parts of 32 queries, each with
all the keys that one of them sees, were 62 % always. While they are computed the rows of the next head are prefetched.
"""
from __future__ import annotations

from typing import Any

from ..matmul.inner import COLUMN_BLOCK_BYTES, ROW_BLOCK, block, block_of_transposed
from ..runtime.jit import jit
from .prefetch import PER_BLOCK, pending, prefetch_rows


@jit
def score_products(a: Any, b: Any, scores: Any, rows: int, seen: int, count: int, visible: int, step: int, ahead: Any) -> None:
    """scores[:rows, :seen] = a[:rows, :count] @ b[:count, :seen] where they are visible; nothing is checked.

    As for `multiply`, all are C-contiguous, and rows and columns are rounded up to whole blocks.
    """
    prefetches = pending(ahead)
    for column in range(0, seen, COLUMN_BLOCK_BYTES // a.itemsize):
        first = max(0, column - visible + 1) // ROW_BLOCK * ROW_BLOCK * step
        for row in range(first, rows, ROW_BLOCK):
            block(a, b, scores, row, column, 0, count, False)
            if prefetches:
                prefetch_rows(ahead, PER_BLOCK)


@jit
def add_visible(scores: Any, b: Any, c: Any, rows: int, seen: int, visible: int, step: int, accumulate: bool, ahead: Any) -> None:
    """c[:rows] = scores[:rows, :seen] @ b[:seen], or added to it with `accumulate`.

    What is hidden in the scores is 0.
    """
    prefetches = pending(ahead)
    for column in range(0, c.shape[1], COLUMN_BLOCK_BYTES // c.itemsize):
        for row in range(0, rows, ROW_BLOCK):
            block(scores, b, c, row, column, 0, min(seen, visible + (row + ROW_BLOCK - 1) * step), accumulate)
            if prefetches:
                prefetch_rows(ahead, PER_BLOCK)


@jit
def add_visible_transposed(scores: Any, b: Any, c: Any, seen: int, rows: int, visible: int, step: int) -> None:
    """c[:seen] += scores[:rows, :seen].T @ b[:rows]; what is hidden in the scores is 0."""
    for column in range(0, c.shape[1], COLUMN_BLOCK_BYTES // c.itemsize):
        for row in range(0, seen, ROW_BLOCK):
            block_of_transposed(scores, b, c, row, column, max(0, row - visible + 1) * step, rows, True)
