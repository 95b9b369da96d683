"""Logic and choice in formulas."""
from __future__ import annotations

import math
from typing import Any

import ml_dtypes

from .primitives import (
    BOOL,
    Array,
    Operand,
    Rule,
    abs,
    add,
    apply,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cast_to,
    entry,
    eq,
    exp,
    ge,
    le,
    log,
    log1p,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    same,
    sub,
    where,
)


@entry
def logical_not(x: Array) -> Array:
    return eq(x, 0)


@entry
def bitwise_invert(x: Array) -> Array:
    return logical_not(x) if x.dtype == BOOL else apply("bitwise_invert", x.dtype, x)


def _logical(name: str, combine: Rule) -> None:
    def rule(a: Array, b: Array) -> Array:
        return combine(*[cast_to(x, BOOL) for x in same(a, b)])

    rule.__name__ = name
    entry(rule)


for _name in ("and", "or", "xor"):
    _logical(f"logical_{_name}", {"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor}[_name])


@entry
def isnan(x: Array) -> Array:
    return ne(x, x)


@entry
def isinf(x: Array) -> Array:
    return eq(abs(x), math.inf) if x.dtype.kind in "fV" else ne(x, x)


@entry
def isfinite(x: Array) -> Array:
    return lt(abs(x), math.inf) if x.dtype.kind in "fV" else eq(x, x)


@entry
def fmax(a: Operand, b: Operand) -> Array:
    a, b = same(a, b)
    return where(bitwise_or(ge(a, b), isnan(b)), a, b)


@entry
def fmin(a: Operand, b: Operand) -> Array:
    a, b = same(a, b)
    return where(bitwise_or(le(a, b), isnan(b)), a, b)


@entry
def clip(x: Array, low: Operand | None, high: Operand | None) -> Array:
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


@entry
def masked_fill(x: Array, mask: Array, value: Operand) -> Array:
    return where(mask, value, x)


@entry
def nan_to_num(x: Array, *, nan: float, posinf: float | None, neginf: float | None) -> Array:
    limits: Any = ml_dtypes.finfo(x.dtype)  # type: ignore[no-untyped-call]
    top, bottom = (float(limit) if value is None else value for limit, value in ((limits.max, posinf), (limits.min, neginf)))
    return where(isnan(x), nan, where(eq(x, math.inf), top, where(eq(x, -math.inf), bottom, x)))


@entry
def xlogy(x: Operand, y: Operand) -> Array:
    x, y = same(x, y)
    return where(bitwise_and(eq(x, 0), eq(y, y)), 0, mul(x, log(y)))


@entry
def binary_cross_entropy(x: Array, target: Array) -> Array:
    return sub(mul(sub(target, 1), maximum(log1p(neg(x)), -100)), mul(target, maximum(log(x), -100)))


@entry
def logaddexp(a: Operand, b: Operand) -> Array:
    a, b = same(a, b)
    apart = log1p(exp(neg(abs(sub(a, b)))))
    return where(eq(a, b), add(a, math.log(2)), add(maximum(a, b), apart))  # equal infinities have no difference


@entry
def logaddexp2(a: Operand, b: Operand) -> Array:
    a, b = same(a, b)
    apart = mul(log1p(exp(mul(neg(abs(sub(a, b))), math.log(2)))), 1 / math.log(2))
    return where(eq(a, b), add(a, 1.0), add(maximum(a, b), apart))
