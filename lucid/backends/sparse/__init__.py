"""Sparse arrays: the elements that are not zero, as dense arrays of a device, and where they stand. Imported with the first one.

`arrays`: COO and compressed arrays.
`table`: the operations that take such an array as a whole; those on its elements are made of others, in `lucid/ops/sparse`.
"""
from __future__ import annotations

from typing import Any

from .. import device_of as device_of_dense
from .. import register
from .. import to_device as dense_to_device
from ..device import Device
from .arrays import CompressedArray, CooArray, SparseArray
from .table import TABLE, NoSparseRule

__all__ = ["CompressedArray", "CooArray", "NoSparseRule", "SparseArray"]


class _Backend:
    """What the dispatcher asks of the module of a backend."""

    lifted = True  # its arrays live on the devices of others

    def __init__(self, ndarray: type[SparseArray]) -> None:
        self.ndarray = ndarray
        self.TABLE = TABLE

    def device_of(self, array: SparseArray) -> Device:
        """The device of the elements."""
        return device_of_dense(array.values)

    def to_device(self, array: SparseArray, device: Device, copy: bool) -> SparseArray:
        """The array with its parts on another device."""
        if not copy and device_of_dense(array.values) == device:
            return array
        return array.mapped(lambda part: dense_to_device(part, device, copy))

    def to_host(self, array: Any) -> Any:
        """Raises TypeError: there is no dense array."""
        return array.__array__()

    def synchronize(self) -> None:
        """The parts are waited for by their own backends."""


for _kind in (CooArray, CompressedArray):
    register(_Backend(_kind))
