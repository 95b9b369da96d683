"""The table of a backend from the tables of its modules."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Kernel = Callable[..., Any]


def merge(*tables: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """All entries of the tables. Raises ValueError that names an operation which two of them have, and the modules of both."""
    merged: dict[str, Kernel] = {}
    for table in tables:
        for name in merged.keys() & table.keys():
            modules = [getattr(kernel, "__module__", None) for kernel in (merged[name], table[name])]
            raise ValueError(f"operation {name!r} has two entries: one of {modules[0]}, one of {modules[1]}")
        merged |= table
    return merged
