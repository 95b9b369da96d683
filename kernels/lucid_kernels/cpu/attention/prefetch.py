"""Prefetching the rows of the next head while this one is computed.

The rows of heads that come from one projection lie so far apart that the processor foresees none of them: for short sequences a
quarter of the time went into waiting for them. It drops requests when more than some ten lines are in flight, so a few at a
time go between the arithmetic.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.jit import jit
from ..simd.prefetch import prefetch

# Longer sequences spend their time on products, and would push their own rows out of the L2 cache.
_MOST_ROWS = 512
PER_ROW, PER_BLOCK = 2, 4  # rows that are prefetched beside a row of scores and a register block of a product


@jit
def rows_ahead(operands: int) -> Any:
    """An empty list of rows to prefetch: a line for each of the `operands`, after one that says which row is the next."""
    return np.zeros((operands + 1, 4), np.int64)


@jit
def add_rows(ahead: Any, operand: int, address: int, pitch: int, width: int, rows: int) -> None:
    """Put `rows` rows of `width` bytes, `pitch` bytes apart, on the list."""
    ahead[operand] = (address, pitch, width, rows if rows <= _MOST_ROWS else 0)


@jit
def pending(ahead: Any) -> bool:
    """Whether there are rows to prefetch. Loops look once: to look at each row of scores took 15 % of the time of softmax."""
    return ahead[0, 0] < ahead.shape[0] - 1


@jit
def prefetch_rows(ahead: Any, count: int) -> None:
    """Prefetch the next `count` rows, or what is left of them."""
    operand, row = ahead[0, 0], ahead[0, 1]
    for _ in range(count):
        while operand < ahead.shape[0] - 1 and row == ahead[operand + 1, 3]:
            operand, row = operand + 1, 0
        if operand < ahead.shape[0] - 1:
            prefetch(ahead[operand + 1, 0] + row * ahead[operand + 1, 1], ahead[operand + 1, 2])
            row += 1
    ahead[0, 0], ahead[0, 1] = operand, row
