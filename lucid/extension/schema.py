"""The signature of an operation: ``name(x, weight, bias=None, *, eps=1e-6) -> y, scale``."""
from __future__ import annotations

import ast
import functools
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

REQUIRED = object()
_FORM = re.compile(r"^\s*(?P<name>[A-Za-z_]\w*)?\s*\((?P<inputs>.*)\)\s*->\s*(?P<outputs>.*?)\s*$", re.DOTALL)


@dataclass(frozen=True)
class Schema:
    """The names of an operation's inputs, scalars and outputs.

    written: the inputs that it writes. optional: the inputs that may be None. scalars: their defaults, or `REQUIRED`.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scalars: dict[str, Any]
    written: frozenset[str]
    optional: frozenset[str]

    @functools.cached_property
    def demands(self) -> bool:
        """Whether it has a scalar without a default."""
        return any(value is REQUIRED for value in self.scalars.values())

    def __str__(self) -> str:
        inputs = [name + "!" * (name in self.written) + "=None" * (name in self.optional) for name in self.inputs]
        scalars = [name if value is REQUIRED else f"{name}={value!r}" for name, value in self.scalars.items()]
        return f"{self.name}({', '.join([*inputs, *(['*', *scalars] if scalars else [])])}) -> {', '.join(self.outputs)}"

    def bind(self, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The inputs in order, and the scalars. Raises TypeError, as Python does for a function."""
        if len(args) > len(self.inputs):
            raise TypeError(f"{self} takes {len(self.inputs)} positional arguments but {len(args)} were given")
        given = dict(zip(self.inputs, args))  # noqa: B905 - the rest comes by keyword
        scalars = {}
        for name, value in keywords.items():
            if name in given:
                raise TypeError(f"{self} got multiple values for argument '{name}'")
            if name in self.inputs:
                given[name] = value
            elif name in self.scalars:
                scalars[name] = value
            else:
                raise TypeError(f"{self} got an unexpected keyword argument '{name}'")
        missing = [name for name in self.inputs if name not in given and name not in self.optional]
        missing += [name for name, value in self.scalars.items() if value is REQUIRED and name not in scalars]
        if missing:
            raise TypeError(f"{self} is missing {', '.join(map(repr, missing))}")
        return ([given.get(name) for name in self.inputs],
                {name: scalars.get(name, default) for name, default in self.scalars.items()})


def parse(text: str, name: str | None = None, scalars: dict[str, Any] | None = None) -> Schema:
    """The schema that `text` writes down, with `name` and `scalars` where it has none. Raises ValueError that shows the form."""
    match = _FORM.match(text)
    if match is None or not (match["name"] or name):
        raise ValueError(f"{text!r} is no signature: write it like 'name(x, weight, bias=None, *, eps=1e-6) -> y', "
                         "an input that is written as 'x!'")
    own = match["name"] or name or ""
    inputs: list[str] = []
    written: set[str] = set()
    optional: set[str] = set()
    found: dict[str, Any] = {}
    behind = False
    for part in _split(match["inputs"]):
        if part == "*":
            behind = True
            continue
        label, has_default, default = (piece.strip() for piece in part.partition("="))
        if behind:
            found[label] = _number(own, label, default) if has_default else REQUIRED
        else:
            if label.endswith("!"):
                label = label[:-1].rstrip()
                written.add(label)
            if has_default:
                if default != "None":
                    raise ValueError(f"{own}: the default of the input '{label}' can only be None; scalars stand behind '*'")
                optional.add(label)
            inputs.append(label)
    outputs = [part for part in _split(match["outputs"]) if part != "()"]
    for number, label in enumerate([*inputs, *found, *outputs]):
        if not label.isidentifier() or keyword.iskeyword(label):
            raise ValueError(f"{own}: {label!r} is not a name")
        if label in [*inputs, *found, *outputs][:number]:
            raise ValueError(f"{own}: the name '{label}' stands there twice")
    if not inputs:
        raise ValueError(f"{own}: an operation needs an input")
    if not outputs and not written:
        raise ValueError(f"{own}: an operation needs an output, or an input that it writes ('x!')")
    return Schema(own, tuple(inputs), tuple(outputs), found or dict(scalars or {}), frozenset(written), frozenset(optional))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(operation: str, name: str, text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if not isinstance(value, (bool, int, float)):
        raise ValueError(f"{operation}: the default of '{name}' must be a number, not {text!r}")
    return value
