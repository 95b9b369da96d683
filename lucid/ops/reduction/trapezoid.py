"""Integrals by the trapezoidal rule."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...tensor import Tensor
from .._operands import canonical_dim, require_tensor
from .cumulative import cumsum
from .finite_differences import diff


def _sample_axis(name: str, y: Tensor, dim: int, x: Tensor | None = None) -> int:
    """The dimension of samples `y` at places `x`. Raises RuntimeError for bools, IndexError for a 0-d tensor."""
    axis = canonical_dim(dim, require_tensor(name, y).ndim)
    if y.dtype == _dtypes.bool_ or (x is not None and x.dtype == _dtypes.bool_):
        raise RuntimeError(f"{name}: received a bool input, but bool is not supported")
    if y.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axis


def _areas(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> tuple[Tensor, int]:
    """The areas of the trapezoids between neighbours along a dimension, and that dimension."""
    axis = _sample_axis(name, y, dim, x)
    if x is not None and dx is not None:
        raise TypeError(f"{name}() takes x or dx, not both")
    length = y._array.shape[axis]
    width: Any = 1 if dx is None else dx
    if x is not None:
        if x.ndim == 1:
            if x._array.shape[0] != length:
                raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
            x = x.reshape([-1 if d == axis else 1 for d in range(y.ndim)])
            width = diff(x, dim=axis)
        else:
            width = diff(x, dim=axis - y.ndim)
    count = max(length - 1, 0)
    return (y.narrow(axis, min(1, length), count) + y.narrow(axis, 0, count)) * width / 2, axis - y.ndim


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along `dim` by the trapezoidal rule of samples `y` at places `x`, or `dx` (1) apart.

    >>> lucid.trapezoid(lucid.tensor([1.0, 3.0, 5.0]))
    Tensor(6.0, requires_grad=False)
    >>> lucid.trapezoid(lucid.tensor([1.0, 3.0, 5.0]), dx=0.5)
    Tensor(3.0, requires_grad=False)
    """
    if x is not None:
        areas, axis = _areas("trapezoid", y, x, dx, dim)
        return areas.sum(axis)
    axis = _sample_axis("trapezoid", y, dim)
    if y._array.shape[axis] == 0:
        return y.sum(axis)
    # All samples, and half of the outer ones less: without an array of areas.
    return (y.sum(axis) - (y.select(axis, 0) + y.select(axis, -1)) * 0.5) * (1 if dx is None else dx)


trapz = trapezoid


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integrals of `trapezoid` up to each sample but the first.

    >>> lucid.cumulative_trapezoid(lucid.tensor([1.0, 3.0, 5.0]))
    Tensor([2.0, 6.0], requires_grad=False)
    """
    areas, axis = _areas("cumulative_trapezoid", y, x, dx, dim)
    return cumsum(areas, axis)
