"""Operations of several arguments, of which NumPy takes more than one operation; CuPy fuses them."""
from __future__ import annotations

from typing import Any

from . import row
from .row import COMPOSED, EXPRESSION, FORMULA, Kernel, Row


def _ours(name: str, arrays: int, **others: Any) -> Row:
    others |= {"half": FORMULA, "out": "all", "formula": EXPRESSION}
    return Row(name, arrays, COMPOSED, kernels=(Kernel(f"ternary.{name}"),), **others)


ROWS = (
    _ours("lerp", 3, number="weight", in_place=True, tensors=1),
    _ours("add_scaled", 2, attributes="alpha"),
    _ours("addcmul", 3, attributes="value", tensors=2),
    _ours("addcdiv", 3, attributes="value", tensors=2),
    Row("clip", 3, COMPOSED, kernels=(Kernel(".clip.clip", dtypes=None, layout=row.ANY),), half=FORMULA, out="all", in_place=True,
        formula=EXPRESSION),
    Row("binary_cross_entropy", 2, COMPOSED, few_in_float32=True, formula=EXPRESSION),
)
