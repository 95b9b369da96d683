"""Arrays from what the constructors of tensors take."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import _dtypes, _recording, backends
from .base import TensorBase
from .python_data import from_python
from .size import Size

_NUMBERS = (bool, int, float, complex, np.generic)  # single ones keep the kinds of their own


def from_arguments(data: Any, more: tuple[Any, ...], requires_grad: bool | None, dtype: Any,
                   device: Any) -> tuple[Any, bool | None]:
    """The array that the arguments of `Tensor` give, `more` of them by position, and whether it requires grad."""
    plain = requires_grad is dtype is None
    shape = _sizes(data, more) if plain else None
    if shape is not None:
        return _empty(shape, device), False
    if more:
        requires_grad, dtype, device = _in_order(more, requires_grad, dtype, device)
        plain = False
    if dtype is None and not isinstance(data, (TensorBase, *_NUMBERS)):
        device = device if hasattr(data, "dtype") or device is not None else backends.default_device()
        data, dtype = _collected(data)
    return as_array(data, dtype, device, copy=not (plain and isinstance(data, np.ndarray))), requires_grad


def _sizes(data: Any, more: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The shape that the arguments of `Tensor` give: a Size, or integers of any class. None if they are data."""
    if isinstance(data, Size):
        return None if more else tuple(data)
    if isinstance(data, (bool, np.bool_)) or (isinstance(data, TensorBase) and not more):
        return None
    try:
        sizes = tuple(map(operator.index, (data, *more)))
    except TypeError:
        return None
    for size in sizes:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {list(sizes)}")
    return sizes


def _empty(shape: tuple[int, ...], device: Any) -> Any:
    place = backends.default_device() if device is None else backends.Device(device)
    return backends.create("empty", place, {"shape": shape, "dtype": _dtypes.get_default_dtype()})


def _in_order(given: tuple[Any, ...], requires_grad: Any, dtype: Any, device: Any) -> list[Any]:
    """`requires_grad`, `dtype` and `device`, of which the first ones are `given` by position."""
    named = [requires_grad, dtype, device]
    if len(given) > len(named) or any(value is not None for value in named[:len(given)]) or not isinstance(given[0], bool):
        raise TypeError("Tensor() takes sizes, or data, requires_grad, dtype and device")
    return [*given, *named[len(given):]]


def _collected(data: Any) -> tuple[Any, np.dtype]:
    """An array or sequence, and the dtype that a tensor of it has by default."""
    if not hasattr(data, "dtype"):
        data = from_python(data, None, TensorBase, floating=True)
    return data, _dtypes.default_complex() if np.dtype(data.dtype).kind == "c" else _dtypes.get_default_dtype()


def as_array(data: Any, dtype: Any = None, device: Any = None, copy: bool = False) -> Any:
    """An array made of `data` with `dtype` on `device`; None keeps what an array or tensor has.

    Scalars and sequences become the default float dtype, int64, bool or the default complex dtype. Raises TypeError for data that
    is not numeric, and without a `dtype` for arrays of one that we do not have, such as those of unsigned 64-bit integers and of
    C's long double; ValueError for ragged sequences.
    """
    wanted, made = None if dtype is None else _dtypes.as_dtype(dtype), False
    if isinstance(data, TensorBase):
        array = data._array
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
    elif hasattr(data, "__cuda_array_interface__"):
        array = backends.gpu_module().as_array(data)
        backends.versions.share(array)
    elif hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        array = np.asarray(data)
    else:
        array, copy, made = from_python(data, wanted, TensorBase), False, True
        if device is None:
            device = backends.default_device()
    if not array.dtype.isnative:
        array, copy = array.astype(array.dtype.newbyteorder("=")), False
    if wanted is not None and array.dtype != wanted and (array.dtype.kind in "biufc" or array.dtype in _dtypes.CATEGORY):
        array, copy = _converted(array, wanted), False
    else:
        array = backends.as_held(array)
    if device is not None:
        target = backends.Device(device)
        moved = backends.to_device(array, target)
        array, copy = moved, copy and moved is array
    if made:
        return _recording.constant(array)
    return backends.row_major_copy(array) if copy else array


def _converted(array: Any, dtype: np.dtype) -> Any:
    """`array` as another dtype of tensors."""
    if array.dtype.__class__ in _dtypes.STORED_CLASSES:
        array = backends.as_held(array)
    return backends.run("cast", (array,), {"dtype": dtype}) if dtype.__class__ in _dtypes.STORED_CLASSES else array.astype(dtype)
