"""Elementwise operations: the formula of each, by which kernels are compiled, operator by operator."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lucid_kernels.expression import Node, operands_first

from .. import backends
from .errors import ExportError
from .graph import Graph, emits
from .runs import Length
from .tracing import Event, Ref

_DIRECT = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs", "exp": "Exp", "exp_nonpositive": "Exp",
    "log": "Log", "sqrt": "Sqrt",
    "tanh": "Tanh", "sigmoid": "Sigmoid", "floor": "Floor", "ceil": "Ceil", "rint": "Round", "erf": "Erf", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "sinh": "Sinh", "cosh": "Cosh", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan",
    "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh", "power": "Pow", "eq": "Equal", "lt": "Less", "le": "LessOrEqual",
    "gt": "Greater", "ge": "GreaterOrEqual", "maximum": "Max", "minimum": "Min", "where": "Where",
}
_BITS = {"bitwise_and": ("And", "BitwiseAnd"), "bitwise_or": ("Or", "BitwiseOr"), "bitwise_xor": ("Xor", "BitwiseXor"),
         "bitwise_invert": ("Not", "BitwiseNot")}


_COMPOSED: dict[str, Callable[..., str]] = {
    "log1p": lambda g, d, x: g.node("Log", g.node("Add", x, g.constant(1, d))),
    "expm1": lambda g, d, x: g.node("Sub", g.node("Exp", x), g.constant(1, d)),
    "erfc": lambda g, d, x: g.node("Sub", g.constant(1, d), g.node("Erf", x)),
    "normal_cdf": lambda g, d, x: g.node("Mul", g.constant(0.5, d), g.node("Add", g.constant(1, d), g.node(
        "Erf", g.node("Mul", x, g.constant(math.sqrt(0.5), d))))),
    "log2": lambda g, d, x: g.node("Mul", g.node("Log", x), g.constant(1 / math.log(2), d)),
    "log10": lambda g, d, x: g.node("Mul", g.node("Log", x), g.constant(1 / math.log(10), d)),
    "trunc": lambda g, d, x: g.node("Mul", g.node("Sign", x), g.node("Floor", g.node("Abs", x))),
    "fmod": lambda g, d, x, y: g.node("Mod", x, y, fmod=1),
    "hypot": lambda g, d, x, y: g.node("Sqrt", g.node("Add", g.node("Mul", x, x), g.node("Mul", y, y))),
    "ne": lambda g, d, x, y: g.node("Not", g.node("Equal", x, y)),
}


def formula(g: Graph, roots: Sequence[Node], inputs: Sequence[str | None]) -> list[str]:
    """The names of the values of `roots`, for inputs with these names."""
    names: dict[int, str] = {}
    for node in operands_first(roots):
        names[id(node)] = _written(g, node, [names[id(operand)] for operand in node.operands], inputs)
    return [names[id(root)] for root in roots]


def _written(g: Graph, node: Node, operands: list[str], inputs: Sequence[str | None]) -> str:
    name, dtype = node.operation, node.dtype
    if name == "input":
        found = inputs[node.value]
        assert found is not None
        return found
    if name == "constant":
        return g.constant(node.value, dtype)
    if name == "cast":
        return operands[0] if node.operands[0].dtype == dtype else g.cast(operands[0], dtype)
    if name in _BITS:
        return g.node(_BITS[name][dtype.kind != "b"], *operands)
    if name in ("add", "maximum") and dtype.kind == "b":
        return g.node("Or", *operands)
    if name in ("mul", "minimum") and dtype.kind == "b":
        return g.node("And", *operands)
    if name == "where" and dtype.kind == "b":  # missing in runtimes
        condition, a, b = operands
        return g.node("Or", g.node("And", condition, a), g.node("And", g.node("Not", condition), b))
    if name in _DIRECT:
        return g.node(_DIRECT[name], *operands)
    if name in _COMPOSED:
        return _COMPOSED[name](g, dtype, *operands)
    raise ExportError(f"{g.line}: '{name}' has no operator in ONNX")


#: Kernels of other names whose formulas are among those of `lucid.fuse`.
KERNELS = sorted(set(backends.symbolic_module().TABLE) - {"full", "arctan2", "cast", "copy", "contiguous", "conj"})


@emits(" ".join(KERNELS), "operator by operator")
def _elementwise(g: Graph, event: Event) -> list[str]:
    symbolic = backends.symbolic_module()
    symbols: list[Any] = []
    names: list[str | None] = []
    dtypes = [g.dtype(operand) for operand in event.operands if isinstance(operand, Ref)]
    for operand in event.operands:
        if isinstance(operand, Ref):
            symbols.append(symbolic.argument(len(names), g.dtype(operand), bool(g.shape(operand))))
            names.append(g.name(operand))
        elif isinstance(operand, Length):
            symbols.append(symbolic.argument(len(names), dtypes[0], False))
            names.append(g.name(operand, dtypes[0]))
        else:
            symbols.append(operand)
    if any(dtype.kind == "c" for dtype in dtypes):
        raise ExportError(f"{g.line}: complex numbers cannot be exported")
    attributes = event.attributes.all()  # type: ignore[attr-defined]
    if any(isinstance(value, Length) for value in attributes.values()):
        raise ExportError(f"{g.line}: '{event.kernel}' computes with a number that depends on a dynamic length")
    if event.kernel in ("floor_divide", "remainder") and dtypes[0].kind in "iu":
        return _whole(g, event)
    try:
        result = symbolic.TABLE[event.kernel](*symbols, **attributes)
    except symbolic.Untraceable as error:
        raise ExportError(f"{g.line}: '{event.kernel}': {error}") from error
    wanted = g.values[event.results[0]].dtype  # type: ignore[index]
    found = formula(g, [result.node], names)[0]
    return [found if result.dtype == wanted else g.cast(found, wanted)]


def _whole(g: Graph, event: Event) -> list[str]:
    """Quotients and rests of integers, rounded down."""
    wanted = g.values[event.results[0]].dtype  # type: ignore[index]
    a, b = [g.name(x, wanted) if not isinstance(x, Ref) or g.dtype(x) == wanted else g.cast(g.name(x), wanted)
            for x in event.operands]
    rest = g.node("Mod", a, b)
    return [rest if event.kernel == "remainder" else g.node("Div", g.node("Sub", a, rest), b)]


@emits("fused", "operator by operator")
def _fused(g: Graph, event: Event) -> list[str]:
    names = [None if operand is None else g.name(operand) for operand in event.operands]
    return formula(g, event.attributes["program"].nodes, names)


@emits("cast copy contiguous conj real", "Cast, Identity")
def _cast(g: Graph, event: Event) -> list[str]:
    operand, wanted = event.operands[0], g.values[event.results[0]].dtype  # type: ignore[index]
    if g.dtype(operand).kind == "c":
        raise ExportError(f"{g.line}: complex numbers cannot be exported")
    return [g.name(operand) if g.dtype(operand) == wanted else g.cast(g.name(operand), wanted)]
