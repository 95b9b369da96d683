"""How every kernel of this package is compiled: threading layer, flags, cache."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba
from llvmlite.binding.ffi import lib as llvm
from numba.core.compiler_lock import global_compiler_lock

from . import fork, patches, thread_pool, threads
from .compiler import InterleavedKernel, Kernel, SeldomKernel, UnrolledKernel
from .parallel_loop import GuardedKernel, ParallelKernel

# Reassociation lets LLVM vectorise sums. `nnan` and `ninf` stay off: with them NaN and inf come out wrong. So do `arcp`
# and `afn`: they allow a reciprocal estimate and a Newton step for a division, which turns 1 / inf into NaN.
REDUCE = {"reassoc", "contract", "nsz"}
# Range reductions such as x - n*ln2 lose their point when reassociated, so elementwise code goes without it.
EXACT = {"contract", "nsz"}

patches.allow_many_arrays()

_numba: Any = numba
_config = _numba.config  # Numba adds its settings to this module when it is imported
patches.set_threading_layer(threads.choose_layer(_config.THREADING_LAYER))


def _set_numba_threads(number: int) -> None:
    numba.set_num_threads(min(number, _config.NUMBA_NUM_THREADS))  # it starts no more
    thread_pool.start(number - 1)


threads.set_numba_threads = _set_numba_threads
thread_pool.start_pool()
# Starts the layer: code that is loaded from disk needs the addresses of its functions.
_set_numba_threads(threads.get_num_threads())
_parallel_kernel: type[Kernel] = ParallelKernel
if _numba.threading_layer() == "omp" and _config.THREADING_LAYER == "tbb":
    warnings.warn("a parallel function ran before lucid was imported, for which Numba started GNU OpenMP: kernels start slowly, "
                  "and processes that fork end; import lucid first", RuntimeWarning, stacklevel=2)  # fmt: skip
if _numba.threading_layer() == "workqueue":
    _parallel_kernel = GuardedKernel
    threads.STARTED_THREADS.value = _config.NUMBA_NUM_THREADS

fork.hold(llvm._lock)  # around each call of LLVM, also of threads that load from the cache
fork.hold(global_compiler_lock)
fork.limit_children()


def _compiled(function: Callable[..., Any], flags: Any, kernel: type[Kernel] = Kernel, **more: Any) -> Callable[..., Any]:
    options = {"nopython": True, "nogil": True, "fastmath": flags, "error_model": "numpy", "boundscheck": None, "_nrt": True}
    compiled: Callable[..., Any] = kernel(function, targetoptions={**options, **more})
    return compiled


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a serial kernel whose sums may be reassociated."""
    return _compiled(function, REDUCE)


def jit_exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a serial kernel or device function that keeps the order of its operations."""
    return _compiled(function, EXACT)


def jit_inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `jit_exact`, but inlined whatever its size: a loop with a call does not vectorise."""
    return _compiled(function, EXACT, forceinline=True)


def jit_unrolled(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `jit_exact`, for loops over elements at indices that are read: several at a time save up to a fifth of the time."""
    return _compiled(function, EXACT, UnrolledKernel)


def jit_interleaved(function: Callable[..., Any], strict: bool = False, seldom: bool = False) -> Callable[..., Any]:
    """As `jit_exact`, or `jit_strict`, for loops that compute much for each element, one operation after the other.

    Four vectors in turn keep the processor busy meanwhile: exp takes 0.86 of the time in the L2 cache, mish 0.6.
    One that is called `seldom`, not for rows that may be short, is not inlined: its caller compiles in 0.92 of the time.
    """
    return _compiled(function, False if strict else EXACT, SeldomKernel if seldom else InterleavedKernel)


def jit_strict(function: Callable[..., Any], inline: bool = False) -> Callable[..., Any]:
    """Compile with IEEE arithmetic only, no contraction: for results that must match another backend bit for bit.

    `fastmath=False` is not redundant: unset, a function takes over the flags of the caller that is compiled first.
    """
    return _compiled(function, False, forceinline=inline)


def jit_parallel(function: Callable[..., Any], allocates: bool = True) -> Callable[..., Any]:
    """Compile a kernel with a `prange` loop. Give each iteration a whole chunk: a slice, passed to a serial kernel.

    One loop at the top level that assigns to nothing outside (`parallel_loop.split_loop`) compiles several times faster.
    One that neither makes arrays nor gets new ones from what it calls need not count references to those it is given, which its
    caller holds: a formula takes 0.9 of the time to compile.
    """
    return _compiled(function, REDUCE, _parallel_kernel, _nrt=allocates)
