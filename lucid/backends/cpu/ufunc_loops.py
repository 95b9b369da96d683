"""Operations by NumPy's own loops on all threads: `lucid_kernels.cpu.numpy_loops`, by name."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

Array = Any
_NAMES = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
          "neg": "negative", "bitwise_invert": "invert"}
# Bytes of an operand from which on they take less time: a call takes 3 us.
LOOPS_FROM = 1 << 19


def numpy_loops(name: str, *operands: Any, out: Array | None = None) -> Array | None:
    """The operation `name` of large arrays and numbers; None where NumPy's function has to do it."""
    computed: Array | None = _kernels().apply(ufunc(name), *operands, out=out)
    return computed


@functools.cache
def _kernels() -> Any:
    """What compiles with Numba: imported with the first large array."""
    from lucid_kernels.cpu.elementwise import ufunc_loops as numpy_loops

    return numpy_loops


@functools.cache
def ufunc(name: str) -> np.ufunc:
    """NumPy's function for the operation `name`."""
    found: np.ufunc = np._core.umath.clip if name == "clip" else getattr(np, _NAMES.get(name, name))  # type: ignore[attr-defined]
    return found
