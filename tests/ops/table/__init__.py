"""The op table: at least one row for each operation, from which its tests and the page of operations are made.

A row says how the operation is called, on lucid and on PyTorch, what NumPy computes for it, and its inputs. Each family of
operations has a file of rows.
"""
from __future__ import annotations

from tests.ops.table import (
    activation,
    creation,
    decompositions,
    elementwise,
    fourier,
    indexing,
    joining,
    linear_algebra,
    names,
    reduction,
    search,
    shape,
    special,
)
from tests.ops.table.row import Row

ROWS: list[Row] = []
ROWS += elementwise.ROWS
ROWS += reduction.ROWS
ROWS += creation.ROWS
ROWS += activation.ROWS
ROWS += shape.ROWS
ROWS += joining.ROWS
ROWS += indexing.ROWS
ROWS += search.ROWS
ROWS += linear_algebra.ROWS
ROWS += decompositions.ROWS
ROWS += fourier.ROWS
ROWS += special.ROWS
ROWS += names.ROWS

UNARY = elementwise.UNARY
BINARY = elementwise.BINARY
