"""The OpenBLAS in NumPy's wheel: its routines by address, and its threads, which are kept out of our products."""
from __future__ import annotations

import ctypes
import functools
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime import fork


@functools.cache
def _library() -> tuple[Any, str] | None:
    """The OpenBLAS inside NumPy's wheel and what its names end with (64_ where its integers have 64 bits); None with another."""
    for path in (pathlib.Path(np.__file__).parents[1] / "numpy.libs").glob("libscipy_openblas*"):
        library = ctypes.CDLL(str(path))  # NumPy has loaded it: this is a second handle
        for suffix in ("64_", ""):
            if hasattr(library, f"scipy_openblas_get_num_threads{suffix}"):
                return library, suffix
    return None


def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """(get, set) of the number of threads of OpenBLAS; None with another BLAS."""
    found = _library()
    if found is None:
        return None
    library, suffix = found
    get = getattr(library, f"scipy_openblas_get_num_threads{suffix}")
    set_ = getattr(library, f"scipy_openblas_set_num_threads{suffix}")
    get.restype, set_.restype, set_.argtypes = ctypes.c_int, None, (ctypes.c_int,)
    return get, set_


def routine(name: str) -> tuple[int, Any] | None:
    """(address, its integer type) of OpenBLAS's function `name`, such as cblas_sgemm; None with another BLAS."""
    found = _library()
    function = getattr(found[0], f"scipy_{name}{found[1]}", None) if found else None
    if found is None or function is None:
        return None
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address, ctypes.c_int64 if found[1] else ctypes.c_int32


class _OneThread:
    """A context in which OpenBLAS uses one thread. The number is global to the process, so the users are counted."""

    def __init__(self) -> None:
        self._threads = _openblas()
        self._lock = threading.Lock()
        self._users = 0
        self._before = 1

    @property
    def unknown(self) -> bool:
        """Whether NumPy has another BLAS, whose threads are left alone."""
        return self._threads is None

    def __enter__(self) -> None:
        if self._threads is None:
            return
        with self._lock:
            if self._users == 0:
                self._before = self._threads[0]()
                self._threads[1](1)
            self._users += 1

    def __exit__(self, *exception: Any) -> None:
        if self._threads is None:
            return
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._threads[1](self._before)

    def set_num_threads(self, number: int) -> None:
        """Use `number` threads from now on, or from the end of this context."""
        if self._threads is None:
            return
        with self._lock:
            self._before = number
            if self._users == 0:
                self._threads[1](number)


one_thread = _OneThread()
fork.hold(one_thread._lock)
set_num_threads = one_thread.set_num_threads
