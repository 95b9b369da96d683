"""Arithmetic in formulas beside the primitive operations."""
from __future__ import annotations

import math

from .array import Untraceable
from .primitives import (
    Array,
    Operand,
    Rule,
    add,
    apply,
    bitwise_and,
    constant,
    div,
    entry,
    eq,
    floor,
    fmod,
    gt,
    lt,
    mul,
    ne,
    rint,
    same,
    sqrt,
    sub,
    trunc,
    where,
)


@entry
def square(x: Array) -> Array:
    return mul(x, x)


@entry
def reciprocal(x: Array) -> Array:
    return div(1, x)


@entry
def rsqrt(x: Array) -> Array:
    return div(1, sqrt(x))


#: Exponents whose power takes no logarithm; PyTorch has the same.
_POWERS: dict[float, Rule] = {
    1: lambda x: x, 2: square, 3: lambda x: mul(square(x), x), 0.5: sqrt, -0.5: rsqrt, -1: reciprocal,
    -2: lambda x: reciprocal(square(x))}


def _integer_power(x: Array, exponent: int) -> Array:
    """By squares: exact, and wrapping around as NumPy does."""
    result = add(mul(x, 0), 1)  # of the shape of `x`
    while exponent:
        if exponent % 2:
            result = mul(result, x)
        x, exponent = square(x), exponent // 2
    return result


@entry
def power(a: Operand, b: Operand) -> Array:
    if b.__class__ is Array and b.node.operation == "constant":  # what promotion makes of a number for bfloat16
        b = b.node.value
    if b.__class__ in (int, float) and b in _POWERS:
        return _POWERS[b](a)
    whole = b.__class__ is int and b >= 0
    exponent = b
    a, b = same(a, b)
    if a.dtype.kind not in "fV":
        if not whole:
            raise Untraceable("op 'pow' of integers cannot be fused, but to the power of a number that is not negative")
        return _integer_power(a, exponent)
    return apply("power", a.dtype, a, b)


@entry
def exp2(x: Array) -> Array:
    return power(2, x)


def _floats(name: str, a: Operand, b: Operand) -> list[Array]:
    """Both operands of a division with rest."""
    operands = same(a, b)
    if operands[0].dtype.kind not in "fV":
        raise Untraceable(f"op '{name}' of integers cannot be fused: a divisor may be zero")
    return operands


def _other_sign(rest: Array, b: Array) -> Array:
    """Where the rest of a division that truncates is not that of one that rounds down."""
    return bitwise_and(ne(rest, 0), ne(lt(rest, 0), lt(b, 0)))


@entry
def remainder(a: Operand, b: Operand) -> Array:
    a, b = _floats("remainder", a, b)
    rest = fmod(a, b)
    return where(_other_sign(rest, b), add(rest, b), rest)


@entry
def floor_divide(a: Operand, b: Operand) -> Array:
    """By the rest, as NumPy and PyTorch do: the rounded quotient may reach the next integer."""
    a, b = _floats("floor_divide", a, b)
    rest = fmod(a, b)
    quotient = div(sub(a, rest), b)
    quotient = where(_other_sign(rest, b), sub(quotient, 1), quotient)
    whole = floor(quotient)
    return where(eq(b, 0), div(a, b), where(gt(sub(quotient, whole), 0.5), add(whole, 1), whole))


@entry
def trunc_divide(a: Operand, b: Operand) -> Array:
    return trunc(div(a, b))


@entry
def sign(x: Array) -> Array:
    """0 for NaN, as in PyTorch."""
    return where(gt(x, 0), constant(1, x.dtype), where(lt(x, 0), constant(-1, x.dtype), constant(0, x.dtype)))


@entry
def round(x: Array, *, decimals: int = 0) -> Array:
    if decimals:
        raise Untraceable("op 'round' to decimals cannot be fused")
    return rint(x)


@entry
def deg2rad(x: Array) -> Array:
    return mul(x, math.pi / 180)


@entry
def rad2deg(x: Array) -> Array:
    return mul(x, 180 / math.pi)
