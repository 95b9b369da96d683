"""Comparisons, predicates, logic and bits."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import row
from .row import COMPOSED, EXPRESSION, FORMULA, PRIMITIVE, Kernel, Row

_REAL = "?bBhHiIlLqQefd"
# Elements from which NumPy compares elements with 0 in a quarter of the time of converting each to a bool.
_ASKED = 1 << 10


def _comparison(name: str, function: str) -> Row:
    return Row(name, 2, function, half=FORMULA, loops=True, out="all", truth=True, formula=PRIMITIVE)


def _logical(name: str) -> Row:
    def of_truths(table: Any, a: Any, b: Any, *, out: Any = None) -> Any:
        for x in (a, b):
            if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf" or x.size < _ASKED:
                return None
        return table[f"bitwise_{name}"](*[x if x.dtype.kind == "b" else table["ne"](x, 0) for x in (a, b)], out=out)

    return Row(f"logical_{name}", 2, kernels=(Kernel(of_truths, _ASKED, _REAL, row.ANY),), half=FORMULA, out="all", truth=True,
               formula=EXPRESSION)


def _is_zero(table: Any, x: Any, *, out: Any = None) -> Any:
    return table["eq"](x, 0, out=out)


ROWS = (
    _comparison("eq", "equal"), _comparison("ne", "not_equal"), _comparison("lt", "less"), _comparison("le", "less_equal"),
    _comparison("gt", "greater"), _comparison("ge", "greater_equal"),

    Row("isnan", half=FORMULA, loops=True, truth=True, formula=EXPRESSION),
    Row("isinf", half=FORMULA, loops=True, truth=True, formula=EXPRESSION),
    Row("isfinite", half=FORMULA, loops=True, truth=True, formula=EXPRESSION),

    _logical("and"), _logical("or"), _logical("xor"),
    Row("logical_not", kernels=(Kernel(_is_zero, _ASKED, _REAL[1:], row.ANY),), half=FORMULA, loops=True, loop_kinds="b",
        out="all", truth=True, formula=EXPRESSION),

    Row("bitwise_and", 2, loops=True, out="all", formula=PRIMITIVE),
    Row("bitwise_or", 2, loops=True, out="all", formula=PRIMITIVE),
    Row("bitwise_xor", 2, loops=True, out="all", formula=PRIMITIVE),
    Row("bitwise_invert", function="invert", loops=True, out="all", formula=PRIMITIVE),
    Row("bitwise_left_shift", 2, COMPOSED),
    Row("bitwise_right_shift", 2, COMPOSED),
)
