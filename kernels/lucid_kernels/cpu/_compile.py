"""How every Numba kernel of this package is compiled: threading layer, flags, cache."""

from __future__ import annotations

import ctypes
import pathlib
import sysconfig
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba

from ._memory import keep_freed_memory

# Reassociation lets LLVM vectorise sums. `nnan` and `ninf` stay off: with them NaN and inf come out wrong. So do `arcp`
# and `afn`: they allow a reciprocal estimate and a Newton step for a division, which turns 1 / inf into NaN.
REDUCE = {"reassoc", "contract", "nsz"}
# Range reductions such as x - n*ln2 lose their point when reassociated, so elementwise code goes without it.
EXACT = {"contract", "nsz"}

# LLVM stops vectorising when a loop needs more than 8 alias checks; fused kernels with six arrays need more.
llvmlite.binding.set_option("", "-runtime-memory-check-threshold=2000")


def _load_tbb() -> bool:
    """Load the TBB library of the `tbb` wheel, which lies where the loader does not look, before Numba asks for it."""
    for prefix in dict.fromkeys((sysconfig.get_path("data"), sysconfig.get_config_var("base") or "")):
        for path in sorted(pathlib.Path(prefix, "lib").glob("libtbb.so.12*")):
            try:
                ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
            except OSError:
                continue
            return True
    return False


_config: Any = numba.config  # Numba adds its settings to this module when it is imported
keep_freed_memory()
if _load_tbb() and _config.THREADING_LAYER == "default":
    # 1.6 us a launch; Numba's `workqueue` costs 50 to 90 us and is not safe when two threads call kernels.
    _config.THREADING_LAYER = "tbb"


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a serial kernel whose sums may be reassociated."""
    return numba.njit(fastmath=REDUCE, error_model="numpy", nogil=True, cache=True)(function)


def jit_exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a serial kernel or device function that keeps the order of its operations."""
    return numba.njit(fastmath=EXACT, error_model="numpy", nogil=True, cache=True)(function)


def jit_strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with IEEE arithmetic only, no contraction: for results that must match another backend bit for bit.

    `fastmath=False` is not redundant: unset, a function takes over the flags of the caller that is compiled first.
    """
    return numba.njit(fastmath=False, error_model="numpy", nogil=True, cache=True)(function)


def jit_parallel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel with `prange` loops. Give each iteration a whole chunk: a slice, passed to a serial kernel."""
    return numba.njit(parallel=True, fastmath=REDUCE, error_model="numpy", nogil=True, cache=True)(function)
