"""Formulas as text, in C's spelling: ``t = exp(-x); x > 0 ? x : a * t``. Parsed here, and computed by lucid's operations."""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import lucid

_TOKEN = re.compile(r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fF]?|(?P<name>[A-Za-z_]\w*)"
                    r"|(?P<sign><=|>=|==|!=|&&|\|\||\*\*|[-+*/%<>!?:(),;=]))")
_LEVELS: dict[str, int] = {"?": 1, "||": 2, "&&": 3, "==": 4, "!=": 4, "<": 5, "<=": 5, ">": 5, ">=": 5, "+": 6, "-": 6,
                           "*": 7, "/": 7, "%": 7, "**": 9}
_UNARY = 8
_FUNCTIONS = """
abs acos acosh asin asinh atan atan2 atanh ceil clamp cos cosh erf erfc exp exp2 expm1 floor fmod isfinite isinf isnan
lerp log log10 log1p log2 logaddexp maximum minimum pow reciprocal relu round rsqrt sigmoid sign sin sinh sqrt square
tan tanh trunc where xlogy"""
_OF_TENSORS = frozenset("atan2 logaddexp maximum minimum fmax fmin max min".split())  # which take no number
_OTHER_NAMES = {"fabs": "abs", "fmax": "maximum", "fmin": "minimum", "max": "maximum", "min": "minimum", "power": "pow"}
_CONSTANTS = {"pi": lucid.pi, "inf": lucid.inf, "nan": lucid.nan, "true": True, "false": False}
Value = Any
Names = dict[str, Value]
Term = Callable[[Names], Value]


def _functions() -> dict[str, Callable[..., Value]]:
    found = {name: getattr(lucid, name) for name in _FUNCTIONS.split() if hasattr(lucid, name)}
    found.update({name: found[other] for name, other in _OTHER_NAMES.items()})
    return found


FUNCTIONS = _functions()


def _is_tensor(*values: Value) -> bool:
    return any(isinstance(value, lucid.Tensor) for value in values)


def _choose(condition: Value, a: Value, b: Value) -> Value:
    if not _is_tensor(condition):
        return a if condition else b
    return lucid.where(condition, a, b)


def _both(a: Value, b: Value) -> Value:
    """a && b: a number is a choice that is made already."""
    if not _is_tensor(a):
        return (b != 0 if _is_tensor(b) else bool(b)) if a else (lucid.logical_and(b == 0, b != 0) if _is_tensor(b) else False)
    return _both(b, a) if not _is_tensor(b) else lucid.logical_and(a, b)


def _either(a: Value, b: Value) -> Value:
    """a || b."""
    return _not(_both(_not(a), _not(b)))


def _not(a: Value) -> Value:
    return lucid.logical_not(a) if _is_tensor(a) else not a


_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "%": lambda a, b: lucid.fmod(a, b) if _is_tensor(a, b) else a - b * int(a / b),
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "&&": _both, "||": _either}


class Formula:
    """A parsed formula: `names` are those that it reads before it has set them, in order. ``formula(values)`` is a tuple of
    results.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self._set: set[str] = set()
        self._tokens = self._read()
        self._place = 0
        self._steps: list[tuple[str, Term]] = []
        self.results: list[Term] = []
        self._statements()

    def __call__(self, values: Mapping[str, Value]) -> tuple[Value, ...]:
        names = dict(values)
        for name, term in self._steps:
            names[name] = term(names)
        return tuple([term(names) for term in self.results])

    # ---- reading -------------------------------------------------------------------------------------------------------
    def _read(self) -> list[tuple[str, str, int]]:
        tokens, place = [], 0
        text = self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._wrong("what is this?", place)
            kind = match.lastgroup or ""
            tokens.append((kind, match[kind], match.start(kind)))
            place = match.end()
        return [*tokens, ("end", "", len(text))]

    def _wrong(self, what: str, place: int | None = None) -> ValueError:
        place = self._tokens[self._place][2] if place is None else place
        return ValueError(f"{what}\n    {self.text}\n    {' ' * place}^")

    def _is(self, sign: str) -> bool:
        return self._tokens[self._place][:2] == ("sign", sign)

    def _take(self, sign: str) -> None:
        if not self._is(sign):
            raise self._wrong(f"here should be '{sign}'")
        self._place += 1

    def _statements(self) -> None:
        while True:
            kind, text, _ = self._tokens[self._place]
            if kind == "name" and self._tokens[self._place + 1][1] == "=":
                self._place += 2
                self._steps.append((text, self._expression()))
                self._set.add(text)
                self._take(";")
                continue
            self.results.append(self._expression())
            while self._is(","):
                self._place += 1
                self.results.append(self._expression())
            if self._is(";"):
                self._place += 1
            if self._tokens[self._place][0] != "end":
                raise self._wrong("the formula should end here: its last statement is its result")
            return

    def _expression(self, least: int = 0) -> Term:
        left = self._operand()
        while True:
            sign = self._tokens[self._place][1] if self._tokens[self._place][0] == "sign" else ""
            level = _LEVELS.get(sign, -1)
            if level < least or level < 0:
                return left
            self._place += 1
            if sign == "?":
                yes = self._expression()
                self._take(":")
                left = _call(_choose, [left, yes, self._expression(level)])
            else:
                left = _call(_BINARY[sign], [left, self._expression(level if sign == "**" else level + 1)])

    def _operand(self) -> Term:
        kind, text, _ = self._tokens[self._place]
        self._place += 1
        if kind == "number":
            number = int(text) if text.isdigit() else float(text)
            return lambda names: number
        if kind == "name":
            return self._call_of(text) if self._is("(") else self._named(text)
        if text in ("-", "+"):
            inner = self._expression(_UNARY)
            return inner if text == "+" else _call(operator.neg, [inner])
        if text == "!":
            return _call(_not, [self._expression(_UNARY)])
        if text == "(":
            inner = self._expression()
            self._take(")")
            return inner
        self._place -= 1
        raise self._wrong("here should be a number, a name or a parenthesis")

    def _named(self, name: str) -> Term:
        if name in _CONSTANTS and name not in self._set:
            value = _CONSTANTS[name]
            return lambda names: value
        if name not in self._set and name not in self.names:
            self.names.append(name)
        return lambda names: names[name]

    def _call_of(self, name: str) -> Term:
        if name not in FUNCTIONS:
            self._place -= 1
            raise self._wrong(f"there is no function '{name}'; there are {', '.join(sorted(FUNCTIONS))}")
        function = FUNCTIONS[name]
        self._take("(")
        operands = [self._expression()]
        while self._is(","):
            self._place += 1
            operands.append(self._expression())
        self._take(")")

        def apply(*values: Value) -> Value:
            like = next((value for value in values if isinstance(value, lucid.Tensor)), None)
            if like is None:
                raise ValueError(f"'{name}' of numbers alone in the formula {self.text!r}: compute it beforehand")
            return function(*[value if isinstance(value, lucid.Tensor) or (place and name not in _OF_TENSORS) else
                              lucid.where(like == like, value, value).to(like.dtype) for place, value in enumerate(values)])

        return _call(apply, operands)


def _call(function: Callable[..., Value], operands: list[Term]) -> Term:
    return lambda names: function(*[operand(names) for operand in operands])
