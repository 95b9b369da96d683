"""Sharing: the memory of a tensor for others, such as NumPy, libraries that know DLPack, and processes."""
from __future__ import annotations

from typing import Any, Self

import numpy as np

from .. import backends
from ..backends import dlpack, shared_memory, storage
from .base import TensorBase


class Sharing(TensorBase):
    """The memory of a tensor for others."""

    __slots__ = ()
    __array_priority__ = 1000  # NumPy on the left of an operator leaves the work to Tensor

    def data_ptr(self) -> int:
        """The address of the first element; 0 on the device 'meta'.

        >>> x = lucid.arange(4)
        >>> x[1:].data_ptr() - x.data_ptr()
        8
        """
        if self.is_meta:
            return 0
        backends.note_read(self._array)
        backends.versions.share(self._array)
        return storage.address(self._array)

    def is_shared(self) -> bool:
        """Whether the memory can be shared with other processes: after `share_memory_()`, and on a GPU, as in PyTorch.

        >>> lucid.ones(2).is_shared(), lucid.ones(2).share_memory_().is_shared()
        (False, True)
        """
        return self.is_cuda or shared_memory.block_of(self._array) is not None

    def share_memory_(self) -> Self:
        """Put the elements into memory that other processes can share, and return the tensor; on a GPU nothing happens.

        A process that gets the tensor as an argument or through a queue or pipe of `multiprocessing` then sees the same
        elements, and each sees what the other writes. What this tensor is a view of and the differentiable views of it move
        along; other tensors over the old memory, such as detached ones and NumPy arrays, stay with that. Raises RuntimeError
        on the device 'meta'.

        >>> lucid.ones(2).share_memory_().is_shared()
        True
        """
        if self.is_meta:
            raise RuntimeError("share_memory_: a tensor on the device 'meta' has no memory to share")
        if not self.is_shared():
            whole = storage.owner(self._array)
            shared = shared_memory.share(whole)
            views = () if self._version_box is None else self._version_box.views or ()
            tensors = [self, self._base, *[reference() for reference in views]]
            for tensor in dict.fromkeys(t for t in tensors if t is not None and storage.owner(t._array) is whole):
                tensor._array = storage.follow(whole, shared, tensor._array)
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"Unable to avoid copy: a tensor of dtype {array.dtype} has no array of dtype {np.dtype(dtype)}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:
        """A capsule of DLPack with the memory, or with a copy if `copy`, or if it is to be on another device, `dl_device`.

        It is a versioned one if `max_version` allows it. Raises BufferError for a tensor that requires grad, for one without
        memory and for a device that needs a copy if `copy` is False.
        """
        if self._node is not None:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_meta:
            raise BufferError("a tensor on the device 'meta' has no memory to share")
        if stream is not None and not isinstance(stream, int):
            raise TypeError("stream must be ``int`` or ``none``")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if dl_device[0] not in (1, 2):
                raise BufferError(f"a tensor cannot go to the device {tuple(dl_device)} of DLPack")
            if copy is False:
                raise BufferError(f"a tensor on {self.device} cannot go to the device {tuple(dl_device)} of DLPack "
                                  "without a copy")
            moved = self.to("cpu" if dl_device[0] == 1 else backends.Device("gpu", dl_device[1]))
            return moved.__dlpack__(stream=stream if dl_device[0] == 2 else None, max_version=max_version)
        backends.note_read(self._array)
        backends.versions.share(self._array)
        return dlpack.capsule_of(self._array, stream, max_version, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.is_meta:
            raise BufferError("a tensor on the device 'meta' has no memory to share")
        kind, index = storage.bits_of(self._array).__dlpack_device__()
        return int(kind), int(index)

    @property
    def __cuda_array_interface__(self) -> Any:
        if not self.is_gpu:
            raise AttributeError("a tensor on the cpu has no __cuda_array_interface__")
        if self._node is not None:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. Use var.detach() first.")
        backends.note_read(self._array)
        backends.versions.share(self._array)
        return self._array.__cuda_array_interface__
