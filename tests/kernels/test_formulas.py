"""The formulas of the kernels: each gradient is the derivative of its activation, and how a formula becomes a program."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from lucid_kernels import formulas
from lucid_kernels.cuda.runtime import formula, source
from lucid_kernels.expression import Node, constant, trace, where

REAL = np.dtype(np.float64)
_erfc = np.vectorize(math.erfc, otypes=[float])
OPERATIONS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "abs": np.abs, "where": np.where,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "exp": np.exp, "exp_nonpositive": np.exp,
    "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "gauss": lambda x: np.exp(-x * x / 2),
    "normal_cdf": lambda x: _erfc(-x / math.sqrt(2)) / 2,
}  # fmt: skip


def computed(formula: Any, *arguments: Any, **numbers: float) -> Any:
    """What a formula says, by NumPy's functions in float64."""
    program, names, known = trace(formula, REAL)
    assert set(known) == set(numbers)
    values = {f"x{i}": value for i, value in enumerate((*arguments, *(numbers[name] for name in known)))}
    values |= {f"k{i}": value for i, value in enumerate(program.constants)}
    for step in program.steps:
        values[step.name] = OPERATIONS[step.operation](*[values[operand] for operand in step.operands])
    return values[program.outputs[0]]


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh", "silu", "gelu", "gelu_tanh"])
def test_gradients_are_derivatives(name: str) -> None:
    """By central differences; those of sigmoid, tanh and relu are from the result."""
    x, step = np.linspace(-6, 6, 1001) + 1e-3, 1e-6
    forward, gradient = getattr(formulas, name), getattr(formulas, f"{name}_grad")
    slope = (computed(forward, x + step) - computed(forward, x - step)) / (2 * step)
    saved = computed(forward, x) if name in ("relu", "sigmoid", "tanh") else x
    np.testing.assert_allclose(computed(gradient, np.full_like(x, 3), saved), 3 * slope, rtol=1e-6, atol=1e-8)


def test_choices_and_interpolations() -> None:
    x, end, weight = np.array([-2.0, 0.5, 3.0]), np.array([1.0, 2.0, -4.0]), np.array([0.1, 0.5, 0.9])
    between = x + weight * (end - x)
    np.testing.assert_allclose(computed(formulas.lerp_each, x, end, weight), between)
    np.testing.assert_allclose(computed(formulas.lerp_near, x, end, weight=0.2), 0.8 * x + 0.2 * end)
    np.testing.assert_allclose(computed(formulas.lerp_far, x, end, rest=0.2), 0.2 * x + 0.8 * end)
    np.testing.assert_array_equal(computed(formulas.clip, x, low=-1, high=2), np.clip(x, -1, 2))
    np.testing.assert_array_equal(computed(formulas.leaky_relu, x, slope=0.1), np.where(x > 0, x, 0.1 * x))
    np.testing.assert_array_equal(computed(formulas.addcdiv, x, end, weight, value=2), x + 2 * (end / weight))


def test_arguments_come_before_numbers() -> None:
    program, arguments, numbers = trace(formulas.addcmul, REAL)
    assert (arguments, numbers) == (("x", "a", "b"), ("value",))
    assert program.inputs == (0, 1, 2, 3) and program.dtypes == (REAL,)


def test_numbers_have_the_dtype_of_what_is_beside_them() -> None:
    n, x = Node("input", np.dtype(np.int32), value=0), Node("input", REAL, value=0)
    assert (2 * n).operands[0].value == 2 and (2 * n).dtype == np.int32
    assert isinstance((1 - x).operands[0].value, float)
    assert (x <= 0).dtype == bool and where(x <= 0, 1, x).dtype == REAL
    assert constant(3, np.dtype(bool)).value is True
    with pytest.raises(TypeError, match="no dtype"):
        where(x <= 0, 1, 2)


def test_each_has_cuda_operators() -> None:
    found = set(source.instantiations(source.load("elementwise")))
    for each in (*formulas.ACTIVATIONS, *formulas.ARITHMETIC):
        kernel = "unary" if len(trace(each, REAL)[1]) == 1 else "binary"
        assert {f"{kernel}<{real}, {formula.operator(each.__name__)}>" for real in formula.FLOATING} <= found
