"""dtypes as PyTorch's objects: `torch.float32` is printed so, and says whether it is floating. lucid's own are NumPy's, which
these stand for: NumPy and lucid take them as such, and they are equal.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import lucid
from lucid import _dtypes

_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64",
            "cfloat": "complex64", "cdouble": "complex128"}


class dtype:
    """The kind of the elements of a tensor."""

    __slots__ = ("dtype",)
    __module__ = "torch"

    def __init__(self, numpy_dtype: np.dtype) -> None:
        self.dtype = numpy_dtype  # where NumPy looks for what an object means as a dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, np.dtype) and self.dtype == other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"torch.{self.dtype.name}"

    def __reduce__(self) -> Any:
        return named, (self.dtype.name,)

    @property
    def is_floating_point(self) -> bool:
        """Whether the elements are real floating-point numbers."""
        return self.dtype.kind == "f" or "float" in self.dtype.name

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self.dtype.kind == "c"

    @property
    def is_signed(self) -> bool:
        """Whether there are negative elements."""
        return self.dtype.kind not in "bu"

    def to_complex(self) -> dtype:
        """The complex dtype whose parts have this one."""
        return self if self.is_complex else of(_dtypes.complex128 if self.dtype == _dtypes.float64 else _dtypes.complex64)

    def to_real(self) -> dtype:
        """The dtype of the parts of a complex one."""
        parts = {"complex64": _dtypes.float32, "complex128": _dtypes.float64}
        return of(parts[self.dtype.name]) if self.is_complex else self


_OF = {each: dtype(each) for each in _dtypes.EVERY}
#: By the names of `torch`.
NAMED = {found.dtype.name: found for found in _OF.values()}
NAMED |= {alias: NAMED[name] for alias, name in _ALIASES.items()}


def named(name: str) -> dtype:
    """The object of a name, for pickles."""
    return NAMED[name]


def of(numpy_dtype: Any) -> dtype:
    """The object for a dtype of NumPy's."""
    return numpy_dtype if isinstance(numpy_dtype, dtype) else _OF[numpy_dtype]


def get_default_dtype() -> dtype:
    """The dtype of new floating-point tensors."""
    return of(lucid.get_default_dtype())


def promote_types(type1: Any, type2: Any) -> dtype:
    """The dtype of an operation on tensors of two dtypes."""
    return of(lucid.promote_types(type1, type2))


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an operation on two tensors or numbers."""
    return of(lucid.result_type(tensor1, tensor2))


def get_autocast_dtype(device_type: str) -> dtype:
    """The lower precision of autocast for a kind of device."""
    return of(lucid.get_autocast_dtype(device_type))


def get_autocast_cpu_dtype() -> dtype:
    """The lower precision of autocast on the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """The lower precision of autocast on a GPU."""
    return get_autocast_dtype("gpu")
