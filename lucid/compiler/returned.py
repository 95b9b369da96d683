"""Numbers of tensors in the line that returns: ``return loss.item() / len(x), accuracy.item()``.

A replay can compute such a line again if all that happens to the numbers is known: they are operands of arithmetic and of
functions of Python that have no effects, and stand in tuples, lists and dicts. The line is looked up in the source.
"""
from __future__ import annotations

import ast
import builtins
import dis
import functools
import linecache
import math
import operator
import types
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor

_OPERATORS: dict[type, tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul), ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod), ast.Pow: ("**", operator.pow)}
_SIGNS: dict[type, str] = {ast.UAdd: "+", ast.USub: "-"}
_FUNCTIONS = frozenset((round, abs, float, int, min, max))
_LOOKS = frozenset(("size", "numel", "dim"))  # methods that ask for shapes
Place = tuple[int, int, int, int]


class Unknown(Exception):
    """Something else happens to a number."""


class Expression:
    """What is computed of numbers, as nested tuples: ("number", place, function that reads it), ("value", v), ("call", function,
    arguments…) and (operator, operands…).
    """

    __slots__ = ("tree",)

    def __init__(self, tree: tuple[Any, ...]) -> None:
        self.tree = tree


def place_of(frame: types.FrameType) -> Place | None:
    """Where the call stands in the source that `frame` is in."""
    positions = list(frame.f_code.co_positions())
    found = positions[frame.f_lasti // 2] if frame.f_lasti // 2 < len(positions) else (None,) * 4
    line, end, column, last = found
    return None if line is None or end is None or column is None or last is None else (line, end, column, last)


@functools.lru_cache(16)
def _returns(file: str) -> tuple[ast.Return, ...]:
    """The statements of a file that return something."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    return tuple([node for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None])


def _returned_around(file: str, here: Place) -> Any:
    """What the statement around a place returns. Raises `Unknown` if it returns nothing."""
    found = [node for node in _returns(file) if (node.lineno, node.col_offset) <= (here[0], here[2])
             and (here[1], here[3]) <= (node.end_lineno or 0, node.end_col_offset or 0)]
    if not found:
        raise Unknown
    return found[-1].value


def _place(node: Any) -> Place:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


class ReturnLine:
    """The line in which `frame` returns. Raises `Unknown` if it is none, or does something else with numbers."""

    def __init__(self, frame: types.FrameType) -> None:
        here = place_of(frame)
        if here is None:
            raise Unknown
        self.read: dict[Place, Any] = {}  # arrays by the calls that have read them
        self._frame = frame
        try:
            value = _returned_around(frame.f_code.co_filename, here)
            self._reads = {_place(node) for node in ast.walk(value) if _is_read(node)}
            self._value = self._structure(value)
        except Unknown:  # there is no source, or it is a lambda
            if not _returns_at_once(frame):
                raise
            self._reads, self._value = {here}, Expression(("number", here, None))
        finally:
            del self._frame

    def take(self, frame: types.FrameType, inner: types.CodeType, array: Any) -> bool:
        """Whether `frame`, which reads the only element of `array` through `inner`, does so where the line does."""
        place = place_of(frame)
        if place is None or place not in self._reads or place in self.read or inner not in (
                Tensor.item.__code__, Tensor.__float__.__code__, Tensor.__int__.__code__):
            return False
        self.read[place] = array
        return True

    def with_values(self, result: Any) -> Any:
        """`result`, with an `Expression` in the place of each number. Raises `Unknown` if it is built otherwise."""
        if self.read.keys() != self._reads:
            raise Unknown
        return _filled(self._value, result)

    def _structure(self, node: Any) -> Any:
        """Containers with Expressions in them; None stands for what has nothing to do with numbers."""
        if not any(map(_is_read, ast.walk(node))):
            return None
        if isinstance(node, (ast.Tuple, ast.List)):
            items = [self._structure(item) for item in node.elts]
            return tuple(items) if isinstance(node, ast.Tuple) else items
        if isinstance(node, ast.Dict):
            if not all(isinstance(key, ast.Constant) for key in node.keys):
                raise Unknown
            return {key.value: self._structure(item) for key, item in zip(node.keys, node.values, strict=True)}  # type: ignore[union-attr]
        return Expression(self._tree(node))

    def _tree(self, node: Any) -> tuple[Any, ...]:
        if _is_read(node) and isinstance(node.func, ast.Name):
            number = self._plain(node.args[0])
            if number is not None:  # of no tensor
                self._reads.discard(_place(node))
                return "value", getattr(builtins, node.func.id)(number)
        if _is_read(node):
            return "number", _place(node), None if isinstance(node.func, ast.Attribute) else node.func.id
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)][0], self._tree(node.left), self._tree(node.right)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
            return _SIGNS[type(node.op)], self._tree(node.operand)
        if isinstance(node, ast.Call) and not node.keywords and any(map(_is_read, ast.walk(node))):
            function = self._evaluated(node.func)
            if function in _FUNCTIONS or getattr(math, getattr(function, "__name__", ""), None) is function:
                return "call", function, *map(self._tree, node.args)
            raise Unknown
        if any(map(_is_read, ast.walk(node))):
            raise Unknown
        value = self._plain(node)
        if value is None:
            raise Unknown
        return "value", value

    def _plain(self, node: Any) -> Any:
        """The number of Python's that is there, if it is one."""
        try:
            value = self._evaluated(node)
        except (Unknown, LookupError, NameError, AttributeError):
            return None
        return value if value.__class__ in (bool, int, float) else None

    def _evaluated(self, node: Any) -> Any:
        """What a name, an attribute or a question for a shape is; it is evaluated once more for that."""
        inner = node
        if isinstance(inner, ast.Call) and not inner.keywords and (
                (isinstance(inner.func, ast.Name) and self._evaluated(inner.func) is len and len(inner.args) == 1)
                or (isinstance(inner.func, ast.Attribute) and inner.func.attr in _LOOKS)):
            for argument in inner.args:
                self._evaluated(argument)
            inner = inner.args[0] if isinstance(inner.func, ast.Name) else inner.func.value
        if isinstance(inner, ast.Subscript) and isinstance(inner.slice, (ast.Constant, ast.UnaryOp)):
            inner = inner.value
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        if not isinstance(inner, (ast.Name, ast.Constant)):
            raise Unknown
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<lucid.compile>", "eval")
        return eval(code, self._frame.f_globals, self._frame.f_locals)


def _returns_at_once(frame: types.FrameType) -> bool:
    """Whether a function whose source is not there returns what it is calling as it is."""
    instructions = [*dis.get_instructions(frame.f_code)]
    place = max(number for number, instruction in enumerate(instructions) if instruction.offset <= frame.f_lasti)
    return [instruction.opname for instruction in instructions[place : place + 2]] == ["CALL", "RETURN_VALUE"]


def _is_read(node: Any) -> bool:
    """Whether a call reads a number: ``x.item()``, ``float(x)`` or ``int(x)``, of something that may be a tensor."""
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "item" and not node.args
    return isinstance(node.func, ast.Name) and node.func.id in ("float", "int") and len(node.args) == 1 and not any(
        map(_is_read, ast.walk(node.args[0])))


def _filled(structure: Any, value: Any) -> Any:
    if structure is None or isinstance(structure, Expression):
        return value if structure is None else structure
    if structure.__class__ is not value.__class__ or len(structure) != len(value):
        raise Unknown
    if isinstance(structure, dict):
        if list(structure) != list(value):
            raise Unknown
        return {key: _filled(structure[key], value[key]) for key in value}
    return value.__class__([_filled(a, b) for a, b in zip(structure, value, strict=True)])


def replaced(tree: tuple[Any, ...], symbols: dict[Any, Any]) -> tuple[Any, ...]:
    """An expression with `symbols` in the place of the numbers' places."""
    if tree[0] == "number":
        return "number", symbols[tree[1]], tree[2]
    return tuple([replaced(part, symbols) if part.__class__ is tuple and tree[0] != "value" else part for part in tree])


def written(tree: tuple[Any, ...], number: Callable[[Any], str], name: Callable[[Any], str]) -> str:
    """The source of an expression: `number` gives that of the tensor with a symbol, `name` that of a value."""
    kind = tree[0]
    if kind == "number":
        return f"{number(tree[1])}.item()" if tree[2] is None else f"{name(getattr(builtins, tree[2]))}({number(tree[1])})"
    if kind == "value":
        return f"({name(tree[1])})"
    parts = [written(part, number, name) for part in tree[1:] if part.__class__ is tuple]
    if kind == "call":
        return f"{name(tree[1])}({', '.join(parts)})"
    return f"({kind}{parts[0]})" if len(parts) == 1 else f"({parts[0]} {kind} {parts[1]})"


def value_of(tree: tuple[Any, ...], tensors: dict[Any, Any]) -> Any:
    """What an expression is for the numbers of `tensors`."""
    names: dict[str, Any] = {}

    def name(value: Any) -> str:
        names[f"c{len(names)}"] = value
        return f"c{len(names) - 1}"

    return eval(written(tree, lambda place: name(tensors[place]), name), names)
