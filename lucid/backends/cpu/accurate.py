"""NumPy's functions of float32 that are 1.3 to 4 units in the last place off where PyTorch's are 0.5 to 0.9: computed in float64.

They serve arrays of up to some thousand elements, for which no kernel is compiled, and those that are not contiguous: 8 elements
take 0.4 us longer, a thousand 1 us, as long as PyTorch takes. Formulas of theirs and small ones of `lucid.fuse` have them too.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..families import MANY

Array = Any
Kernel = Callable[..., Any]

#: What NumPy computes with vectors where there is AVX-512, else with libm, number by number.
BY_LIBM = "arccos arccosh arcsin arcsinh arctan arctan2 arctanh cosh exp2 expm1 log log10 log1p log2 sinh tan".split()
NUMPY_HAS_VECTORS = bool(np._core._multiarray_umath.__cpu_features__.get("AVX512_SKX"))  # type: ignore[attr-defined]
# For these NumPy has vectors of its own. Most of libm's functions are exact enough.
_NAMES = {"exp", "log", "sin", "cos"}
_NAMES |= {*BY_LIBM} - {"exp2", "arccosh", "arcsinh"} if NUMPY_HAS_VECTORS else {"arctanh", "log10", "sinh"}


def _of_one(function: Kernel) -> Kernel:
    def kernel(x: Array, *, out: Array | None = None) -> Any:
        if x.dtype.char != "f":
            return function(x, out=out)
        if out is None and x.size < MANY:
            return function(x.astype(np.float64)).astype(np.float32)
        return function(x, out=np.empty_like(x) if out is None else out, dtype=np.float64, casting="same_kind")  # block by block

    return kernel


def _of_two(function: Kernel) -> Kernel:
    def kernel(a: Any, b: Any, *, out: Array | None = None) -> Any:
        if getattr(a, "dtype", None) != np.float32 or getattr(b, "dtype", None) != np.float32:
            return function(a, b, out=out)
        if out is None:
            return function(a, b, dtype=np.float64).astype(np.float32)
        return function(a, b, out=out, dtype=np.float64, casting="same_kind")

    return kernel


_FUNCTIONS = {name: (_of_two if getattr(np, name).nin == 2 else _of_one)(getattr(np, name)) for name in _NAMES}


def function(xp: Any, name: str) -> Kernel:
    """The function `name` of `xp` (numpy or cupy), or the one in its place: CuPy's are exact enough."""
    found: Kernel = _FUNCTIONS[name] if xp is np and name in _FUNCTIONS else getattr(xp, name)
    return found
