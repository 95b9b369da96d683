"""Operations by NumPy's own loops on all threads: `lucid_kernels.cpu.elementwise.ufunc_loops`, by name."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..elementwise import Row
from ..sizes import UFUNC_LOOPS_BYTES

Array = Any


def of_large(row: Row, operands: Sequence[Any], out: Array | None, attributes: dict[str, Any]) -> Array | None:
    """The operation of `row` of large arrays; None where NumPy's function has to do it."""
    x = operands[0] if isinstance(operands[0], np.ndarray) else operands[1]
    # Of float32 NumPy's are less exact than ours.
    if x.nbytes < UFUNC_LOOPS_BYTES or x.dtype.kind not in row.loop_kinds or (row.libm and x.dtype.char == "f"):
        return None
    if attributes and any(attributes.values()):
        return None
    return apply(row.source if row.loops is True else str(row.loops), *operands, out=out)


def apply(name: str, *operands: Any, out: Array | None = None) -> Array | None:
    """NumPy's function `name` of large arrays and scalars; None where NumPy has to do it."""
    computed: Array | None = _kernels().apply(ufunc(name), *operands, out=out)
    return computed


@functools.cache
def _kernels() -> Any:
    """What compiles with Numba: imported with the first large array."""
    from lucid_kernels.cpu.elementwise import ufunc_loops

    return ufunc_loops


@functools.cache
def ufunc(name: str) -> np.ufunc:
    """NumPy's function `name`."""
    found: np.ufunc = np._core.umath.clip if name == "clip" else getattr(np, name)  # type: ignore[attr-defined]
    return found
