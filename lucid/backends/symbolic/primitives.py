"""The table of the operations that a formula may have, and those that the kernels have themselves.

The others, in the modules beside this one, are expressions of these. The kernels are written by `lucid_kernels.cpu.fused` and
`lucid_kernels.cuda.runtime.formula`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels import expression
from lucid_kernels.expression import Node

from ... import _dtypes
from .array import CAPTURED, SymbolicArray, Untraceable

Array = SymbolicArray
Operand = Any  # a SymbolicArray or a Python number
Rule = Callable[..., SymbolicArray]
BOOL = np.dtype(bool)


class _Table(dict[str, Callable[..., Any]]):
    def __missing__(self, name: str) -> Any:
        raise Untraceable(f"op '{name}' is not among the elementwise operations that can be fused")


TABLE: dict[str, Callable[..., Any]] = _Table()


# ---- expressions ---------------------------------------------------------------------------------------------------------
def constant(value: Any, dtype: Any) -> Array:
    """A number in a formula."""
    return Array(expression.constant(value, dtype), 0)


def _number(value: Operand) -> Any:
    """`value` if it is a Python number. Raises Untraceable for arrays, which are not part of the formula."""
    if value.__class__ not in (bool, int, float):
        if value.__class__ is complex:
            raise Untraceable("complex numbers cannot be fused")
        raise Untraceable(CAPTURED)
    return value


def same(*operands: Operand) -> list[Array]:
    """`operands` in their common dtype; Python scalars take that of the arrays."""
    dtypes = {operand.dtype for operand in operands if operand.__class__ is Array}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)
    return [cast_to(operand, dtype) if operand.__class__ is Array else constant(_number(operand), dtype)
            for operand in operands]


def cast_to(x: Array, dtype: Any) -> Array:
    """`x` itself if it has the `dtype`, else cast."""
    if x.dtype == dtype:
        return x
    if dtype.kind == "c":
        raise Untraceable("complex numbers cannot be fused")
    if dtype.__class__ in _dtypes.STORED_CLASSES:
        raise Untraceable(f"a cast to {dtype.name}, a dtype for storage, cannot be fused")
    return ne(x, 0) if dtype == BOOL else apply("cast", dtype, x)


def apply(operation: str, dtype: Any, *operands: Array) -> Array:
    """A primitive operation on operands of the right dtypes."""
    return Array(Node(operation, dtype, tuple([operand.node for operand in operands])), max(x.ndim for x in operands))


def entry(rule: Rule) -> Rule:
    """Put `rule` into the table, with the `out` that every kernel takes."""
    def kernel(*operands: Any, out: Array | None = None, **attributes: Any) -> Array:
        for operand in operands:
            if operand.__class__ is Array and operand.dtype.kind == "c":
                raise Untraceable("complex numbers cannot be fused")
        result = rule(*operands, **attributes)
        if out is None:
            return result
        out.node = cast_to(result, out.dtype).node
        return out

    TABLE[rule.__name__] = kernel
    return rule


def by_formula(formula: Callable[..., Node], *operands: Operand, **scalars: Any) -> Array:
    """What a formula of the kernels makes of `operands`, in their common dtype."""
    arrays = same(*operands)
    node = formula(*[x.node for x in arrays], **{name: _number(value) for name, value in scalars.items()})
    return Array(node, max(x.ndim for x in arrays))


def primitive(name: str, dtype: Any = None) -> Rule:
    """The rule of an operation that the kernels have; the result has the dtype of the operands, or `dtype`."""
    def rule(*operands: Operand) -> Array:
        converted = same(*operands)
        return apply(name, dtype or converted[0].dtype, *converted)

    rule.__name__ = name
    return entry(rule)


exp, log, sqrt, tanh, sigmoid = map(primitive, ("exp", "log", "sqrt", "tanh", "sigmoid"))
floor, trunc, rint, div, sub, log1p = map(primitive, ("floor", "trunc", "rint", "div", "sub", "log1p"))
neg, fmod = primitive("neg"), primitive("fmod")
for _name in """expm1 log2 log10 sin cos tan sinh cosh arcsin arccos arctan arcsinh arccosh arctanh arctan2 erf erfc
                ceil""".split():
    primitive(_name)
eq, ne, lt, le, gt, ge = (primitive(name, BOOL) for name in ("eq", "ne", "lt", "le", "gt", "ge"))
maximum, minimum = map(primitive, ("maximum", "minimum"))
bitwise_and, bitwise_or, bitwise_xor = map(primitive, ("bitwise_and", "bitwise_or", "bitwise_xor"))
del TABLE["rint"]  # a primitive that no operation is called by


@entry
def add(a: Operand, b: Operand) -> Array:
    a, b = same(a, b)
    if a.node.operation == "expm1" and b.node.operation == "constant" and b.node.value == 1:  # as in its own gradient
        return apply("exp", a.dtype, Array(a.node.operands[0], a.ndim))
    return apply("bitwise_or" if a.dtype == BOOL else "add", a.dtype, a, b)


@entry
def mul(a: Operand, b: Operand) -> Array:
    a, b = same(a, b)
    return apply("bitwise_and" if a.dtype == BOOL else "mul", a.dtype, a, b)


@entry
def abs(x: Array) -> Array:
    return x if x.dtype.kind in "bu" else apply("abs", x.dtype, x)


@entry
def where(condition: Array, a: Operand, b: Operand) -> Array:
    if condition.__class__ is not Array:
        raise Untraceable(CAPTURED)
    a, b = same(a, b)
    return apply("where", a.dtype, condition, a, b)


# ---- what changes nothing in a formula -----------------------------------------------------------------------------------
@entry
def cast(x: Array, *, dtype: Any) -> Array:
    return cast_to(x, np.dtype(dtype))


def _itself(x: Array, **memory: Any) -> Array:
    return x.copy()


for _name in ("copy", "contiguous", "conj"):
    _itself.__name__ = _name
    entry(_itself)


def full(*, shape: Any, fill_value: Any, dtype: Any) -> Array:
    """A number as a tensor; the operations make some of those."""
    if tuple(shape):
        raise Untraceable("a formula cannot make a tensor with dimensions; use numbers, or make it an argument")
    return constant(fill_value, np.dtype(dtype))


TABLE["full"] = full
