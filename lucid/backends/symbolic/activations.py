"""Operations whose formulas the kernels have: activations with their gradients, and a few of several arguments."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lucid_kernels import formulas

from .primitives import Array, Operand, by_formula, entry


def _entry(formula: Callable[..., Any]) -> None:
    def rule(*operands: Operand, **scalars: Any) -> Array:
        return by_formula(formula, *operands, **scalars)

    rule.__name__ = formula.__name__
    entry(rule)


for _formula in (
    formulas.relu, formulas.relu_grad, formulas.leaky_relu, formulas.sigmoid_grad, formulas.tanh_grad, formulas.silu,
    formulas.silu_grad, formulas.add_scaled, formulas.addcmul, formulas.addcdiv,
):  # fmt: skip
    _entry(_formula)


@entry
def gelu(x: Array, *, approximate: str) -> Array:
    return by_formula(formulas.gelu_tanh if approximate == "tanh" else formulas.gelu, x)


@entry
def gelu_grad(g: Array, x: Array, *, approximate: str) -> Array:
    return by_formula(formulas.gelu_tanh_grad if approximate == "tanh" else formulas.gelu_grad, g, x)


@entry
def lerp(x: Array, end: Array, weight: Operand) -> Array:
    if weight.__class__ is Array:
        return by_formula(formulas.lerp_each, x, end, weight)
    if -0.5 < weight < 0.5:
        return by_formula(formulas.lerp_near, x, end, weight=weight)
    return by_formula(formulas.lerp_far, x, end, rest=1 - weight)
