"""Arrays of dtypes that are for storage: uint16, uint32, uint64 and those of 8 bits. Imported with the first one.

PyTorch moves, compares and converts such tensors and computes almost nothing with them, and so does lucid. An array holds the
bits as integers that every backend has, on the device of these: what moves elements moves the bits, and any operation that is not
in the table is refused.

`casts`: numbers from the bits, and bits from numbers.
`float8`: the same for floating-point numbers of 8 bits.
`movement`: the operations that move elements.
`computation`: those that compute with them.
`table`: all of them by name.
"""
from __future__ import annotations

from typing import Any

from .. import device_of as device_of_bits
from .. import register
from .. import to_device as bits_to_device
from .. import to_host as bits_to_host
from ..device import Device
from ..stored_array import StoredArray
from .casts import narrow
from .table import TABLE, create

__all__ = ["create", "narrow"]


class _Backend:
    """What the dispatcher asks of the module of a backend."""

    lifted = True  # its arrays live on the devices of others
    ndarray = StoredArray
    TABLE = TABLE

    def device_of(self, array: StoredArray) -> Device:
        """The device of the bits."""
        return device_of_bits(array.value)

    def to_device(self, array: StoredArray, device: Device, copy: bool) -> StoredArray:
        """The array with its bits on another device."""
        moved = bits_to_device(array.value, device, copy)
        return array if moved is array.value else StoredArray(moved, array.dtype)

    def to_host(self, array: StoredArray) -> Any:
        """A NumPy array of the dtype, over the bits where they are on the host."""
        return bits_to_host(array.value).view(array.dtype)

    def synchronize(self) -> None:
        """The bits are waited for by their own backend."""


register(_Backend())
