"""The safetensors format: a header in JSON, then the bytes of the tensors.

Written here, tensor by tensor, so that saving needs no second copy of a model in memory; read and checked by the safetensors
library. The format has no complex128, and not every reader knows its complex64: complex tensors are stored as real ones with
a last dimension of 2, and named in the metadata entry 'lucid.complex'.
"""
from __future__ import annotations

import json
from typing import IO, Any

import ml_dtypes
import numpy as np

from . import backends
from ._structure import Damaged
from .tensor import Tensor

_CODES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
          "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
_DTYPES: dict[str, Any] = {code: np.dtype(name) for name, code in _CODES.items() if name != "bfloat16"} | {
    "BF16": np.dtype(ml_dtypes.bfloat16), "U16": np.dtype("uint16"), "U32": np.dtype("uint32"), "U64": np.dtype("uint64"),
    "C64": np.dtype("complex64")}
_PARTS = {"complex64": "float32", "complex128": "float64"}


def write(file: IO[bytes], structure: str, tensors: dict[str, Tensor]) -> None:
    """Write `tensors` and the JSON text `structure` to an open file."""
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
    header["__metadata__"] = {"lucid": structure, "lucid.complex": json.dumps(complex_names)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for _, tensor in ordered:
        array = np.ascontiguousarray(backends.to_host(tensor._array))
        file.write(array.reshape(-1).view(np.uint8).data)


def read(file: IO[bytes]) -> tuple[str | None, dict[str, np.ndarray]]:
    """The structure, None in a file of foreign origin, and the arrays by name. Raises Damaged."""
    import safetensors

    data = file.read()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise Damaged("it is truncated, or neither a safetensors nor an npz file")
    try:
        entries = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
        metadata = json.loads(data[8:8 + size]).get("__metadata__") or {}
        complex_names = set(json.loads(metadata.get("lucid.complex", "[]")))
    except safetensors.SafetensorError as error:
        raise Damaged(f"it is truncated, damaged, or neither a safetensors nor an npz file ({error})") from error
    except ValueError as error:
        raise Damaged(f"its header is damaged ({error})") from error
    arrays = {}
    for name, entry in entries:
        if entry["dtype"] not in _DTYPES:
            raise Damaged(f"tensor '{name}' has dtype {entry['dtype']}, which is not supported")
        array = np.frombuffer(entry["data"], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
        if name in complex_names:
            if array.dtype.kind != "f" or array.ndim == 0 or array.shape[-1] != 2:
                raise Damaged(f"tensor '{name}' is said to be complex, but is {array.dtype}{list(array.shape)}")
            array = array.view("complex64" if array.itemsize == 4 else "complex128").reshape(array.shape[:-1])
        arrays[name] = array
    return metadata.get("lucid"), arrays
