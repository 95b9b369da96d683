"""The backend of formulas: op name -> expression. Imported with the first function that `lucid.fuse` traces.

A function is traced by calling it with tensors whose arrays are symbols. Its operations reach the table of this backend
through the dispatcher, as those on any other array do, and so do the gradient rules: operations know nothing of it and cost no
more.

`array`: SymbolicArray, a symbol in the place of an array.
`primitives`: the table, and the operations that kernels have themselves.
`arithmetic`, `choice`, `activations`: operations made of these.
"""
from __future__ import annotations

from typing import Any

from ..device import Device
from . import activations, arithmetic, choice  # they fill the table
from .array import VALUES, SymbolicArray, Untraceable, argument
from .primitives import TABLE, constant

__all__ = ["TABLE", "SymbolicArray", "Untraceable", "argument", "device_of", "from_array", "ndarray", "synchronize",
           "to_device", "to_host"]

ndarray = SymbolicArray


class _Symbols(Device):
    """Where the symbols of a formula are. It is equal to 'cpu', so that nothing is moved here from there unseen."""

    __slots__ = ()

    def __init__(self) -> None:
        self.type, self.index = "formula", None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Symbols) or other == "cpu"

    __hash__ = Device.__hash__


_DEVICE = _Symbols()


def device_of(array: SymbolicArray) -> Device:
    """The device of symbols."""
    return _DEVICE


def from_array(array: Any, copy: bool = False) -> SymbolicArray:
    """A symbol itself, or the constant that an operation has made of a Python number."""
    return array if array.__class__ is SymbolicArray else constant(array.item(), array.dtype)


def to_host(array: SymbolicArray) -> Any:
    """Raises Untraceable: there are no elements."""
    raise Untraceable(VALUES)


def to_device(array: SymbolicArray, device: Device, copy: bool) -> Any:
    """Raises Untraceable: there are no elements."""
    raise Untraceable(f"a formula cannot move its values to {device}: move its arguments or its result")


def synchronize() -> None:
    """There is nothing to wait for."""
