"""How many threads operations on a CPU use."""
from __future__ import annotations

import operator

import numpy as np
from lucid_kernels.cpu import blas, threads

__all__ = ["get_num_threads", "set_num_threads"]


def set_num_threads(number: int, /) -> None:
    """Use `number` threads for kernels and matrix products on a CPU from now on, in the whole process.

    The default is what NUMBA_NUM_THREADS or OMP_NUM_THREADS say, else the CPUs that the process may use. The kernels of a process
    that was forked while other Python threads lived use one, whatever `number` is. As in PyTorch, raises RuntimeError unless
    `number` is a positive integer.
    """
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(number).__name__}")
    if number < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if number >= 1 << 31:
        raise ValueError(f"set_num_threads: {number} threads are too many")
    threads.set_num_threads(operator.index(number))
    blas.set_num_threads(operator.index(number))


def get_num_threads() -> int:
    """The number of threads that operations on a CPU use."""
    return threads.get_num_threads()
