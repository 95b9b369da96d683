"""Machine code of kernels, as text."""
from __future__ import annotations

from typing import Any

import numba


def of_float32(function: Any) -> str:
    """The assembly of a compiled function for arrays of float32: other tests may have had it compiled for other dtypes before."""
    signature = next(s for s in function.signatures if any(getattr(kind, "dtype", None) == numba.float32 for kind in s))
    assembly: str = function.inspect_asm(signature)
    return assembly
