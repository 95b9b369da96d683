"""The graph while it is written: nodes, constants, and numbers that depend on lengths of the inputs."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .errors import ExportError
from .library import element_type, library
from .runs import Known, Length
from .tracing import Event, Ref

Emitter = Callable[["Graph", Event], Sequence[str | None]]
EMITTERS: dict[str, Emitter] = {}
ONNX_NAMES: dict[str, str] = {}  # for the documentation: by which operators of ONNX a kernel is written


def emits(kernels: str, operators: str) -> Callable[[Emitter], Emitter]:
    """Let a function write the calls of `kernels`, with `operators` of ONNX."""
    def note(function: Emitter) -> Emitter:
        for name in kernels.split():
            EMITTERS[name] = function
            ONNX_NAMES[name] = operators
        return function

    return note


class TrackedAttributes(dict[str, Any]):
    """Attributes that know which of them were read."""

    def __init__(self, entries: dict[str, Any]) -> None:
        super().__init__(entries)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The attribute or `default`."""
        self.read.add(key)
        return super().get(key, default)

    def all(self) -> dict[str, Any]:
        """All of them."""
        self.read |= self.keys()
        return dict(self)


class Graph:
    """What has been written so far. Emitters ask it for the names of values and add nodes."""

    def __init__(self, values: Sequence[Known], events: Sequence[Event], taken: Sequence[str]) -> None:
        self.values, self.events, self.taken = values, events, set(taken)
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.names: dict[int, str] = {}  # of values
        self.lengths: dict[tuple[int, ...], tuple[str, int]] = {}  # where a length can be read: a value and its axis
        self.producers = {number: event for event in events for number in event.results if number is not None}
        self._numbers: dict[Any, str] = {}
        self._count = itertools.count()
        self.line = ""
        self.used: set[int] = set()  # values that something reads
        self.asked: set[int] = set()  # those whose names the present call has asked for

    def unique(self, name: str) -> str:
        """`name`, or a longer one where there is one of that name."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # ---- nodes and constants ---------------------------------------------------------------------------------------
    def node(self, operator: str, *inputs: str | None, **attributes: Any) -> str:
        """The name of the only output of a new node."""
        return self.nodes_outputs(operator, 1, *inputs, **attributes)[0]

    def nodes_outputs(self, operator: str, count: int, *inputs: str | None, **attributes: Any) -> list[str]:
        """The names of the outputs of a new node."""
        number = next(self._count)
        outputs = [self.unique(f"{operator}_{number}" + (f"_{place}" if count > 1 else "")) for place in range(count)]
        names = [name or "" for name in inputs]
        while names and not names[-1]:
            names.pop()
        self.nodes.append(library().helper.make_node(operator, names, outputs, **attributes))
        return outputs

    def constant(self, array: Any, dtype: Any = None) -> str:
        """The name of an initializer; equal small ones are one."""
        array = np.asarray(array, dtype)
        key = (array.dtype.name, array.shape, array.tobytes()) if array.size <= 64 else None
        if key is not None and key in self._numbers:
            return self._numbers[key]
        name = self.unique(f"constant_{next(self._count)}")
        self.initializers[name] = array
        if key is not None:
            self._numbers[key] = name
        return name

    # ---- values ----------------------------------------------------------------------------------------------------
    def name(self, operand: Any, dtype: Any = None) -> str:
        """The name of an operand: of an array, or of a number as an array of `dtype` without dimensions."""
        if not isinstance(operand, Ref):
            if isinstance(operand, Length):
                one = self.node("Squeeze", self.ints([operand]))
                return self.cast(one, dtype)
            return self.constant(operand, dtype)
        number = operand.value
        self.asked.add(number)
        if number not in self.names:
            value = self.values[number]
            if value.length is not None:
                self.names[number] = self.name(value.length, value.dtype)
                return self.names[number]
            if value.constant is None:
                raise ExportError(f"{self.line}: a tensor is used that no operation has made")
            if value.origin == "state":
                self.names[number] = name = self.unique(value.name)
                self.initializers[name] = value.constant
            else:
                self.names[number] = self.constant(value.constant)
        return self.names[number]

    def known(self, operand: Ref) -> Known:
        """What is known of an array."""
        return self.values[operand.value]

    def shape(self, operand: Ref) -> tuple[Any, ...]:
        """The shape of an array, of numbers and `Length`."""
        return self.known(operand).shape

    def dtype(self, operand: Ref) -> Any:
        """The dtype of an array."""
        return self.known(operand).dtype

    def set(self, number: int, name: str) -> None:
        """Give a value its name; its lengths can be read from then on."""
        self.names[number] = name
        for axis, length in enumerate(self.values[number].shape):
            if isinstance(length, Length):
                self.lengths.setdefault(length.runs, (name, axis))

    def cast(self, name: str, dtype: Any) -> str:
        """A value as `dtype`."""
        return self.node("Cast", name, to=element_type(dtype))

    # ---- numbers ---------------------------------------------------------------------------------------------------
    def ints(self, numbers: Sequence[Any], exact: bool = False) -> str:
        """A vector of int64 numbers. With `exact` a quotient of lengths is known to have no remainder."""
        if not any(isinstance(number, Length) for number in numbers):
            return self.constant(list(numbers), np.int64)
        parts = [self.length(number, exact) if isinstance(number, Length) else self.constant([number], np.int64)
                 for number in numbers]
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=0)

    def length(self, number: Length, exact: bool = False) -> str:
        """A length as a vector of one number, read from a shape or computed from others. Raises ExportError if it is neither."""
        key = ("length", number.runs)
        if key not in self._numbers:
            self._numbers[key] = self._length(number.runs, exact)
        return self._numbers[key]

    def _length(self, runs: tuple[int, ...], exact: bool) -> str:
        if runs in self.lengths:
            name, axis = self.lengths[runs]
            return self.node("Shape", name, start=axis, end=axis + 1)
        for known in self.lengths:
            if known[0] != known[1]:
                slope = Fraction(runs[1] - runs[0], known[1] - known[0])
                offset = runs[0] - slope * known[0]
                if offset.denominator == 1 and (slope.denominator == 1 or (exact and offset == 0)) and all(
                        slope * a + offset == b for a, b in zip(known, runs, strict=True)):
                    found = self.length(Length(known))
                    if slope.numerator != 1:
                        found = self.node("Mul", found, self.constant([slope.numerator], np.int64))
                    if slope.denominator != 1:
                        found = self.node("Div", found, self.constant([slope.denominator], np.int64))
                    return found if offset == 0 else self.node("Add", found, self.constant([int(offset)], np.int64))
        for a, b in itertools.combinations_with_replacement(self.lengths, 2):
            ratio = Fraction(runs[0], a[0] * b[0]) if a[0] * b[0] else Fraction(0)
            if ratio.denominator == 1 and all(ratio * x * y == z for x, y, z in zip(a, b, runs, strict=True)):
                found = self.node("Mul", self.length(Length(a)), self.length(Length(b)))
                return found if ratio == 1 else self.node("Mul", found, self.constant([int(ratio)], np.int64))
        raise ExportError(f"{self.line}: it computes with a number that was {', '.join(map(str, runs))} for other lengths of the "
                          "inputs, which is no sum or product of lengths")

    def static(self, numbers: Sequence[Any], what: str) -> list[int]:
        """Numbers that must be the same for all lengths of the inputs."""
        if any(isinstance(number, Length) for number in numbers):
            raise ExportError(f"{self.line}: {what} depends on a dynamic length, which cannot be exported; leave it out of the "
                              "dynamic ones")
        return list(numbers)
