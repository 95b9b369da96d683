"""`torch.UntypedStorage`: the bytes of a file, which readers of safetensors make tensors of."""
from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

import lucid
from lucid.ops.manipulation.storage import TypedStorage
from lucid.ops.manipulation.storage import UntypedStorage as Memory

__all__ = ["TypedStorage", "UntypedStorage"]


class _OfMemory(type):
    """The type of `UntypedStorage`: the memory of tensors is an instance too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Memory) or type.__instancecheck__(cls, instance)


class UntypedStorage(metaclass=_OfMemory):
    """Bytes on the CPU: ``UntypedStorage.from_file(path, shared, nbytes)`` are those of a file, read when they are used."""

    def __init__(self, nbytes: int | np.ndarray = 0) -> None:
        self._bytes = nbytes if isinstance(nbytes, np.ndarray) else np.zeros(nbytes, np.uint8)

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, by default all. Writes go into the file only with `shared`."""
        size = nbytes or os.path.getsize(filename)
        if not size:
            return cls(0)
        return cls(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(size,)))

    def __len__(self) -> int:
        return int(self._bytes.size)

    size = nbytes = __len__

    def __getitem__(self, index: Any) -> Any:
        return UntypedStorage(self._bytes[index]) if isinstance(index, slice) else int(self._bytes[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._bytes if dtype is None else self._bytes.astype(dtype, copy=False)

    @property
    def __array_interface__(self) -> Any:
        return self._bytes.__array_interface__

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return int(self._bytes.ctypes.data)

    def element_size(self) -> int:
        """The bytes of an element: 1."""
        return 1

    @property
    def device(self) -> lucid.device:
        """The CPU."""
        return lucid.device("cpu")

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes.tolist()


def _load_from_bytes(b: bytes) -> Any:
    """The memory of a tensor in a pickle that PyTorch wrote without `torch.save`."""
    from .files import load

    return load(io.BytesIO(b), weights_only=False)
