"""Sizes given as one number for all dimensions or as a sequence."""
from __future__ import annotations

from collections.abc import Iterable


def pair(size: int | Iterable[int]) -> tuple[int, ...]:
    """``(3, 3)`` for 3; a sequence as a tuple."""
    return tuple(size) if isinstance(size, Iterable) else (size, size)
