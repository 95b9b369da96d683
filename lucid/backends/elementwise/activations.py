"""Activations and their gradients."""
from __future__ import annotations

from typing import Any

from ..sizes import MANY
from .row import COMPOSED, EXPRESSION, FORMULA, PRIMITIVE, Kernel, Row

_FAMILY = "elementwise.elementwise"


def _activation(name: str, **others: Any) -> Row:
    """An activation that may be written into its argument; `in_place` if a method is."""
    formula = PRIMITIVE if name in ("sigmoid", "tanh") else EXPRESSION
    return Row(name, family=_FAMILY, half=FORMULA, out="cpu", formula=formula, **others)


def _gradient(name: str, **others: Any) -> Row:
    return Row(f"{name}_grad", 2, family=_FAMILY, half=FORMULA, formula=EXPRESSION, **others)


ROWS = (
    _activation("relu", in_place=True), _gradient("relu"),
    _activation("sigmoid", in_place=True), _gradient("sigmoid"),
    _activation("tanh", in_place=True), _gradient("tanh"),
    _activation("gelu", attributes="approximate"), _gradient("gelu", attributes="approximate"),
    _activation("silu"), _gradient("silu"),
    Row("leaky_relu", attributes="slope", function=COMPOSED, kernels=(Kernel("ternary.leaky_relu", MANY),), half=FORMULA,
        few_in_float32=True, out="all", formula=EXPRESSION),
)
