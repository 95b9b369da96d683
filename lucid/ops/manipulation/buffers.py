"""Tensors over memory of given form: with strides, over a buffer of Python; and `range`, which is deprecated."""
from __future__ import annotations

import builtins
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _dtypes, backends
from ..._namespace.callers import stacklevel
from ...autograd.errors import type_name
from ...backends import Device, storage
from ...tensor import Tensor, wrap
from .._methods import register
from .._operands import refuse_stored
from .._out import fills_out
from ..creation.creation import arange
from .strides import as_strided

METHODS = ("new_empty_strided",)


def empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, device: Any = None,
                  requires_grad: bool = False) -> Tensor:
    """A tensor of lengths `size` and steps `stride`, counted in elements, that holds whatever was in memory.

    Raises RuntimeError for negative lengths and steps, and where the two have different lengths.

    >>> lucid.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    shape, steps = tuple(map(int, size)), tuple(map(int, stride))
    if len(shape) != len(steps):
        raise RuntimeError(f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})")
    if any(length < 0 for length in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if any(step < 0 for step in steps):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    chosen = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    where = backends.default_device() if device is None else Device(device)
    count = 0 if 0 in shape else storage.reach(shape, steps)[1] + 1
    memory = wrap(backends.create("empty", where, {"shape": (count,), "dtype": chosen}))
    return wrap(as_strided(memory, shape, steps)._array).requires_grad_(requires_grad)


def new_empty_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], dtype: Any = None, device: Any = None,
                      requires_grad: bool = False) -> Tensor:
    """`empty_strided` with this tensor's dtype and device by default.

    >>> lucid.zeros(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype,
                         device=self.device if device is None else device, requires_grad=requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A vector that shares the memory of an object with Python's buffer protocol, from byte `offset` on.

    `count` is the number of elements; a negative one takes all. A buffer that cannot be written gives a warning, and writing
    to the tensor raises. Raises ValueError for an empty buffer and where the buffer is too short.

    >>> lucid.frombuffer(bytearray(b"abc"), dtype=lucid.uint8)
    Tensor([97, 98, 99], dtype=uint8, requires_grad=False)
    """
    chosen = _dtypes.as_dtype(dtype)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = view.nbytes, chosen.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) "
                         "minus 1")
    if count < 0:
        if (length - offset) % size:
            raise ValueError(f"buffer length ({length} bytes) after offset ({offset} bytes) must be a multiple of element size "
                             f"({size})")
        count = (length - offset) // size
    if offset + count * size > length:
        raise ValueError(f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater "
                         f"than actual buffer length ({length} bytes)")
    if view.readonly:
        warnings.warn("The given buffer is not writable: writing to the tensor will raise. clone() it to write.",
                      stacklevel=stacklevel())
    return wrap(np.frombuffer(buffer, chosen, count, offset)).requires_grad_(requires_grad)


@fills_out
def range(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:
    """The values from `start` up to and including `end`, in steps of `step`. Deprecated: `arange` is like Python's range.

    The default dtype is that of floats. Raises RuntimeError for a zero step or one that leads away from `end`.

    >>> lucid.range(1, 2, 0.5)
    Tensor([1.0, 1.5, 2.0], requires_grad=False)
    """
    warnings.warn("range is deprecated because it includes its end, unlike Python's range: use arange.", stacklevel=stacklevel())
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    start, end, step = (value.item() if isinstance(value, Tensor) else value for value in (start, end, step))
    chosen = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    refuse_stored("range", chosen)
    if chosen.kind in "bc":
        raise NotImplementedError(f"\"range_cpu\" not implemented for '{type_name(chosen)}'")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(value, builtins.int) for value in (start, end, step))
    count = math.floor((end - start) / step) + 1
    numbers = arange(count, dtype=_dtypes.int64 if whole else _dtypes.float64, device=device)
    return (start + numbers * step).to(chosen).requires_grad_(requires_grad)


register(__name__)
