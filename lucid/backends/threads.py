"""How many threads operations on a CPU use, and functions of NumPy's that they share."""
from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from lucid_kernels.cpu.matmul import openblas
from lucid_kernels.cpu.runtime import threads

__all__ = ["get_num_threads", "set_num_threads", "share"]
_Part = TypeVar("_Part")

if threads.affine_cpus() > 1:
    # Numba chooses its threading layer when a parallel function first runs. That may be one of the user's own, before any kernel,
    # and without TBB in the process the choice would be GNU OpenMP, which ends processes that fork.
    threads.load_tbb()


def set_num_threads(num: int) -> None:
    """Use `num` threads for kernels and matrix products on a CPU from now on, in the whole process.

    The default is what NUMBA_NUM_THREADS or OMP_NUM_THREADS say, else the CPUs that the process may use. The kernels of a process
    that was forked while other Python threads lived use one, whatever `num` is. As in PyTorch, raises RuntimeError unless
    `num` is a positive integer.

    >>> before = lucid.get_num_threads()
    >>> lucid.set_num_threads(1)
    >>> lucid.get_num_threads()
    1
    >>> lucid.set_num_threads(before)
    """
    if isinstance(num, bool) or not isinstance(num, (int, np.integer)):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if num >= 1 << 31:
        raise ValueError(f"set_num_threads: {num} threads are too many")
    threads.set_num_threads(operator.index(num))
    openblas.set_num_threads(operator.index(num))


def get_num_threads() -> int:
    """The number of threads that operations on a CPU use.

    >>> lucid.get_num_threads() >= 1
    True
    """
    return threads.get_num_threads()


def share(compute: Callable[[_Part], None], parts: Sequence[_Part]) -> None:
    """Call `compute` for each part, all but the first in a thread of Python's own: starting one takes 80 us.

    NumPy lets other threads run while it computes. These end with the call: a process that has several threads when it forks
    would get a child that computes on one.
    """
    failures: list[BaseException] = []

    def guarded(part: _Part) -> None:
        try:
            compute(part)
        except BaseException as error:
            failures.append(error)

    started = [threading.Thread(target=guarded, args=(part,)) for part in parts[1:]]
    for thread in started:
        thread.start()
    guarded(parts[0])
    for thread in started:
        thread.join()
    if failures:
        raise failures[0]
