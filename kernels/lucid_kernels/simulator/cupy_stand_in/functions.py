"""NumPy's functions as functions of the device, under CuPy's names and with CuPy's arguments only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import differences, lacking, reference
from .array import ndarray, run, scatter
from .indices import take, take_along_axis

_UFUNC_KEYWORDS = frozenset({"casting", "dtype", "out"})
#: Where CuPy does something else than NumPy.
_DIFFERENT: dict[str, Callable[..., Any]] = {
    "take": take, "take_along_axis": take_along_axis, "linalg.svd": differences.svd, "clip": differences.clip,
    "diagonal": differences.diagonal, "broadcast_to": differences.broadcast_to, "where": differences.where}  # fmt: skip
#: The ufuncs whose `at` CuPy has.
_SCATTERING = frozenset(["add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"])


class Ufunc:
    """A ufunc of the device, with CuPy's keywords and methods."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        self._compute = differences.UFUNCS.get(ufunc, ufunc)
        self.__name__ = self.name = ufunc.__name__
        self.nin = ufunc.nin
        self.nout = ufunc.nout
        self.nargs = ufunc.nargs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs and not _UFUNC_KEYWORDS.issuperset(kwargs):
            unknown = sorted(set(kwargs) - _UFUNC_KEYWORDS)
            raise TypeError(f"cupy.{self.name} does not take {', '.join(unknown)}")
        if len(args) > self.nin:  # a positional output
            args, kwargs = args[: self.nin], {**kwargs, "out": args[self.nin]}
        return run(self._compute, self.name, args, kwargs)

    def at(self, a: ndarray, indices: Any, b: Any = None) -> None:
        """The operation in place at an index, repeated indices accumulating. Raises TypeError, NotImplementedError."""
        if self.name not in _SCATTERING:
            raise NotImplementedError(f"`{self.name}.at` is not supported by CuPy")
        scatter(self._ufunc, a, indices, b)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The operation along an axis."""
        return run(
            self._ufunc.reduce, self.name, (array,), {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims}
        )

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The partial results along an axis."""
        return run(self._ufunc.accumulate, self.name, (array,), {"axis": axis, "dtype": dtype, "out": out})

    def outer(self, A: Any, B: Any) -> Any:
        """The operation on all pairs."""
        return run(self._ufunc.outer, self.name, (A, B), {})

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}' of the simulated device>"


def find(name: str) -> Any:
    """The function `name` (`'exp'`, `'linalg.norm'`) of the device. Raises AttributeError.

    A name must be NumPy's and, when CuPy is installed, CuPy's; constants and types are NumPy's own.
    """
    if reference.find(name) is reference.MISSING:
        raise AttributeError(f"module 'cupy' has no attribute {name!r} (CuPy {reference.version()})")
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise AttributeError(lacking.message(f"cupy.{name}"))
    if isinstance(found, np.ufunc) and found.signature is None:
        return Ufunc(found)
    if not callable(found) or isinstance(found, type):
        return found
    return _device_function(found, name)


def _device_function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    # A signature says nothing about a function that takes (*args, **kwargs).
    signature = reference.signature(name)
    compute = _DIFFERENT.get(name, function)

    def call(*args: Any, **kwargs: Any) -> Any:
        if signature is not None:
            signature.bind(*args, **kwargs)  # TypeError for what CuPy does not accept
        return run(compute, name, args, kwargs)

    functools.update_wrapper(call, function, assigned=("__name__", "__doc__"), updated=())
    del call.__wrapped__  # type: ignore[attr-defined]
    return call
