"""The precision of products of float32 matrices. The setting belongs to the context."""
from __future__ import annotations

import warnings
from contextvars import ContextVar

_PRECISIONS = ("highest", "high", "medium")
_precision: ContextVar[str] = ContextVar("lucid_float32_matmul_precision", default="highest")


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 matrices to be less exact: 'highest', 'high' or 'medium'.

    It is noted, and read by `get_float32_matmul_precision`; lucid's own products are always computed in float32, and those of
    cuBLAS as CuPy is set up. Another string is a UserWarning and changes nothing; RuntimeError for what is no string.
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in _PRECISIONS:
        warnings.warn(f"{precision} is not one of {', '.join(map(repr, _PRECISIONS))}; it has no effect.", stacklevel=2)
        return
    _precision.set(precision)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` has been called with."""
    return _precision.get()
