"""Sizes given as one number for all dimensions or as a sequence."""
from __future__ import annotations

from collections.abc import Iterable


def sizes(size: int | Iterable[int], dims: int) -> tuple[int, ...]:
    """``(3, 3)`` for 3 in 2 dimensions; a sequence as a tuple."""
    return tuple(size) if isinstance(size, Iterable) else (size,) * dims
