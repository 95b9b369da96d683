"""The npz format: a zip archive of .npy files, never with pickled objects.

The structure is an array of bytes under the name '__lucid__'. NumPy's format has no bfloat16: such tensors are stored as
uint16 with the same bits, and named beside the structure.
"""
from __future__ import annotations

import json
import zipfile
import zlib
from typing import IO, Any

import ml_dtypes
import numpy as np
from numpy.lib import format as npy

from . import backends
from ._structure import Damaged
from .tensor import Tensor

_STRUCTURE = "__lucid__"
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def write(file: IO[bytes], structure: str, tensors: dict[str, Tensor]) -> None:
    """Write `tensors` and the JSON text `structure` to an open file."""
    halves = [name for name, tensor in tensors.items() if tensor.dtype == _BFLOAT16]
    text = json.dumps({"structure": structure, "bfloat16": halves}).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _write_array(archive, _STRUCTURE, np.frombuffer(text, np.uint8))
        for name, tensor in tensors.items():
            array = np.asarray(backends.to_host(tensor._array), order="C")
            _write_array(archive, name, array.view(np.uint16) if array.dtype == _BFLOAT16 else array)


def _write_array(archive: zipfile.ZipFile, name: str, array: Any) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        npy.write_array(member, array, allow_pickle=False)


def read(file: IO[bytes]) -> tuple[str | None, dict[str, np.ndarray]]:
    """The structure, None in a file of foreign origin, and the arrays by name. Raises Damaged."""
    arrays: dict[str, np.ndarray] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.namelist():
                if not member.endswith(".npy"):
                    raise Damaged(f"it is a zip archive, but not npz: it contains '{member}'. PyTorch's own files (.pt, .pth) "
                                  "hold pickled code: save those as safetensors with PyTorch.")
                with archive.open(member) as stream:
                    array = npy.read_array(stream, allow_pickle=False)
                arrays[member.removesuffix(".npy")] = array.astype(array.dtype.newbyteorder("="), copy=False)
        if _STRUCTURE not in arrays:
            return None, arrays
        text = json.loads(arrays.pop(_STRUCTURE).tobytes())
        for name in text["bfloat16"]:
            arrays[name] = arrays[name].view(_BFLOAT16)
        return text["structure"], arrays
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, EOFError, OSError,
            NotImplementedError, RuntimeError) as error:
        raise Damaged(f"it is truncated or damaged ({error})") from error
