"""Matrix products through NumPy, with the threads of OpenBLAS where they pay."""
from __future__ import annotations

import ctypes
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

# Multiply-adds. OpenBLAS uses threads from 2^18 on; for up to about 100 us of work they cost more than they bring: after a
# product its threads spin for 25 ms and take the cores from Numba's, which makes the kernels in between up to twice as slow.
THREADS_FROM = 1 << 22
THREADS_IN_OPENBLAS_FROM = 1 << 18


def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """(get, set) of the number of threads of the OpenBLAS inside NumPy's wheel; None with another BLAS."""
    for path in (pathlib.Path(np.__file__).parents[1] / "numpy.libs").glob("libscipy_openblas*"):
        library = ctypes.CDLL(str(path))  # NumPy has loaded it: this is a second handle
        for suffix in ("64_", ""):
            get = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
            if get is not None:
                set_ = getattr(library, f"scipy_openblas_set_num_threads{suffix}")
                get.restype, set_.restype, set_.argtypes = ctypes.c_int, None, (ctypes.c_int,)
                return get, set_
    return None


class _OneThread:
    """A context in which OpenBLAS uses one thread. The number is global to the process, so the users are counted."""

    def __init__(self) -> None:
        self._threads = _openblas()
        self._lock = threading.Lock()
        self._users = 0
        self._before = 1

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
set_num_threads = one_thread.set_num_threads


def matmul(a: np.ndarray, b: np.ndarray) -> Any:
    """``a @ b``; products of middle size run on one thread."""
    if a.ndim == 2 and b.ndim == 2:
        work = a.size * b.shape[1]
        if THREADS_IN_OPENBLAS_FROM < work < THREADS_FROM:
            with one_thread:
                return a @ b
    return a @ b
