"""PyTorch's zip format: ``name/data.pkl`` with the structure, and ``name/data/<key>`` with the bytes of each storage, stored as
they are and aligned to 64 bytes.
"""
from __future__ import annotations

import mmap
import os
import struct
import sys
import zipfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from ...backends import Device
from ...tensor import Tensor
from ..reading import check_ratio, filled
from ..structure import Damaged, damage_noticed
from .objects import Memory, Storage, UntypedStorage, known
from .pickling import Pickler, writer
from .unpickling import unpickle

_ALIGNMENT = 64
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")


def is_archive(file: IO[bytes]) -> bool:
    """Whether a zip file is PyTorch's. It is left at its beginning."""
    try:
        with zipfile.ZipFile(file) as archive:
            return any(name.endswith("/data.pkl") for name in archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):  # damaged: the reader of npz says how
        return False
    finally:
        file.seek(0)


def read_archive(file: IO[bytes], move: Callable[[Tensor, Device], Tensor], mapped: bool, max_ratio: float | None) -> Any:
    """The object in a file, its tensors where `move` brings them. Raises Damaged."""
    with damage_noticed("it is truncated or damaged"), zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        prefix = next(name for name in names if name.endswith("/data.pkl")).removesuffix("data.pkl")
        check_ratio(sum(member.file_size for member in archive.infolist()), file.seek(0, os.SEEK_END), max_ratio)
        if f"{prefix}constants.pkl" in names:
            raise Damaged("it is a TorchScript program, not a file of tensors")
        order = archive.read(f"{prefix}byteorder").decode() if f"{prefix}byteorder" in names else "little"
        reader = _Reader(file, archive, prefix, move, mapped, swapped=order != sys.byteorder)
        with archive.open(f"{prefix}data.pkl") as stream:
            return unpickle(stream, known, reader.storage)


class _Reader:
    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile, prefix: str, move: Callable[[Tensor, Device], Tensor],
                 mapped: bool, swapped: bool) -> None:
        self.archive, self.prefix, self.move, self.swapped = archive, prefix, move, swapped
        self.memories: dict[str, Memory] = {}
        self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else None

    def storage(self, identifier: Any) -> Storage:
        """The storage of a persistent id ('storage', its type, its key, its device, the number of its elements)."""
        kind, dtype, key, location, _ = identifier
        if kind != "storage" or not isinstance(key, str):
            raise Damaged(f"it refers to a {kind} outside its pickle")
        untyped = dtype is UntypedStorage
        if key not in self.memories:
            member = self.archive.getinfo(f"{self.prefix}data/{key}")
            self.memories[key] = Memory(member.file_size, device_of(location), lambda: self._bytes(member, dtype, untyped),
                                        self.move)
        return Storage(self.memories[key], None if untyped else dtype)

    def _bytes(self, member: zipfile.ZipInfo, dtype: Any, untyped: bool) -> np.ndarray:
        if self.map is not None and member.compress_type == zipfile.ZIP_STORED:
            header = _LOCAL_HEADER.unpack_from(self.map, member.header_offset)
            start = member.header_offset + _LOCAL_HEADER.size + header[-2] + header[-1]
            if start + member.file_size > len(self.map):
                raise Damaged("it is truncated")
            found = np.frombuffer(self.map, np.uint8, member.file_size, start) if member.file_size else np.empty(0, np.uint8)
        else:
            with self.archive.open(member) as stream:
                found = filled(stream, member.file_size)
        if self.swapped:
            if untyped:
                raise Damaged(f"it was written on a machine of another byte order, and storage {member.filename} has no dtype")
            found = swap(found, dtype)
        return found


def swap(found: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Bytes of `dtype` in the other order."""
    width = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    return np.ascontiguousarray(found.reshape(-1, width)[:, ::-1]).reshape(-1)


def device_of(location: Any) -> Device:
    """The device that a file names. Raises Damaged for one that lucid has no name for."""
    try:
        return Device(location)
    except (RuntimeError, TypeError, ValueError):
        raise Damaged(f"it holds tensors of the device {location!r}: say where they go, as map_location='cpu'") from None


def write(file: IO[bytes], obj: Any) -> None:
    """Write `obj` so that PyTorch's ``load(weights_only=True)`` reads it. Raises TypeError for what it could not read."""
    pickler = writer.get(Pickler)()
    program = pickler.pickle(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, file, "data.pkl", program)
        _add(archive, file, "byteorder", sys.byteorder.encode())
        for key, memory in enumerate(pickler.memories()):
            _add(archive, file, f"data/{key}", memory)
        _add(archive, file, "version", b"3\n")


def _add(archive: zipfile.ZipFile, file: IO[bytes], name: str, data: Any) -> None:
    member = zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0))
    # The bytes begin behind the header, the name, and an extra field that is as long as alignment needs.
    start = archive.fp.tell() + _LOCAL_HEADER.size + len(member.filename) + 4 + 20  # type: ignore[union-attr]
    padding = -start % _ALIGNMENT
    member.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
    with archive.open(member, "w", force_zip64=True) as stream:
        stream.write(data)
