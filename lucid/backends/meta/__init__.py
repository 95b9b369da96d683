"""The backend of the device 'meta': op name -> shape, dtype and strides of the result. Imported with the first meta array.

`array`: MetaArray, an array without memory.
`rules`: the table.
`probe`: results found by running the CPU kernel on small arrays.
"""
from __future__ import annotations

from typing import Any

from ..device import Device
from .array import NO_DATA, MetaArray, blank
from .probe import like
from .rules import TABLE

__all__ = ["TABLE", "blank", "device_of", "from_array", "ndarray", "synchronize", "to_device", "to_host"]

Array = Any
NAME = "meta"
ndarray = MetaArray
_DEVICE = Device("meta")


def device_of(array: MetaArray) -> Device:
    """The device 'meta'."""
    return _DEVICE


def from_array(array: Array, copy: bool = False) -> MetaArray:
    """The shape, dtype and memory format of `array`; a meta array itself, unless `copy`."""
    return array if array.__class__ is MetaArray and not copy else like(array)


def to_host(array: MetaArray) -> Any:
    """Raises NotImplementedError: there are no elements to copy."""
    raise NotImplementedError(NO_DATA)


def to_device(array: MetaArray, device: Device, copy: bool) -> Any:
    """Raises NotImplementedError: there are no elements to copy."""
    raise NotImplementedError(NO_DATA)


def synchronize() -> None:
    """There is nothing to wait for."""
