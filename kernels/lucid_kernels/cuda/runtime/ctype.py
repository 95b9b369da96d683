"""The C++ names of dtypes."""
from __future__ import annotations

from typing import Any

import numpy as np

_CTYPES = {
    "float32": "float", "float64": "double", "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "long long", "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long", "float16": "__half", "bfloat16": "__nv_bfloat16",
}  # fmt: skip


def ctype(dtype: Any) -> str:
    """The C++ name of a dtype, as the instantiations spell it."""
    try:
        return _CTYPES[np.dtype(dtype).name]
    except KeyError:
        raise TypeError(f"no CUDA kernel for dtype {dtype}") from None
