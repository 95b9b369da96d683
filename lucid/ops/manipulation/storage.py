"""The memory behind tensors: its description, and tensors given another size (`resize_`) or other memory (`set_`) in place."""
from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import backends
from ...autograd.grad_mode import GRAD
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.inplace import refuse_leaf
from ...autograd.node import Node
from ...autograd.overwrite import refuse_write
from ...backends import Device
from ...backends import storage as backends_storage
from ...backends.memory_format import contiguous_format, inverse, memory_axes, preserve_format, require_format
from ...tensor import Tensor, Version, version_box
from .._methods import register
from .._operands import integers, require_tensor

METHODS = ("resize_", "set_")


class UntypedStorage:
    """The memory that a tensor shows, all or a part of it: where it is and how many bytes it has. `Tensor.set_` takes it.

    >>> isinstance(lucid.ones(2).untyped_storage(), lucid.UntypedStorage)
    True
    """

    element_bytes = 1

    def __init__(self, array: Any, version: Version) -> None:
        self._array = array
        self._version = version

    def data_ptr(self) -> int:
        """The address of the first byte; 0 on the device 'meta'."""
        backends.versions.share(self._array)
        return backends_storage.span(self._array)[0]

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._array.nbytes)

    def size(self) -> int:
        """The number of elements, which are bytes in an untyped storage."""
        return self.nbytes() // self.element_bytes

    __len__ = size

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.element_bytes

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return backends.device_of(self._array)

    def __repr__(self) -> str:
        return f"lucid.{type(self).__name__}(device={self.device}) of size {self.size()}"


class TypedStorage(UntypedStorage):
    """`UntypedStorage` that counts elements of a dtype; deprecated, as in PyTorch.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     print(isinstance(lucid.ones(2).storage(), lucid.TypedStorage))
    True
    """

    def __init__(self, array: Any, version: Version) -> None:
        super().__init__(array, version)
        self.element_bytes: int = int(array.itemsize)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        dtype: np.dtype = self._array.dtype
        return dtype


def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is the memory of a tensor, of `untyped_storage` or `storage`.

    >>> lucid.is_storage(lucid.ones(2).untyped_storage()), lucid.is_storage(lucid.ones(2))
    (True, False)
    """
    return isinstance(obj, UntypedStorage)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor, or what it is a view of, lies in.

    >>> lucid.zeros(3).untyped_storage().nbytes()
    12
    """
    return UntypedStorage(backends_storage.owner(self._array), version_box(self))


def storage(self: Tensor) -> TypedStorage:
    """`untyped_storage` counted in elements; deprecated.

    >>> storage = lucid.arange(3.0)[1:].storage()
    >>> storage.size(), storage.dtype
    (3, dtype('float32'))
    """
    warnings.warn("TypedStorage is deprecated: use tensor.untyped_storage() instead of tensor.storage()", stacklevel=2)
    return TypedStorage(backends_storage.owner(self._array), version_box(self))


def _row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides in bytes of an array without gaps; those of lengths of zero count as ones, as in PyTorch."""
    strides, step = [], itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def resize_(self: Tensor, *sizes: Any, size: Any = (), memory_format: Any = contiguous_format) -> Tensor:
    """Give the tensor another shape, in row-major order or in `memory_format`, and return it.

    It keeps its memory, from its first element on, if that is large enough; else it gets new memory with the old elements in
    front and undefined ones behind. Raises RuntimeError for a tensor that requires grad and for negative lengths.

    >>> lucid.arange(6).resize_(2, 2)
    Tensor([[0, 1],
            [2, 3]], requires_grad=False)
    """
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = integers(sizes or (size,))
    if any(length < 0 for length in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    wanted = require_format("resize_", memory_format)
    if shape == self._array.shape and wanted in (contiguous_format, preserve_format):
        return self
    refuse_write(self)
    axes = None if wanted is preserve_format else wanted.axes(len(shape))
    box = version_box(self)
    array = _grown(self._array, [shape[axis] for axis in axes] if axes else shape)
    self._array = array.transpose(inverse(axes)) if axes else array
    self._view = None
    box.bump()
    return self


def _grown(array: Any, shape: Sequence[int]) -> Any:
    """A row-major array of `shape` over the memory of `array`, or over new memory that begins with its elements."""
    device, dtype = backends.device_of(array), array.dtype
    if device.type == "meta":
        return backends.create("empty", device, {"shape": tuple(shape), "dtype": dtype})
    whole = backends_storage.owner(array)
    part = backends_storage.part(whole, array)
    offset = 0 if part is None else part.offset
    needed = math.prod(shape) * dtype.itemsize
    available = whole.nbytes - offset
    gapless = array is not whole or whole.transpose(memory_axes(whole)).flags.c_contiguous
    if gapless and needed <= available:
        return backends_storage.take(whole, backends_storage.Part(offset, tuple(shape), _row_major(shape, dtype.itemsize), dtype))
    result = backends.create("empty", device, {"shape": (math.prod(shape),), "dtype": dtype})
    old = array.reshape(-1) if not gapless else backends_storage.take(
        whole, backends_storage.Part(offset, (available // dtype.itemsize,), (dtype.itemsize,), dtype))
    count = min(old.size, result.size)
    result[:count] = old[:count]
    return result.reshape(tuple(shape))


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """`resize_` to the shape of another tensor, and with `preserve_format` to its strides.

    >>> lucid.zeros(2, 3).resize_as_(lucid.ones(4)).shape
    lucid.Size([4])
    """
    shape = tuple(the_template.shape)
    if memory_format is not preserve_format:
        return resize_(require_tensor("resize_as_", input), shape, memory_format=memory_format)
    resize_(require_tensor("resize_as_", input), shape)
    axes = memory_axes(the_template._array)
    input._array = _grown(input._array, [shape[axis] for axis in axes]).transpose(inverse(axes))
    return input


def set_(self: Tensor, source: Tensor | UntypedStorage | None = None, storage_offset: int = 0, size: Any = None,
         stride: Any = None) -> Tensor:
    """Put the memory of `source`, a tensor or a storage, behind this tensor, and return it; without one it has no elements.

    `storage_offset`, `size` and `stride`, counted in elements, say what part of that memory it shows: by default all of a
    tensor as it is, and all of a storage as a vector. The two share elements afterwards, and the history of `source`. Raises
    RuntimeError for a leaf that requires grad, another dtype or device, and what reaches out of the memory.

    >>> x = lucid.zeros(2)
    >>> x.set_(lucid.arange(3.0))
    Tensor([0.0, 1.0, 2.0], requires_grad=False)
    >>> x
    Tensor([0.0, 1.0, 2.0], requires_grad=False)
    """
    if grad_mode.get() & GRAD:
        refuse_leaf(self)
    dtype, node = self._array.dtype, None
    if source is None:
        array, box = backends.create("empty", self.device, {"shape": (0,), "dtype": dtype}), Version()
    elif isinstance(source, Tensor) and size is None:
        array, box = source._array, version_box(source)
    else:
        whole = backends_storage.owner(source._array)
        box = version_box(source) if isinstance(source, Tensor) else source._version
        size = (whole.nbytes // dtype.itemsize - storage_offset,) if size is None else integers((size,))
        if isinstance(source, TypedStorage | Tensor) and whole.dtype != dtype:
            raise RuntimeError(f"Could not set tensor of type {whole.dtype.name} to a tensor of type {dtype.name}")
        array = _part(whole, storage_offset, size, stride, dtype)
    if array.dtype != dtype:
        raise RuntimeError(f"Could not set tensor of type {array.dtype.name} to a tensor of type {dtype.name}")
    if backends.device_of(array) != self.device:
        raise RuntimeError(f"Attempted to set the storage of a tensor on device \"{self.device}\" to a storage on different "
                           f"device \"{backends.device_of(array)}\"")
    if isinstance(source, Tensor) and source._node is not None and grad_mode.get() & GRAD:
        node = Node("set_", (source._node,), lambda g, y: (g,))
    version_box(self).bump()
    self._array, self._version_box, self._node, self._view = array, box, node, None
    box.bump()
    return self


def _part(whole: Any, offset: int, size: tuple[int, ...], stride: Any, dtype: Any) -> Any:
    steps = _row_major(size, dtype.itemsize) if stride is None else tuple(step * dtype.itemsize for step in integers((stride,)))
    if len(steps) != len(size):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(steps)} and {list(size)}")
    if any(length < 0 for length in size) or any(step < 0 for step in steps) or offset < 0:
        raise RuntimeError("set_: sizes, strides and offset must not be negative")
    end = offset * dtype.itemsize + (backends_storage.reach(size, steps)[1] + dtype.itemsize if 0 not in size else 0)
    if end > whole.nbytes:
        raise RuntimeError(f"set_: size {list(size)}, strides and offset {offset} reach out of storage of size {whole.nbytes}")
    if backends.device_of(whole).type == "meta":
        strides = tuple(step // dtype.itemsize for step in steps)
        return backends.run("as_strided", (whole,), {"shape": size, "strides": strides, "offset": offset})
    return backends_storage.take(whole, backends_storage.Part(offset * dtype.itemsize, size, steps, dtype))


SPECIAL_METHODS = {"untyped_storage": untyped_storage, "storage": storage, "resize_as_": resize_as_}


register(__name__)
