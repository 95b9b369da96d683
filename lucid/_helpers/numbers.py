"""Arithmetic of Python's numbers by the names that PyTorch has for programs that its compilers trace: here lengths are ints."""
from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

_NUMBERS = (int, float, np.integer, np.floating)
_FLOATS = (float, np.floating)


def sym_not(a: Any) -> Any:
    """Python's `not`.

    >>> lucid.sym_not(True)
    False
    """
    return not a


def sym_int(a: Any) -> builtins.int:
    """Python's `int`.

    >>> lucid.sym_int(-2.7)
    -2
    """
    return builtins.int(a)


def sym_float(a: Any) -> builtins.float:
    """Python's `float`.

    >>> lucid.sym_float(2)
    2.0
    """
    return builtins.float(a)


def _checked(*numbers: Any) -> bool:
    """Whether one of the numbers is a float. Raises AssertionError for what is no number."""
    for number in numbers:
        if not isinstance(number, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(number)}")
    return any(isinstance(number, _FLOATS) for number in numbers)


def sym_max(a: Any, b: Any) -> Any:
    """The larger number, as a float where one is a float.

    >>> lucid.sym_max(3, 2.0)
    3.0
    """
    return builtins.float(builtins.max(a, b)) if _checked(a, b) else builtins.max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number, as a float where one is a float.

    >>> lucid.sym_min(1, 2.0)
    1.0
    """
    return builtins.float(builtins.min(a, b)) if _checked(a, b) else builtins.min(a, b)


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, or of those in a list.

    >>> lucid.sym_sum([1, 2, 3]), lucid.sym_sum(1, 2)
    (6, 3)
    """
    return builtins.sum(args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args)


def sym_ite(b: builtins.bool, t: Any, f: Any) -> Any:
    """`t` if `b` else `f`, which are of one type.

    >>> lucid.sym_ite(True, 1, 2)
    1
    """
    if not isinstance(b, builtins.bool):
        raise AssertionError(f"expected bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sqrt(a: Any) -> builtins.float:
    """`math.sqrt`.

    >>> lucid.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_fresh_size(expr: Any) -> Any:
    """The number itself.

    >>> lucid.sym_fresh_size(3)
    3
    """
    return expr


def sym_constrain_range(size: Any, *, min: builtins.int | None = None, max: builtins.int | None = None) -> None:
    """Raise RuntimeError for a number below `min` or above `max`.

    >>> lucid.sym_constrain_range(3, min=2, max=5)
    """
    low, high = -2**63 if min is None else min, 2**63 - 1 if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size: Any, *, min: builtins.int | None = None, max: builtins.int | None = None) -> None:
    """Raise RuntimeError for a length below `min`, which is 0 at least, or above `max`, which is 3 at least.

    >>> lucid.sym_constrain_range_for_size(3, max=5)
    """
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    sym_constrain_range(size, min=0 if min is None else min, max=max)


class _NoInstances(type):
    """The type of classes of which nothing is an instance."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"there are no objects of type {cls.__name__}: lengths and numbers are Python's own")


class SymInt(metaclass=_NoInstances):
    """Of PyTorch's compilers, for `isinstance`: nothing is one.

    >>> isinstance(lucid.ones(3).shape[0], lucid.SymInt)
    False
    """


class SymFloat(metaclass=_NoInstances):
    """Of PyTorch's compilers, for `isinstance`: nothing is one.

    >>> isinstance(3.0, lucid.SymFloat)
    False
    """


class SymBool(metaclass=_NoInstances):
    """Of PyTorch's compilers, for `isinstance`: nothing is one.

    >>> isinstance(True, lucid.SymBool)
    False
    """
