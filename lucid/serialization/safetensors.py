"""The safetensors format: a header in JSON, then the bytes of the tensors.

Both go tensor by tensor: neither needs a second copy of a model in memory. The format has no complex128, and not
every reader knows its complex64: complex tensors are stored as real ones with a last dimension of 2, and named in the metadata
entry 'lucid.complex'. A structure too large for the header, of which readers take a limited length, is a tensor of bytes.
"""
from __future__ import annotations

import json
import math
import mmap
import os
from typing import IO, Any, NamedTuple

import numpy as np

from .. import _dtypes, backends
from ..tensor import Tensor, wrap
from .reading import filled
from .structure import Damaged, damage_noticed

MAX_HEADER = 100_000_000  # bytes, the limit of the safetensors library
_STRUCTURE = "__lucid__"  # the name of the structure as a tensor, and the entry in its place
_IN_HEADER = 1 << 20  # bytes of structure, at most
_CODES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
          "bfloat16": "BF16", "float32": "F32", "float64": "F64", "uint16": "U16", "uint32": "U32", "uint64": "U64",
          "float8_e4m3fn": "F8_E4M3", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2": "F8_E5M2",
          "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e8m0fnu": "F8_E8M0"}
_DTYPES: dict[str, Any] = {code: _dtypes.as_dtype(name) for name, code in _CODES.items()} | {"C64": np.dtype("complex64")}
_PARTS = {"complex64": "float32", "complex128": "float64"}


def write(file: IO[bytes], structure: str, tensors: dict[str, Tensor]) -> None:
    """Write `tensors` and the JSON text `structure` to an open file. Raises ValueError, with nothing written, for more tensors
    than readers take.
    """
    if len(structure) > _IN_HEADER:
        tensors = {**tensors, _STRUCTURE: wrap(np.frombuffer(structure.encode(), np.uint8))}
        structure = _STRUCTURE
    header: dict[str, Any] = {}
    complex_names = []
    end = 0
    # Larger elements first: then every tensor is aligned to its element size, as readers that map the file need it.
    ordered = sorted(tensors.items(), key=lambda item: -item[1].itemsize)
    for name, tensor in ordered:
        dtype, shape = tensor.dtype.name, list(tensor.shape)
        if dtype in _PARTS:
            complex_names.append(name)
            dtype, shape = _PARTS[dtype], [*shape, 2]
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": _CODES[dtype], "shape": shape, "data_offsets": [begin, end]}
    # Some readers ask for the library whose shapes the tensors have: they are PyTorch's.
    header["__metadata__"] = {"format": "pt", "lucid": structure, "lucid.complex": json.dumps(complex_names)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError(f"cannot save {len(tensors)} tensors as safetensors: the header, with their names, has {len(text)} "
                         f"bytes, and readers of this format take {MAX_HEADER}. format='npz' has no such limit.")
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for _, tensor in ordered:
        array = np.ascontiguousarray(backends.to_host(tensor._array))
        file.write(array.reshape(-1).view(np.uint8).data)


class _Entry(NamedTuple):
    """A tensor in the file; its bytes are counted from the end of the header."""

    begin: int
    end: int
    name: str
    dtype: np.dtype
    shape: list[int]


def read(file: IO[bytes], mapped: bool = False) -> tuple[str | None, dict[str, np.ndarray]]:
    """The structure, None in a file of foreign origin, and the arrays by name. Raises Damaged.

    The file is at its beginning and can seek. If it is `mapped`, its pages are read when an array is used, and a write to an
    array is not seen in the file.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > size - 8:
        raise Damaged("it is truncated, or neither a safetensors nor an npz file")
    if length > MAX_HEADER:
        raise Damaged(f"its header has {length} bytes, more than the {MAX_HEADER} that the format allows")
    with damage_noticed("its header is damaged"):
        header = json.loads(file.read(length).decode())
        metadata = header.pop("__metadata__", None) or {}
        complex_names = set(json.loads(metadata.get("lucid.complex", "[]")))
        entries = _entries(header, size - 8 - length)
        memory = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)[8 + length:] if mapped else None
        arrays = {entry.name: _array(entry, file, memory, entry.name in complex_names) for entry in entries}
    structure = metadata.get("lucid")
    if structure == _STRUCTURE:
        if _STRUCTURE not in arrays:
            raise Damaged("its structure is missing")
        structure = arrays.pop(_STRUCTURE).tobytes()
    return structure, arrays


def _array(entry: _Entry, file: IO[bytes], memory: np.ndarray | None, pairs: bool) -> np.ndarray:
    """A tensor of which the bytes come next in `file`, or lie in `memory`; complex if it was stored as `pairs` of its parts."""
    if memory is None:
        array = filled(file, entry.end - entry.begin)
    else:
        array = memory[entry.begin:entry.end]
        if array.ctypes.data % entry.dtype.alignment:
            array = array.copy()
    array = array.view(entry.dtype).reshape(entry.shape)
    if pairs:
        if array.dtype.kind != "f" or array.ndim == 0 or array.shape[-1] != 2:
            raise Damaged(f"tensor '{entry.name}' is said to be complex, but is {array.dtype}{list(array.shape)}")
        array = array.view("complex64" if array.itemsize == 4 else "complex128").reshape(array.shape[:-1])
    return array


def _entries(header: dict[str, Any], size: int) -> list[_Entry]:
    """The tensors of a header in the order of their bytes, of which there are `size`, each part of one tensor. Raises Damaged."""
    entries = []
    for name, entry in header.items():
        if entry["dtype"] not in _DTYPES:
            raise Damaged(f"tensor '{name}' has dtype {entry['dtype']}, which is not supported")
        dtype, shape, (begin, end) = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if any(type(number) is not int or number < 0 for number in (*shape, begin, end)):
            raise Damaged(f"the shape or the place of tensor '{name}' is not one")
        if end - begin != math.prod(shape) * dtype.itemsize:
            raise Damaged(f"tensor '{name}' of dtype {dtype} and shape {shape} does not fit its {end - begin} bytes")
        entries.append(_Entry(begin, end, name, dtype, shape))
    entries.sort()
    last = 0
    for entry in entries:
        if entry.begin != last:
            raise Damaged(f"tensor '{entry.name}' does not begin where the one before it ends")
        last = entry.end
    if last != size:
        raise Damaged(f"it is truncated or damaged: its tensors have {last} bytes, but there are {size}")
    return entries
