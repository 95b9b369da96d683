"""What reductions share: their dimensions, the dtype of totals, refusals, broadcasting back to the shape of the input."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _dtypes, _recording
from ...autograd.grad_mode import is_composed
from ...backends import TABLES, note_read, run
from ...backends.sizes import REPEATED_AT_ONCE
from ...tensor import Tensor, wrap
from .._operands import canonical_dim, canonical_dims, physical, refuse_stored, require_tensor

Axes = int | tuple[int, ...] | None  # None: all dimensions
_SMALL = 1 << 16  # elements: copies of fewer take less time than two views, a fifth for a few, and what follows 0.5 to 0.9 of it


def kernel_axes(dim: Any, ndim: int) -> Axes:
    """`dim` for a kernel: checked and counted from the front, None for all dimensions."""
    if dim is None:
        return None
    if dim.__class__ is int and -ndim <= dim < ndim:  # in a third of the time
        return None if ndim == 1 else (dim % ndim,)
    dims = canonical_dims(dim, ndim)
    return None if len(dims) == ndim else dims


def one_axis(dim: int | None, ndim: int) -> int | None:
    """As `kernel_axes` for functions that reduce along one dimension only."""
    if dim is None:
        return None
    axis = canonical_dim(dim, ndim)
    return axis if ndim else None


def spread(t: Tensor, shape: tuple[int, ...], axis: Axes, keepdims: bool) -> Tensor:
    """A reduced tensor with the reduced dimensions put back, as dimensions of length 1."""
    if keepdims or not shape:
        return t
    reduced = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return t.reshape(tuple(1 if i in reduced else n for i, n in enumerate(shape)))


def spread_over(t: Tensor, shape: tuple[int, ...], axis: Axes, keepdims: bool, divisor: int | None = None) -> Tensor:
    """A reduced tensor, divided by `divisor`, repeated over the reduced dimensions: the gradient of a sum, or of a mean."""
    array = t._array
    if array.__class__ is np.ndarray and not is_composed() and math.prod(shape) < _SMALL:
        if array.ndim and not keepdims:
            array = spread(t, shape, axis, keepdims)._array
        if divisor is not None:  # not as an operation: that takes as long as the rest
            array = TABLES[np.ndarray]["div"](array, divisor)
        return wrap(TABLES[np.ndarray]["full"](shape=shape, fill_value=array, dtype=array.dtype))
    if divisor is None:
        return spread(t, shape, axis, keepdims).expand(shape)
    if array.__class__ is not np.ndarray and math.prod(shape) <= REPEATED_AT_ONCE:  # one kernel divides and repeats
        return spread(t, shape, axis, keepdims).expand(shape) / divisor
    return spread(t / divisor, shape, axis, keepdims).expand(shape)


def count_along(shape: tuple[int, ...], axis: Axes) -> int:
    """How many elements are reduced to one."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[a] for a in ((axis,) if isinstance(axis, int) else axis))


def total_dtype(input: Tensor, dtype: Any) -> Any:
    """The dtype of a sum or product: the one given, int64 for integers and bools, else None (the tensor's own). Raises
    NotImplementedError for one for storage.
    """
    if dtype is not None:
        chosen = _dtypes.as_dtype(dtype)
        refuse_stored("sum", chosen)
        return chosen
    return _dtypes.int64 if input._array.dtype.kind in "biu" else None


@_recording.not_recorded  # a replay looks too
def require_within(input: Tensor, low: float, high: float, message: str) -> None:
    """Raise RuntimeError with `message` unless all elements are from `low` to `high`, which NaN is not; on 'meta' there are none.

    A tenth of the time of comparisons of tensors.
    """
    array = physical(input._array)
    if not array.size or input.is_meta:
        return
    note_read(array)
    every = {"axis": None, "keepdims": False}
    if not (low <= run("min", (array,), every).item() and run("max", (array,), every).item() <= high):
        raise RuntimeError(message)


def refuse_unordered(name: str, input: Tensor, kinds: str = "c") -> None:
    """Raise NotImplementedError (a RuntimeError) for complex tensors, which have no order."""
    if require_tensor(name, input)._array.dtype.kind in kinds:
        kind = "bool" if input.dtype.kind == "b" else "complex"
        raise NotImplementedError(f"{name}(): does not support {kind} input")


def refuse_empty(name: str, input: Tensor, dim: Any) -> None:
    """Raise for an extremum of no elements."""
    shape = input._array.shape
    if input._array.size:
        return
    if dim is None or dim == ():
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                           "reduction dim with the 'dim' argument.")
    for axis in canonical_dims(dim, len(shape)):
        if shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
