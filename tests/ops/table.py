"""The op table: at least one row for each operation, from which its tests and the page of operations are made.

A row says how the operation is called, on lucid and on PyTorch, what NumPy computes for it, and its inputs. Each family of
operations has a file of rows.
"""
from __future__ import annotations

from tests.ops import (
    table_activation,
    table_creation,
    table_decompositions,
    table_elementwise,
    table_fourier,
    table_indexing,
    table_joining,
    table_linear_algebra,
    table_names,
    table_reduction,
    table_search,
    table_shape,
    table_special,
)
from tests.ops.row import Row

ROWS: list[Row] = []
ROWS += table_elementwise.ROWS
ROWS += table_reduction.ROWS
ROWS += table_creation.ROWS
ROWS += table_activation.ROWS
ROWS += table_shape.ROWS
ROWS += table_joining.ROWS
ROWS += table_indexing.ROWS
ROWS += table_search.ROWS
ROWS += table_linear_algebra.ROWS
ROWS += table_decompositions.ROWS
ROWS += table_fourier.ROWS
ROWS += table_special.ROWS
ROWS += table_names.ROWS

UNARY = table_elementwise.UNARY
BINARY = table_elementwise.BINARY
