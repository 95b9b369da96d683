"""The elementwise operations: a row for each, beside its family, with everything that is known of it.

`row`: what a row holds.
`arithmetic`: operations of two arguments.
`unary`: functions of one argument.
`comparison`: comparisons, predicates, logic and bits.
`ternary`: operations of several arguments.
`activations`: activations and their gradients.
`special`: special functions.

`cpu/elementwise.py` and `gpu/elementwise.py` make the entries of their tables of them; `out.py`, `meta` and `symbolic` read them.
"""
from __future__ import annotations

from . import activations, arithmetic, comparison, special, ternary, unary
from .row import Kernel, Row

__all__ = ["ROWS", "Kernel", "Row"]


def _by_name(*families: tuple[Row, ...]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for row in (row for family in families for row in family):
        if row.name in rows:
            raise ValueError(f"operation {row.name!r} has two rows")
        rows[row.name] = row
    return rows


ROWS = _by_name(arithmetic.ROWS, unary.ROWS, comparison.ROWS, ternary.ROWS, activations.ROWS, special.ROWS)
