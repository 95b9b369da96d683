"""Protocols: a tensor as Python sees it, as a number, a sequence and text."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import backends
from .._namespace.lazy import load
from .base import TensorBase
from .format import format_tensor

if TYPE_CHECKING:
    from . import Tensor


class Protocols(TensorBase):
    """A tensor as a number, a sequence and text."""

    __slots__ = ()

    def item(self) -> Any:
        """The only element, as a Python number. Raises RuntimeError if there are more or none, and on the device 'meta'.

        >>> lucid.tensor([2.5]).item()
        2.5
        """
        array = self._array
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        if array.__class__ is not np.ndarray and self.is_meta:
            raise RuntimeError("Tensor.item() cannot be called on meta tensors: they have no elements")
        value = backends.to_host(array).item()
        return float(value) if array.dtype.kind == "V" else value

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars; a 0-d tensor gives the scalar.

        >>> lucid.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return backends.to_host(self._array).tolist()

    def __bool__(self) -> bool:
        if self._array.size != 1:
            size = "no values" if self._array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {size} is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._real_number("int64"))

    def __float__(self) -> float:
        return float(self._real_number("float64"))

    def __complex__(self) -> complex:
        return complex(self._number())

    def _number(self) -> Any:
        """The only element, for Python's conversions: those of libraries try others after a ValueError, not a RuntimeError."""
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _real_number(self, kind: str) -> Any:
        number = self._number()
        if number.__class__ is complex:
            if number.imag:
                raise RuntimeError(f"value cannot be converted to type {kind} without overflow: {number}")
            return number.real
        return number

    def __index__(self) -> int:
        if self._array.dtype.kind not in "biu" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (TensorBase, int, float, complex, np.generic)):
            raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
        return bool((self == element).any().item())

    __hash__ = object.__hash__  # by identity; `==` compares elements

    def _repr_html_(self) -> str:
        return str(load("lucid._notebook:tensor")(self))

    def __repr__(self) -> str:
        return format_tensor(self)

    def __format__(self, specification: str) -> str:
        return format(self.item(), specification) if self.ndim == 0 else object.__format__(self, specification)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))
