"""Tables of kernels, joined."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def merge(*tables: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """One table of all operations of `tables`. Raises ValueError for an operation that stands in two of them."""
    merged: dict[str, Callable[..., Any]] = {}
    for table in tables:
        twice = merged.keys() & table.keys()
        if twice:
            raise ValueError(f"operations that stand in two tables: {', '.join(sorted(twice))}")
        merged |= table
    return merged
