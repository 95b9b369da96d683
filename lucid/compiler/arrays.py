"""Arrays of a recording by their symbols: those that are there before the call, and those that are computed in it.

``("arg", n)`` is the n-th tensor among the arguments, ``("state", n)`` a tensor that the function sees (`guards`), ``("arg_grad",
n)`` and ``("grad", n)`` the gradients that they had before the call, ``("slot", n)`` the n-th array that was computed. An array
that is none of these came from where no recorder looks; then the call is not compiled.
"""
from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import backends
from ..backends import TABLES
from ..tensor import Tensor, wrap
from ..tensor.nodes import Leaf
from .breaks import GraphBreak, user_line
from .guards import Environment
from .symbols import Symbol, Use

_reference = weakref.ref
_OBJECTS = sys.getsizeof(np.empty(0)) + sys.getsizeof(wrap(np.empty(0)))  # bytes of an array and a tensor, without elements


class Arrays:
    """The arrays of one recording, the memory that they take, and the `reason` why it is given up, if it is."""

    def __init__(self, environment: Environment, arguments: Sequence[Tensor], fullgraph: bool, in_detail: bool) -> None:
        self.in_detail = in_detail
        self.environment = environment
        self.arguments = list(arguments)
        self.fullgraph = fullgraph
        self.reason: str | None = None
        self.slots: list[tuple[int, tuple[int, ...], Any]] = []  # bytes, shape and dtype of each
        self.live = self.peak = 0  # bytes of them that are in use now, with the objects around them, and the most so far
        self.owners: list[int | None] = []  # whose memory each has: its own, another one's, or that of a tensor
        self.state: list[Tensor] = []
        self.arrays: list[Any] = []  # those of `state` before the call
        self._state_index: dict[int, int] = {}
        self._symbols: dict[int, tuple[Any, Use]] = {}  # by the identity of an array: a weak reference to it
        self._places: dict[int, tuple[Any, Tensor, str]] = {}  # the arrays that are there before the call, and whose they are
        self._paused = False
        self._numbers: dict[int, tuple[float, Symbol]] = {}  # those that a replay computes, by identity
        self._watched = [*environment.tensors.values()]
        self._argument_index = {id(t): n for n, t in reversed([*enumerate(self.arguments)])}
        self._known = {id(t): t for t in [*self._watched, *self.arguments]}
        self._before = {id(t): (t._array, t._grad, None if t._grad is None else t._grad._array, role(t))
                        for t in self._known.values()}
        for t in self._watched:
            self._place(t._array, t, "state")
            if t._grad is not None:
                self._place(t._grad._array, t, "grad")
        for number, t in reversed([*enumerate(self.arguments)]):  # one that is given twice is the first
            if id(t._array) in self._places and self._places[id(t._array)][0] is t._array:
                self.refuse("an argument is also a tensor that the function sees otherwise")
            self._set(t._array, ("arg", number))
            if t._grad is not None:
                self._place(t._grad._array, t, "grad")

    def refuse(self, why: str) -> None:
        """Give the recording up; with `fullgraph` raise GraphBreak."""
        if self.reason is None and not self._paused:
            self.reason = f"{user_line()}: {why}"
            if self.fullgraph:
                raise GraphBreak(f"lucid.compile(fullgraph=True): {self.reason}")

    def _place(self, array: Any, tensor: Tensor, role: str) -> None:
        there = self._places.get(id(array))
        if there is not None and there[1] is not tensor:
            # Two tensors over one array: either stands for both as long as neither gets other memory, which is watched.
            return
        self._places[id(array)] = (array, tensor, role)

    def _set(self, array: Any, symbol: Symbol) -> None:
        self._symbols[id(array)] = (weakref.ref(array), Use((symbol,)))

    def symbol(self, array: Any) -> Symbol | None:
        """The symbol of `array`; None if nobody knows it."""
        known = self._symbols.get(id(array))
        if known is not None and known[0]() is array:
            return known[1].symbol
        there = self._places.get(id(array))
        if there is None or there[0] is not array:
            return None
        target, number = self._target(there[1])
        symbol = (target if there[2] == "state" else "grad" if target == "state" else "arg_grad", number)
        self._set(array, symbol)
        return symbol

    def _target(self, tensor: Tensor) -> Symbol:
        """``("arg", n)`` or ``("state", n)`` for a tensor that is there before the call."""
        number = self._argument_index.get(id(tensor))
        return ("state", self._number(tensor)) if number is None else ("arg", number)

    def _number(self, tensor: Tensor) -> int:
        number = self._state_index.get(id(tensor))
        if number is None:
            number = self._state_index[id(tensor)] = len(self.state)
            self.state.append(tensor)
            self.arrays.append(self._before[id(tensor)][0])
        return number

    def _slot(self, array: Any, shape: tuple[int, ...]) -> Symbol:
        number = len(self.slots)
        symbol = ("slot", number)
        own: int | None = number
        if array.base is not None:
            memory = owner(array)
            known = None if memory is array else self.symbol(memory)
            # A view of memory that nobody knows, as a kernel may return, counts as an array.
            own = number if known is None else known[1] if known[0] == "slot" else None
        self.owners.append(own)
        bytes = array.nbytes
        self.slots.append((bytes, shape, array.dtype))
        if self.in_detail and own == number:
            size = bytes + _OBJECTS
            self.live += size
            self.peak = max(self.peak, self.live)
            self._symbols[id(array)] = (_reference(array, functools.partial(self._freed, size)), Use((symbol,)))
        else:
            self._symbols[id(array)] = (_reference(array), Use((symbol,)))
        return symbol

    def _freed(self, size: int, reference: Any) -> None:
        self.live -= size

    def _alias(self, array: Any) -> Symbol | None:
        """The symbol of the array that `array` is another object of, with the same elements in the same places: as the root of a
        gradient is.
        """
        whole = array.base
        if array.__class__ is not np.ndarray or whole.__class__ is not np.ndarray or (
                (array.shape, array.strides, array.dtype) != (whole.shape, whole.strides, whole.dtype)
                or array.__array_interface__["data"] != whole.__array_interface__["data"]):
            return None
        return self.symbol(whole)

    def _operand(self, value: Any) -> Any:
        """An operand or attribute, with a `Use` for each array in it."""
        kind = value.__class__
        if kind in TABLES:
            symbol = self.symbol(value) or self._alias(value)
            if symbol is None:
                self.refuse("it uses a tensor that was made outside of lucid's operations, or that is in no variable which can "
                            "be watched")
                symbol = ("unknown", 0)
            return Use((symbol,))
        if kind is float and id(value) in self._numbers:  # that very object
            return Use((self._numbers[id(value)][1],))
        if kind is tuple or kind is list:
            return kind([self._operand(item) for item in value])
        if isinstance(value, tuple) and hasattr(kind, "_make"):
            return kind._make([self._operand(item) for item in value])
        if kind is dict:
            return {key: self._operand(item) for key, item in value.items()}
        return value


def role(tensor: Tensor) -> str:
    """Whether a tensor is a leaf that requires grad, the result of operations that are differentiated, or a constant."""
    node = tensor._node
    return "constant" if node is None else "leaf" if node.__class__ is Leaf else "result"


def owner(array: Any) -> Any:
    """The array that has the memory of `array`."""
    while array.base is not None and is_array(array.base):
        array = array.base
    return array


def is_array(value: Any) -> bool:
    return value.__class__ in backends.TABLES
