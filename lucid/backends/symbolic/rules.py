"""The table of the operations that a formula may have: each as an expression of few primitive ones.

The primitive ones are what the kernels are written from (`lucid_kernels.cpu.fused`, `lucid_kernels.cuda.fused`).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from lucid_kernels.expression import Node

from .array import CAPTURED, SymbolicArray, Untraceable

Array = SymbolicArray
Operand = Any  # a SymbolicArray or a Python number
Rule = Callable[..., SymbolicArray]
_BOOL = np.dtype(bool)


class _Table(dict[str, Callable[..., Any]]):
    def __missing__(self, name: str) -> Any:
        raise Untraceable(f"op '{name}' is not among the elementwise operations that can be fused")


TABLE: dict[str, Callable[..., Any]] = _Table()


# ---- expressions ---------------------------------------------------------------------------------------------------------
def constant(value: Any, dtype: Any) -> Array:
    """A number in a formula."""
    return Array(Node("constant", dtype, (), bool(value) if dtype.kind == "b" else int(value) if dtype.kind in "iu"
                      else float(value)), 0)


def _number(value: Operand) -> Any:
    """`value` if it is a Python number. Raises Untraceable for arrays, which are not part of the formula."""
    if value.__class__ not in (bool, int, float):
        if value.__class__ is complex:
            raise Untraceable("complex numbers cannot be fused")
        raise Untraceable(CAPTURED)
    return value


def _same(*operands: Operand) -> list[Array]:
    """`operands` in their common dtype; Python numbers take that of the arrays."""
    dtypes = {operand.dtype for operand in operands if operand.__class__ is Array}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)
    return [_cast(operand, dtype) if operand.__class__ is Array else constant(_number(operand), dtype) for operand in operands]


def _cast(x: Array, dtype: Any) -> Array:
    if x.dtype == dtype:
        return x
    if dtype.kind == "c":
        raise Untraceable("complex numbers cannot be fused")
    return ne(x, 0) if dtype == _BOOL else _apply("cast", dtype, x)


def _apply(operation: str, dtype: Any, *operands: Array) -> Array:
    return Array(Node(operation, dtype, tuple([operand.node for operand in operands])), max(x.ndim for x in operands))


def _entry(rule: Rule) -> Rule:
    """Put `rule` into the table, with the `out` that every kernel takes."""
    def kernel(*operands: Any, out: Array | None = None, **attributes: Any) -> Array:
        for operand in operands:
            if operand.__class__ is Array and operand.dtype.kind == "c":
                raise Untraceable("complex numbers cannot be fused")
        result = rule(*operands, **attributes)
        if out is None:
            return result
        out.node = _cast(result, out.dtype).node
        return out

    TABLE[rule.__name__] = kernel
    return rule


def _primitive(name: str, dtype: Any = None) -> Rule:
    """The rule of an operation that the kernels have; the result has the dtype of the operands, or `dtype`."""
    def rule(*operands: Operand) -> Array:
        same = _same(*operands)
        return _apply(name, dtype or same[0].dtype, *same)

    rule.__name__ = name
    return _entry(rule)


exp, log, sqrt, tanh, sigmoid = map(_primitive, ("exp", "log", "sqrt", "tanh", "sigmoid"))
floor, trunc, rint, div, sub, log1p = map(_primitive, ("floor", "trunc", "rint", "div", "sub", "log1p"))
for _name in """expm1 log2 log10 sin cos tan sinh cosh arcsin arccos arctan arcsinh arccosh arctanh arctan2 erf erfc ceil
                neg""".split():
    _primitive(_name)
eq, ne, lt, le, gt, ge = (_primitive(name, _BOOL) for name in ("eq", "ne", "lt", "le", "gt", "ge"))
maximum, minimum = map(_primitive, ("maximum", "minimum"))
bitwise_and, bitwise_or, bitwise_xor = map(_primitive, ("bitwise_and", "bitwise_or", "bitwise_xor"))
_normal_cdf, _gauss = map(_primitive, ("normal_cdf", "gauss"))  # Phi(x), exp(-x^2 / 2)
del TABLE["rint"], TABLE["normal_cdf"], TABLE["gauss"]  # primitives that no operation is called by


# ---- arithmetic ----------------------------------------------------------------------------------------------------------
@_entry
def add(a: Operand, b: Operand) -> Array:
    a, b = _same(a, b)
    return _apply("bitwise_or" if a.dtype == _BOOL else "add", a.dtype, a, b)


@_entry
def mul(a: Operand, b: Operand) -> Array:
    a, b = _same(a, b)
    return _apply("bitwise_and" if a.dtype == _BOOL else "mul", a.dtype, a, b)


@_entry
def abs(x: Array) -> Array:
    return x if x.dtype.kind in "bu" else _apply("abs", x.dtype, x)


@_entry
def square(x: Array) -> Array:
    return mul(x, x)


@_entry
def reciprocal(x: Array) -> Array:
    return div(1, x)


@_entry
def rsqrt(x: Array) -> Array:
    return div(1, sqrt(x))


#: Exponents whose power takes no logarithm; PyTorch has the same.
_POWERS: dict[float, Rule] = {
    1: lambda x: x, 2: square, 3: lambda x: mul(square(x), x), 0.5: sqrt, -0.5: rsqrt, -1: reciprocal,
    -2: lambda x: reciprocal(square(x))}


@_entry
def power(a: Operand, b: Operand) -> Array:
    if b.__class__ in (int, float) and b in _POWERS:
        return _POWERS[b](a)
    a, b = _same(a, b)
    if a.dtype.kind not in "fV":
        raise Untraceable("op 'pow' of integers cannot be fused, but with the exponents 1, 2 and 3")
    return _apply("power", a.dtype, a, b)


@_entry
def exp2(x: Array) -> Array:
    return power(2, x)


_fmod = _primitive("fmod")


@_entry
def fmod(a: Operand, b: Operand) -> Array:
    return _fmod(*_floats("fmod", a, b))


def _floats(name: str, a: Operand, b: Operand) -> list[Array]:
    """Both operands of a division with rest."""
    same = _same(a, b)
    if same[0].dtype.kind not in "fV":
        raise Untraceable(f"op '{name}' of integers cannot be fused: a divisor may be zero")
    return same


def _other_sign(rest: Array, b: Array) -> Array:
    """Where the rest of a division that truncates is not that of one that rounds down."""
    return bitwise_and(ne(rest, 0), ne(lt(rest, 0), lt(b, 0)))


@_entry
def remainder(a: Operand, b: Operand) -> Array:
    a, b = _floats("remainder", a, b)
    rest = fmod(a, b)
    return where(_other_sign(rest, b), add(rest, b), rest)


@_entry
def floor_divide(a: Operand, b: Operand) -> Array:
    """By the rest, as NumPy and PyTorch do: the rounded quotient may reach the next integer."""
    a, b = _floats("floor_divide", a, b)
    rest = fmod(a, b)
    quotient = div(sub(a, rest), b)
    quotient = where(_other_sign(rest, b), sub(quotient, 1), quotient)
    whole = floor(quotient)
    return where(eq(b, 0), div(a, b), where(gt(sub(quotient, whole), 0.5), add(whole, 1), whole))


@_entry
def trunc_divide(a: Operand, b: Operand) -> Array:
    return trunc(div(a, b))


@_entry
def sign(x: Array) -> Array:
    """0 for NaN, as in PyTorch."""
    return where(gt(x, 0), constant(1, x.dtype), where(lt(x, 0), constant(-1, x.dtype), constant(0, x.dtype)))


@_entry
def round(x: Array, *, decimals: int = 0) -> Array:
    if decimals:
        raise Untraceable("op 'round' to decimals cannot be fused")
    return rint(x)


@_entry
def deg2rad(x: Array) -> Array:
    return mul(x, math.pi / 180)


@_entry
def rad2deg(x: Array) -> Array:
    return mul(x, 180 / math.pi)


# ---- logic and choice ----------------------------------------------------------------------------------------------------
@_entry
def where(condition: Array, a: Operand, b: Operand) -> Array:
    if condition.__class__ is not Array:
        raise Untraceable(CAPTURED)
    a, b = _same(a, b)
    return _apply("where", a.dtype, condition, a, b)


@_entry
def logical_not(x: Array) -> Array:
    return eq(x, 0)


@_entry
def bitwise_invert(x: Array) -> Array:
    return logical_not(x) if x.dtype == _BOOL else _apply("bitwise_invert", x.dtype, x)


def _logical(name: str, combine: Rule) -> None:
    def rule(a: Array, b: Array) -> Array:
        return combine(*[_cast(x, _BOOL) for x in _same(a, b)])

    rule.__name__ = name
    _entry(rule)


for _name in ("and", "or", "xor"):
    _logical(f"logical_{_name}", {"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor}[_name])


@_entry
def isnan(x: Array) -> Array:
    return ne(x, x)


@_entry
def isinf(x: Array) -> Array:
    return eq(abs(x), math.inf) if x.dtype.kind in "fV" else ne(x, x)


@_entry
def isfinite(x: Array) -> Array:
    return lt(abs(x), math.inf) if x.dtype.kind in "fV" else eq(x, x)


@_entry
def fmax(a: Operand, b: Operand) -> Array:
    a, b = _same(a, b)
    return where(bitwise_or(ge(a, b), isnan(b)), a, b)


@_entry
def fmin(a: Operand, b: Operand) -> Array:
    a, b = _same(a, b)
    return where(bitwise_or(le(a, b), isnan(b)), a, b)


@_entry
def clip(x: Array, low: Operand | None, high: Operand | None) -> Array:
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


@_entry
def masked_fill(x: Array, mask: Array, value: Operand) -> Array:
    return where(mask, value, x)


@_entry
def nan_to_num(x: Array, *, nan: float, posinf: float | None, neginf: float | None) -> Array:
    limits: Any = ml_dtypes.finfo(x.dtype)  # type: ignore[no-untyped-call]
    top, bottom = (float(limit) if value is None else value for limit, value in ((limits.max, posinf), (limits.min, neginf)))
    return where(isnan(x), nan, where(eq(x, math.inf), top, where(eq(x, -math.inf), bottom, x)))


@_entry
def lerp(x: Array, end: Array, weight: Operand) -> Array:
    """Computed from the nearer end, as the operation is."""
    step = sub(end, x)
    near, far = add(x, mul(step, weight)), sub(end, mul(step, sub(1, weight) if weight.__class__ is Array else 1 - weight))
    if weight.__class__ is Array:
        return where(lt(abs(weight), 0.5), near, far)
    return near if -0.5 < weight < 0.5 else far


@_entry
def xlogy(x: Operand, y: Operand) -> Array:
    x, y = _same(x, y)
    return where(bitwise_and(eq(x, 0), eq(y, y)), 0, mul(x, log(y)))


@_entry
def logaddexp(a: Operand, b: Operand) -> Array:
    a, b = _same(a, b)
    apart = log1p(exp(TABLE["neg"](abs(sub(a, b)))))
    return where(eq(a, b), add(a, math.log(2)), add(maximum(a, b), apart))  # equal infinities have no difference


# ---- activations ---------------------------------------------------------------------------------------------------------
@_entry
def relu(x: Array) -> Array:
    return maximum(x, 0)


@_entry
def relu_grad(g: Array, y: Array) -> Array:
    return where(le(y, 0), 0, g)


@_entry
def sigmoid_grad(g: Array, y: Array) -> Array:
    return mul(g, mul(y, sub(1, y)))


@_entry
def tanh_grad(g: Array, y: Array) -> Array:
    return mul(g, sub(1, mul(y, y)))


@_entry
def silu(x: Array) -> Array:
    return mul(x, sigmoid(x))


@_entry
def silu_grad(g: Array, x: Array) -> Array:
    s = sigmoid(x)
    return mul(g, mul(s, add(1, mul(x, sub(1, s)))))


_TWO_SQRT_2_OVER_PI, _CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def _gelu_argument(x: Array) -> Array:
    return mul(_TWO_SQRT_2_OVER_PI, add(x, mul(_CUBIC, mul(square(x), x))))


@_entry
def gelu(x: Array, *, approximate: str) -> Array:
    return mul(x, sigmoid(_gelu_argument(x)) if approximate == "tanh" else _normal_cdf(x))


@_entry
def gelu_grad(g: Array, x: Array, *, approximate: str) -> Array:
    if approximate == "tanh":
        u = _gelu_argument(x)
        s, rest = sigmoid(u), sigmoid(TABLE["neg"](u))  # 1 - s would cancel
        slope = mul(_TWO_SQRT_2_OVER_PI, add(1, mul(3 * _CUBIC, square(x))))
        return mul(g, add(s, mul(mul(x, mul(s, rest)), slope)))
    return mul(g, add(_normal_cdf(x), mul(x, mul(1 / math.sqrt(2 * math.pi), _gauss(x)))))


# ---- what changes nothing in a formula -----------------------------------------------------------------------------------
@_entry
def cast(x: Array, *, dtype: Any) -> Array:
    return _cast(x, np.dtype(dtype))


def _itself(x: Array, **memory: Any) -> Array:
    return x.copy()


for _name in ("copy", "contiguous", "conj"):
    _itself.__name__ = _name
    _entry(_itself)


def full(*, shape: Any, fill_value: Any, dtype: Any) -> Array:
    """A number as a tensor; the operations make some of those."""
    if tuple(shape):
        raise Untraceable("a formula cannot make a tensor with dimensions; use numbers, or make it an argument")
    return constant(fill_value, np.dtype(dtype))


TABLE["full"] = full
for _name in ("add", "sub", "mul", "div"):
    TABLE[f"large_{_name}"] = TABLE[_name]
