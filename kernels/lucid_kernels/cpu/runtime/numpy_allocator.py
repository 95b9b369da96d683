"""NumPy arrays that own memory which NumPy did not allocate.

An array over a foreign buffer has a `base`, and its views have another base than itself. NumPy's memory
handlers (NEP 49) have none of that: while one is set, the arrays that are made take their memory from it. Ours is set in a
context of its own, in which nothing runs but the making of one large array, so nobody else's arrays are concerned.
"""
from __future__ import annotations

import ctypes
from contextvars import Context
from typing import Any

import numpy as np

from . import patches

# Where NumPy's table of C functions has PyDataMem_SetHandler and _GetHandler; offsets in it never change (NumPy's ABI).
_SET_HANDLER, _GET_HANDLER = 304, 305
_NAME = b"mem_handler"

_Refusal = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Handler(ctypes.Structure):
    """`PyDataMem_Handler` of NumPy's ndarraytypes.h, version 1. Its functions get `context` as their first argument."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
                ("malloc", ctypes.c_void_p), ("calloc", _Refusal), ("realloc", _Refusal), ("free", ctypes.c_void_p))


class ArrayMaker:
    """Makes arrays whose memory is at given addresses.

    The handler's `malloc` is C's `labs`, which returns its first argument: the address that the handler has as its context. A
    Python function takes several times as long. As `free` it does nothing: NumPy frees memory also while an exception
    propagates, when Python code must not run. Watch the array with a weak reference, whose callback comes at the same time and is
    safe. Raises RuntimeError where NumPy has no memory handlers that we know, and with LUCID_PATCHES=0.
    """

    def __init__(self) -> None:
        table = _functions_of_numpy()
        set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
        identity = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p)
        refusal = _Refusal(lambda _, __, size: None)  # NumPy resizes nothing that is watched
        self._handler = _Handler(b"lucid_pool", 1, None, identity, refusal, refusal, identity)
        # Arrays that outlive the modules at the end of the process still refer to it: it is never freed.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handler))
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
            ("PyCapsule_New", ctypes.pythonapi))
        self._context = Context()
        patches.memory_handler(self._context, set_handler, new(ctypes.addressof(self._handler), _NAME, None))

    def at(self, address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array with the memory at `address`, not initialised. Not for two threads at once."""
        self._handler.context = address
        return self._context.run(np.empty, shape, dtype)


def _functions_of_numpy() -> Any:
    """NumPy's table of C functions, as an array of addresses."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
    table = ctypes.cast(get(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[attr-defined]
    if not is_valid(ctypes.PYFUNCTYPE(ctypes.py_object)(table[_GET_HANDLER])(), _NAME):
        raise RuntimeError(f"NumPy {np.__version__} has other memory handlers than those of NEP 49")
    return table
