"""Memory that goes to other libraries and comes from them in the capsules of DLPack, versioned ones and those before 1.0.

NumPy and CuPy make the capsules and open them. They have no bfloat16 and no floating-point numbers of 8 bits: such elements go
and come as unsigned integers, and the dtype that stands in the capsule is changed.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes
from .storage import bits_of

Array = Any
_HOST = 1, 3  # kDLCPU, kDLCUDAHost
_UNSIGNED = 1  # codes of dtypes
_CODES = {_dtypes.bfloat16: 4, _dtypes.float8_e4m3fn: 10, _dtypes.float8_e4m3fnuz: 11, _dtypes.float8_e5m2: 12,
          _dtypes.float8_e5m2fnuz: 13, _dtypes.float8_e8m0fnu: 14}
_BY_CODE = {(code, 8 * dtype.itemsize): dtype for dtype, code in _CODES.items()}
_TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}  # by the name of a capsule, where the DLTensor begins
_DEVICE, _DTYPE = 8, 20  # in it
_KEYWORDS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # whether NumPy writes and reads versioned capsules

_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_CAPSULE = type(np.empty(0).__dlpack__())


def capsule_of(array: Array, stream: Any, max_version: tuple[int, int] | None, copy: bool | None) -> Any:
    """A capsule with the memory of `array`, or with a copy of it. Raises BufferError for memory that cannot be shared."""
    dtype = array.dtype
    array = bits_of(array)
    code = _CODES.get(dtype)
    if array.__class__ is not np.ndarray:
        capsule = (array if array.dtype == dtype else array.view(dtype if code is None else np.uint8)).__dlpack__(
            stream=stream, max_version=max_version, copy=copy)
        if code is not None and dtype.itemsize == 1:
            _dtype(capsule)[0] = code
        return capsule
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    source = array.view(f"u{dtype.itemsize}") if code is not None else array.view(dtype)
    if _KEYWORDS:
        capsule = source.__dlpack__(max_version=max_version, copy=copy)
    else:
        capsule = (source.copy() if copy else source).__dlpack__()
    if code is not None:
        _dtype(capsule)[0] = code
    return capsule


def _start(capsule: Any) -> int:
    """The address of the DLTensor in a capsule. Raises RuntimeError for what is none, or was used before."""
    name = _name(capsule) if capsule.__class__ is _CAPSULE else None
    if name not in _TENSOR:
        raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                           "you might have already constructed a tensor from it once.")
    return int(_pointer(capsule, name)) + _TENSOR[name]


def _dtype(capsule: Any) -> Any:
    """Code and bits of the dtype in a capsule."""
    return (ctypes.c_uint8 * 2).from_address(_start(capsule) + _DTYPE)


class _Source:
    """A capsule as what NumPy and CuPy ask for one."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, index = (ctypes.c_int32 * 2).from_address(_start(self.capsule) + _DEVICE)
        return kind, index


def array_of(source: Any, copy: bool | None, on_gpu: Callable[[Any], Array]) -> Array:
    """An array over the memory of `source`, a capsule or an object with `__dlpack__`, or over a copy of it if that is what `copy`
    asks for; `on_gpu` opens what is on a GPU. Raises RuntimeError for a capsule that is none, or was used before.
    """
    given = hasattr(source, "__dlpack__")
    offered = source if given else _Source(source)
    if offered.__dlpack_device__()[0] not in _HOST:
        array = on_gpu(offered)
        return array.copy() if copy else array
    capsule, copied = _capsule_from(source, copy) if given else (source, False)
    dtype = _dtype(capsule)
    unknown = _BY_CODE.get(tuple(dtype))
    if unknown is not None:
        dtype[0] = _UNSIGNED
    array = np.from_dlpack(_Source(capsule))
    if unknown is not None:
        array = array.view(unknown)
    return array.copy() if copy and not copied else array


def _capsule_from(source: Any, copy: bool | None) -> tuple[Any, bool]:
    """The capsule of `source` by the newest of DLPack's protocols that it knows, and whether it was asked for a copy."""
    version = {"max_version": (1, 0)} if _KEYWORDS else {}
    wishes = {} if copy is None else {"copy": copy}
    for keywords in ({**version, **wishes}, wishes):
        try:
            return source.__dlpack__(**keywords), bool(copy)
        except TypeError:  # keywords of a later protocol
            continue
    return source.__dlpack__(), False
