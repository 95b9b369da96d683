"""PyTorch's format before 1.6: pickles in a row (a magic number, the version, what the machine was, the object, the keys of the
storages), and then the elements of each storage behind their number.
"""
from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from ...backends import Device
from ...tensor import Tensor
from ..reading import filled
from ..structure import Damaged, damage_noticed
from .archive import device_of, swap
from .objects import Memory, Storage, UntypedStorage, known
from .unpickling import unpickle

_MAGIC = 0x1950A86A20F9469CFC6C
_START = b"\x80\x02\x8a\x0a" + _MAGIC.to_bytes(10, "little")


def is_legacy(start: bytes) -> bool:
    """Whether the first bytes of a file are those of this format."""
    return start.startswith(_START[:len(start)]) and len(start) >= 9


def read_legacy(file: IO[bytes], move: Callable[[Tensor, Device], Tensor]) -> Any:
    """The object in a file, its tensors where `move` brings them. Raises Damaged.

    The file is read twice: the first time for what storages there are, since the object comes before their elements.
    """
    with damage_noticed("it is truncated or damaged"):
        _head(file)
        place = file.tell()
        found: dict[str, Storage] = {}
        sizes: dict[str, int] = {}

        def storage(identifier: Any) -> Storage:
            kind, dtype, key, location, count, *view = identifier
            if kind != "storage" or dtype is UntypedStorage or not isinstance(key, str) or type(count) is not int or count < 0:
                raise Damaged(f"it refers to a {kind} outside its pickle")
            if view and view[0] is not None:
                raise Damaged("it has views of storages, which PyTorch has not written for years")
            if key not in found:
                nbytes = sizes[key] = count * dtype.itemsize
                found[key] = Storage(Memory(nbytes, device_of(location), lambda: np.empty(nbytes, np.uint8), move), dtype)
            return found[key]

        unpickle(file, known, storage)
        keys = unpickle(file, _nothing, _no_storage)
        if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(found):
            raise Damaged("its list of storages does not fit its tensors")
        contents: dict[str, np.ndarray] = {}
        for key in keys:
            (count,) = struct.unpack("<q", _exactly(file, 8))
            if count * found[key].dtype.itemsize != sizes[key]:  # type: ignore[union-attr]
                raise Damaged(f"storage {key} has {count} elements where its tensors expect another number")
            data = filled(file, sizes[key])
            contents[key] = data if sys.byteorder == "little" else swap(data, found[key].dtype)  # type: ignore[arg-type]
        memories = {key: Memory(sizes[key], found[key].memory.device, functools.partial(contents.__getitem__, key), move)
                    for key in found}
        file.seek(place)
        return unpickle(file, known, lambda identifier: Storage(memories[identifier[2]], identifier[1]))


def _head(file: IO[bytes]) -> None:
    if unpickle(file, _nothing, _no_storage) != _MAGIC:
        raise Damaged("it does not begin as PyTorch's files do")
    version = unpickle(file, _nothing, _no_storage)
    if version != 1001:
        raise Damaged(f"it has version {version} of the format, not 1001")
    machine = unpickle(file, _nothing, _no_storage)
    if not isinstance(machine, dict) or not machine.get("little_endian", True):
        raise Damaged("it was written on a machine of another byte order")


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise Damaged("it is truncated")
    return data


def _nothing(module: str, name: str) -> Any:
    raise Damaged(f"its pickle names {module}.{name} where only numbers and texts belong")


def _no_storage(identifier: Any) -> Any:
    raise Damaged("it refers to a storage where there is none")
