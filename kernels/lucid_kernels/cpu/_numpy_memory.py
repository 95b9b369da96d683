"""NumPy arrays that own memory which NumPy did not allocate.

An array over a foreign buffer has a `base`, and its views have another base than itself. NumPy's memory
handlers (NEP 49) have none of that: while one is set, the arrays that are made take their memory from it. Ours is set around
the making of one large array only, so nobody else's arrays are concerned.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

# Where NumPy's table of C functions has PyDataMem_SetHandler and _GetHandler; places in it never change (NumPy's ABI).
_SET_HANDLER, _GET_HANDLER = 304, 305
_NAME = b"mem_handler"

_Malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_Calloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_Realloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Handler(ctypes.Structure):
    """`PyDataMem_Handler` of NumPy's ndarraytypes.h, version 1."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p), ("malloc", _Malloc),
                ("calloc", _Calloc), ("realloc", _Realloc), ("free", ctypes.c_void_p))


class ArrayMaker:
    """Makes arrays whose memory comes from `take(size)`, which returns an address or None.

    Nobody is told when NumPy frees the memory: that may happen while an exception is on its way, when Python code must not run.
    Watch the array with a weak reference, whose callback comes at the same time and is safe.
    Raises RuntimeError where NumPy has no memory handlers that we know.
    """

    def __init__(self, take: Callable[[int], int | None]) -> None:
        table = _functions_of_numpy()
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
        harmless = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p)  # a C function that only looks at its argument
        handler = _Handler(b"lucid_pool", 1, None, _Malloc(lambda _, size: take(size)),
                           _Calloc(lambda _, count, size: _zeroed(take(count * size), count * size)),
                           _Realloc(lambda _, address, size: None), harmless)  # NumPy resizes nothing that is watched
        # Arrays that outlive the modules at the end of the process still refer to it: it is never freed.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
            ("PyCapsule_New", ctypes.pythonapi))
        self._handler = new(ctypes.addressof(handler), _NAME, None)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array with memory from `take`, not initialised. Raises MemoryError, which names the shape, if there is none."""
        before = self._set(self._handler)
        try:
            return np.empty(shape, dtype)
        finally:
            self._set(before)


def _functions_of_numpy() -> Any:
    """NumPy's table of C functions, as an array of addresses."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
    table = ctypes.cast(get(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[attr-defined]
    if not is_valid(ctypes.PYFUNCTYPE(ctypes.py_object)(table[_GET_HANDLER])(), _NAME):
        raise RuntimeError(f"NumPy {np.__version__} has other memory handlers than those of NEP 49")
    return table


def _zeroed(address: int | None, size: int) -> int | None:
    if address is not None:
        ctypes.memset(address, 0, size)
    return address
