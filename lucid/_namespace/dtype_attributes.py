"""The attributes of PyTorch's dtypes, on NumPy's dtype objects: ``lucid.float32.is_floating_point``.

lucid's dtypes are NumPy's objects, so that arrays, kernels and tensors share one object each and no operation converts one. The
class gains names, and no name of it changes; with LUCID_PATCHES=0 it gains none.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from lucid_kernels.cpu.runtime import patches

_COMPLEX = {"float32": "complex64", "float64": "complex128", "complex64": "complex64", "complex128": "complex128",
            "bfloat16": "complex64", "float16": "complex64"}


def _is_floating_point(self: np.dtype) -> bool:
    """Whether the numbers are real and have a fraction."""
    return self.kind == "f" or (self.kind == "V" and self.name.startswith(("bfloat", "float")))


def _is_complex(self: np.dtype) -> bool:
    """Whether the numbers are complex."""
    return bool(self.kind == "c")


def _is_signed(self: np.dtype) -> bool:
    """Whether there are negative numbers."""
    return self.kind in "ic" or (_is_floating_point(self) and self.name != "float8_e8m0fnu")


def _to_real(self: np.dtype) -> np.dtype:
    """The dtype of the real and imaginary parts of a complex dtype; any other dtype itself."""
    return np.dtype(f"float{4 * self.itemsize}") if self.kind == "c" else self


def _to_complex(self: np.dtype) -> np.dtype:
    """The complex dtype whose parts hold these numbers; complex64 for half precision. Raises RuntimeError for integers."""
    found = _COMPLEX.get(self.name)
    if found is None:
        raise RuntimeError(f"there is no complex dtype whose parts are {self.name}")
    return np.dtype(found)


_ATTRIBUTES: dict[str, Any] = {
    "is_floating_point": property(_is_floating_point), "is_complex": property(_is_complex), "is_signed": property(_is_signed),
    "to_real": _to_real, "to_complex": _to_complex}


def install() -> None:
    """Give the attributes to NumPy's class, once."""
    patches.dtype_attributes(_ATTRIBUTES)
