"""The npz format: a zip archive of .npy files, never with pickled objects.

The structure is an array of bytes under the name '__lucid__'. NumPy's format has no bfloat16 and no floating-point numbers of 8
bits: such tensors are stored as unsigned integers with the same bits, and named beside the structure.
"""
from __future__ import annotations

import json
import math
import os
import stat
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from .. import _dtypes, backends
from ..tensor import Tensor
from .reading import check_ratio, filled
from .structure import Damaged, damage_noticed

_STRUCTURE = "__lucid__"
_BFLOAT16 = _dtypes.bfloat16
_BITS = {dtype: np.dtype(np.uint8) for dtype in _dtypes.STORED if dtype.itemsize == 1} | {_BFLOAT16: np.dtype(np.uint16)}


def write(file: IO[bytes], structure: str, tensors: dict[str, Tensor]) -> None:
    """Write `tensors` and the JSON text `structure` to an open file."""
    bfloat16 = [name for name, tensor in tensors.items() if tensor.dtype == _BFLOAT16]
    eight_bits = {name: tensor.dtype.name for name, tensor in tensors.items() if tensor.dtype in _BITS and tensor.itemsize == 1}
    text = json.dumps({"structure": structure, "bfloat16": bfloat16, "float8": eight_bits}).encode()
    with zipfile.ZipFile(_sequential(file), "w", zipfile.ZIP_STORED) as archive:
        _write_array(archive, _STRUCTURE, np.frombuffer(text, np.uint8))
        for name, tensor in tensors.items():
            array = np.asarray(backends.to_host(tensor._array), order="C")
            _write_array(archive, name, array.view(_BITS.get(array.dtype, array.dtype)))


class _Stream:
    """A file that can only be written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush


def _sequential(file: IO[bytes]) -> Any:
    """`file`, without its position if it is a device, which says that it is always at its beginning."""
    try:
        return file if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else _Stream(file)
    except (AttributeError, OSError):  # in memory, or of another program's making
        return file


def _write_array(archive: zipfile.ZipFile, name: str, array: Any) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        npy.write_array(member, array, allow_pickle=False)


def read(file: IO[bytes], max_ratio: float | None) -> tuple[str | None, dict[str, np.ndarray]]:
    """The structure, None in a file of foreign origin, and the arrays by name. Raises Damaged, also if the arrays have too many
    times the bytes of the file: see `check_ratio`.
    """
    arrays: dict[str, np.ndarray] = {}
    with damage_noticed("it is truncated or damaged"), zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        for member in members:
            if not member.filename.endswith(".npy"):
                raise Damaged(f"it is a zip archive, but neither npz nor PyTorch's: it contains '{member.filename}'")
        check_ratio(sum(member.file_size for member in members), file.seek(0, os.SEEK_END), max_ratio)
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as stream:
                array = _read_array(stream, name, member.file_size)
            arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        if _STRUCTURE not in arrays:
            return None, arrays
        text = json.loads(arrays.pop(_STRUCTURE).tobytes())
        for name in text["bfloat16"]:
            arrays[name] = arrays[name].view(_BFLOAT16)
        for name, dtype in text.get("float8", {}).items():
            arrays[name] = arrays[name].view(_dtypes.as_dtype(dtype))
        return text["structure"], arrays


def _read_array(stream: IO[bytes], name: str, size: int) -> np.ndarray:
    """The array of an .npy file of `size` bytes. Raises Damaged."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise Damaged(f"tensor '{name}' has fields, or is of an unknown version of the format")
    shape, columns_first, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise Damaged(f"tensor '{name}' holds Python objects, which could run any code (allow_pickle of NumPy)")
    if math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise Damaged(f"tensor '{name}' of dtype {dtype} and shape {shape} does not fit its {size - stream.tell()} bytes")
    array = filled(stream, size - stream.tell()).view(dtype)
    return array.reshape(shape[::-1]).T if columns_first else array.reshape(shape)


_HEADERS: dict[tuple[int, int], Any] = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
