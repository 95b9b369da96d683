"""Writes pickles of protocol 2 as PyTorch does, with PyTorch's names, which need not be there to be imported."""
from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from ... import backends
from ..._layout import Layout
from ...backends import Device, storage
from ...tensor import Size, Tensor, wrap
from ..ties import overlapping
from .objects import DTYPES, STORAGES

_STORAGE_OF = {DTYPES[dtype]: name for name, dtype in STORAGES.items()}
_NAME_OF = {dtype: name for name, dtype in DTYPES.items()}
_MAX_DEPTH = 100


#: What makes a writer of pickles in a context in the place of `Pickler`: for programs that want more in their files.
writer: ContextVar[Callable[[], Any]] = ContextVar("lucid_pickle_writer")


class Pickler:
    """Collects the memories of the tensors that it meets; tensors that overlap in memory share one."""

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self._memories: list[np.ndarray] = []
        self._spans: list[tuple[str, int, int, int]] = []  # device, first and last address, number of the memory
        self._around: set[int] = set()

    def memories(self) -> list[Any]:
        """The bytes of each storage, in the order of their keys."""
        return [memory.data for memory in self._memories]

    def pickle(self, obj: Any) -> bytes:
        """The pickle of `obj`. Raises TypeError for what PyTorch would not read without running code."""
        self._collect(obj)
        self.out.append(b"\x80\x02")
        self._value(obj, ())
        self.out.append(b".")
        return b"".join(self.out)

    # ---- memories ---------------------------------------------------------------------------------------------------
    def _collect(self, obj: Any) -> None:
        """Copy the memory of all tensors in `obj` to the host, once for those that overlap."""
        found = [part for tensor in tensors_in(obj).values() for part in _dense_parts(tensor)]
        for device, low, high, tensors in overlapping((tensor, tensor) for tensor in found if not tensor.is_meta):
            memory = np.zeros(high - low, np.uint8)
            for tensor in tensors:
                array = tensor._array
                part = storage.Part(tensor.data_ptr() - low, array.shape, array.strides, array.dtype)
                backends.run("copy", (backends.as_held(backends.to_host(array)),), {"out": storage.take(memory, part)})
            self._spans.append((device, low, high, len(self._memories)))
            self._memories.append(memory)

    def _place(self, tensor: Tensor) -> tuple[int, int]:
        """The key of a tensor's memory, and the address at which that begins."""
        device, (low, high) = str(tensor.device), storage.span(tensor._array)
        for where, first, last, key in self._spans:
            if where == device and first <= low and high <= last:
                return key, first
        raise AssertionError("a tensor without a memory")

    # ---- values -----------------------------------------------------------------------------------------------------
    def _value(self, value: Any, path: tuple[str, ...]) -> None:
        kind = type(value)
        if value is None or kind is bool:
            self.out.append({None: b"N", True: b"\x88", False: b"\x89"}[value])
        elif kind is int:
            self._int(value)
        elif kind is float:
            self.out.append(b"G" + struct.pack(">d", value))
        elif kind is str:
            data = value.encode("utf-8", "surrogatepass")
            self.out.append(b"X" + struct.pack("<I", len(data)) + data)
        elif kind is bytes:
            self._call("_codecs encode", (value.decode("latin1"), "latin1"), path)
        elif kind is complex:
            self._call("__builtin__ complex", (value.real, value.imag), path)
        elif isinstance(value, Tensor):
            self._tensor(value, path)
        elif isinstance(value, np.dtype):
            self._dtype(value, path)
        elif kind is Device:
            place = str(value).replace("gpu", "cuda").split(":")
            self._call("torch device", (place[0], *map(int, place[1:])), path)
        elif isinstance(value, np.generic) and not isinstance(value, np.void):
            self._value(value.item(), path)
        else:
            self._container(value, path)

    def _container(self, value: Any, path: tuple[str, ...]) -> None:
        if id(value) in self._around or len(self._around) > _MAX_DEPTH:
            raise ValueError(f"{_shown(path)} contains itself or is nested too deeply")
        self._around.add(id(value))
        if isinstance(value, Size):
            self._call("torch Size", (tuple(value),), path)
        elif type(value) is OrderedDict or (isinstance(value, OrderedDict) and hasattr(value, "_metadata")):
            self._call("collections OrderedDict", (), path)
            self._items(value, path)
            if metadata := getattr(value, "_metadata", None):
                self._value({"_metadata": metadata}, path)
                self.out.append(b"b")
        elif isinstance(value, Counter):
            self._call("collections Counter", (dict(value),), path)
        elif isinstance(value, dict):
            self.out.append(b"}")
            self._items(value, path)
        elif isinstance(value, list):
            self.out.append(b"](")
            for number, item in enumerate(value):
                self._value(item, (*path, f"[{number}]"))
            self.out.append(b"e")
        elif isinstance(value, tuple):
            self.out.append(b"(")
            for number, item in enumerate(value):
                self._value(item, (*path, f"[{number}]"))
            self.out.append(b"t")
        elif isinstance(value, set):
            self._call("__builtin__ set", (list(value),), path)
        elif isinstance(value, bytearray):
            self._call("__builtin__ bytearray", (bytes(value),), path)
        else:
            raise TypeError(f"{_shown(path)} is a {type(value).__name__}, which PyTorch would not read without running code. "
                            "Save tensors, numbers, texts and plain containers of them, or give format='safetensors'")
        self._around.discard(id(value))

    def _items(self, value: dict[Any, Any], path: tuple[str, ...]) -> None:
        self.out.append(b"(")
        for key, item in value.items():
            self._value(key, path)
            self._value(item, (*path, f"[{key!r}]"))
        self.out.append(b"u")

    def _int(self, value: int) -> None:
        if -(1 << 31) <= value < 1 << 31:
            self.out.append(b"J" + struct.pack("<i", value))
        else:
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            if len(data) > 255:
                raise ValueError(f"an integer of {len(data)} bytes is too long for this format")
            self.out.append(b"\x8a" + bytes([len(data)]) + data)

    def _name(self, name: str) -> None:
        self.out.append(b"c" + name.replace(" ", "\n").encode() + b"\n")

    def _call(self, name: str, arguments: tuple[Any, ...], path: tuple[str, ...]) -> None:
        self._name(name)
        self.out.append(b"(")
        for argument in arguments:
            self._value(argument, path)
        self.out.append(b"tR")

    def _dtype(self, dtype: np.dtype, path: tuple[str, ...]) -> None:
        if dtype not in _NAME_OF:
            raise TypeError(f"{_shown(path)}: PyTorch has no dtype {dtype}")
        self._name(f"torch {_NAME_OF[dtype]}")

    def _tensor(self, tensor: Tensor, path: tuple[str, ...]) -> None:
        from ...nn.parameter import Parameter  # serialization is imported before nn
        parameter = isinstance(tensor, Parameter)
        if parameter:
            self._name("torch._utils _rebuild_parameter")
            self.out.append(b"(")
        self._plain_tensor(tensor, path, tensor.requires_grad and tensor.is_leaf and not parameter)
        if parameter:
            self._value(tensor.requires_grad, path)
            self._call("collections OrderedDict", (), path)
            self.out.append(b"tR")

    def _plain_tensor(self, tensor: Tensor, path: tuple[str, ...], requires_grad: bool) -> None:
        array = tensor._array
        if hasattr(array, "is_sparse"):
            self._sparse_tensor(tensor, path)
            return
        if tensor.is_meta:
            raise TypeError(f"{_shown(path)} is on the device 'meta' and has no elements to write to this format")
        width = array.dtype.itemsize
        if array.size:
            key, first = self._place(tensor)
            offset, count = (tensor.data_ptr() - first) // width, len(self._memories[key]) // width
            strides = [stride // width for stride in array.strides]
            whole = not any(number % width for number in (*array.strides, tensor.data_ptr() - first))
            if not whole or min(strides, default=0) < 0:
                raise TypeError(f"{_shown(path)}: PyTorch's files have no tensors of strides {array.strides} bytes; save a "
                                "clone()")
        else:
            key, offset, count, strides = self._empty(), 0, 0, [*tensor.stride()]
        typed = tensor.dtype in _STORAGE_OF
        self._name(f"torch._utils _rebuild_tensor_v{2 if typed else 3}")
        self.out.append(b"((")  # its arguments, of which the first is a storage by its id
        self._value("storage", path)
        self._name(f"torch {_STORAGE_OF[tensor.dtype]}" if typed else "torch.storage UntypedStorage")
        for item in (str(key), str(tensor.device).replace("gpu", "cuda"), count if typed else count * width):
            self._value(item, path)
        self.out.append(b"tQ")
        for item in (offset, tuple(array.shape), tuple(strides), requires_grad):
            self._value(item, path)
        self._call("collections OrderedDict", (), path)
        if not typed:
            self._dtype(tensor.dtype, path)
        self.out.append(b"tR")

    def _sparse_tensor(self, tensor: Tensor, path: tuple[str, ...]) -> None:
        self._name("torch._utils _rebuild_sparse_tensor")
        self.out.append(b"(")
        self._call("torch.serialization _get_layout", (f"torch.{tensor.layout.name}",), path)
        self.out.append(b"(")
        parts = _dense_parts(tensor)
        for part in parts:
            self._plain_tensor(part, path, False)
        self._value(Size(tensor.shape), path)
        if tensor.layout is Layout.sparse_coo:
            self._value(tensor.is_coalesced(), path)
        self.out.append(b"ttR")

    def _empty(self) -> int:
        self._memories.append(np.empty(0, np.uint8))
        return len(self._memories) - 1


def _shown(path: tuple[str, ...]) -> str:
    return "the object" + "".join(path) if path else "the object"


def _dense_parts(tensor: Tensor) -> list[Tensor]:
    """The parts of a sparse tensor; any other tensor itself."""
    return [wrap(part) for part in tensor._array.parts()] if hasattr(tensor._array, "is_sparse") else [tensor]


def tensors_in(obj: Any) -> dict[str, Tensor]:
    """The tensors in `obj` and its containers, each by where it stands."""
    found: dict[str, Tensor] = {}
    around: set[int] = set()

    def visit(value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, Tensor):
            found[_shown(path)] = value
        elif isinstance(value, (dict, list, tuple, set)) and id(value) not in around and len(path) <= _MAX_DEPTH:
            around.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in items:
                visit(item, (*path, f"[{key!r}]"))
            around.discard(id(value))

    visit(obj, ())
    return found
