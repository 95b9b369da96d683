"""What may be in PyTorch's files, by PyTorch's names."""
from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _dtypes
from ..._layout import Layout
from ...backends import Device, as_held, storage
from ...ops.manipulation.buffers import empty_strided
from ...tensor import Size, Tensor, version_box, wrap
from ..structure import Damaged, sparse_of
from .unpickling import Known

#: dtypes by PyTorch's names, in lucid by their own.
DTYPES = {dtype.name: dtype for dtype in _dtypes.EVERY}
#: The classes of typed storages.
STORAGES = {"BoolStorage": "bool", "ByteStorage": "uint8", "CharStorage": "int8", "ShortStorage": "int16", "IntStorage": "int32",
            "LongStorage": "int64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "FloatStorage": "float32",
            "DoubleStorage": "float64", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128"}


_LAYOUTS = {f"torch.{layout.name}": layout for layout in Layout}


class Memory:
    """The memory of a storage: `read` gives its bytes on the host once they are needed; its tensors share it, and its version."""

    def __init__(self, nbytes: int, device: Device, read: Callable[[], np.ndarray], move: Callable[[Tensor, Device], Tensor]
                 ) -> None:
        self.nbytes, self.device = nbytes, device
        self._read, self._move = read, move
        self._moved: Tensor | None = None
        self.host: np.ndarray | None = None

    def moved(self) -> Tensor:
        """The bytes where `map_location` wants them."""
        if self._moved is None:
            self.host = self._read()
            self._moved = self._move(wrap(self.host), self.device)
        return self._moved


class Storage:
    """A memory as elements of a dtype, None for one without."""

    def __init__(self, memory: Memory, dtype: np.dtype | None) -> None:
        self.memory, self.dtype = memory, dtype


def _tensor(source: Any, offset: int, size: Sequence[int], stride: Sequence[int], requires_grad: bool = False,
            backward_hooks: Any = None, metadata: Any = None, dtype: np.dtype | None = None) -> Tensor:
    if not isinstance(source, Storage):
        raise Damaged(f"a tensor has a {type(source).__name__} for its storage")
    dtype = dtype or source.dtype
    if dtype is None:
        raise Damaged("a tensor has no dtype")
    numbers = [offset, *size, *stride]
    if any(type(number) is not int or number < 0 for number in numbers) or len(size) != len(stride):
        raise Damaged(f"a tensor of size {tuple(size)}, strides {tuple(stride)} and offset {offset} is impossible")
    part = storage.Part(offset * dtype.itemsize, tuple(size), tuple(n * dtype.itemsize for n in stride), dtype)
    if 0 not in size:
        _, high = storage.reach(part.shape, part.strides)
        if part.offset + high + dtype.itemsize > source.memory.nbytes:
            raise Damaged(f"a tensor of size {tuple(size)}, strides {tuple(stride)} and offset {offset} does not lie in its "
                          f"storage of {source.memory.nbytes} bytes")
    moved = source.memory.moved()
    if moved.is_meta or 0 in size:
        result = wrap(as_held(np.empty(size, dtype))).to(moved.device)
    else:
        result = wrap(storage.take(moved._array, part))
        result._version_box = version_box(moved)
    return result.requires_grad_() if requires_grad else result


def _tensor_of_dtype(source: Any, offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, dtype: Any,
                     metadata: Any = None) -> Tensor:
    return _tensor(source, offset, size, stride, requires_grad, dtype=dtype)


def _meta_tensor(dtype: Any, size: Sequence[int], stride: Sequence[int], requires_grad: bool) -> Tensor:
    if not isinstance(dtype, np.dtype):
        raise Damaged("a tensor has no dtype")
    result = empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return result.requires_grad_() if requires_grad else result


def _layout(name: str) -> Layout:
    if name not in _LAYOUTS:
        raise Damaged(f"there is no layout {name!r}")
    return _LAYOUTS[name]


def _sparse_tensor(layout: Any, data: Sequence[Any]) -> Tensor:
    """A sparse tensor of its parts, its size and, in the layout COO, whether it is coalesced; its indices are checked."""
    count = 2 if layout is Layout.sparse_coo else 3
    parts, rest = data[:count], data[count:]
    whole = rest and all(isinstance(part, Tensor) for part in parts)
    if not whole or not isinstance(layout, Layout) or layout is Layout.strided:
        raise Damaged("a sparse tensor is not made of tensors")
    try:
        result = sparse_of(layout.name, list(rest[0]), None, [part.detach() for part in parts])
        if len(rest) > 1 and rest[1] and not result.is_coalesced():
            result = result.coalesce()  # whatever the file says of the order
    except (RuntimeError, NotImplementedError) as error:
        raise Damaged(f"a sparse tensor is impossible: {error}") from None
    return result.requires_grad_() if parts[-1].requires_grad else result


def _parameter(data: Any, requires_grad: bool, backward_hooks: Any, state: Any = None) -> Any:
    from ...nn.parameter import Parameter  # serialization is imported before nn
    if not isinstance(data, Tensor):
        raise Damaged(f"a parameter holds a {type(data).__name__}")
    return Parameter(data.detach(), requires_grad=bool(requires_grad))


def _of_type(data: Any, kind: Any, *rest: Any) -> Any:
    raise Damaged("it holds an object of a subclass of Tensor, which could be anything")


def _ordered(*items: Any) -> OrderedDict[Any, Any]:
    return OrderedDict(*items)


def _size(numbers: Sequence[int] = ()) -> Size:
    return Size(numbers)


def _device(*place: Any) -> Device:
    return Device(":".join(map(str, place)))


def _bytes_of_text(text: str, encoding: str = "latin1") -> bytes:
    return text.encode("latin1")


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _ordered, "collections.Counter": Counter, "torch.Size": _size, "torch.device": _device,
    "torch._utils._rebuild_tensor": _tensor, "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_of_dtype, "torch._utils._rebuild_meta_tensor_no_storage": _meta_tensor,
    "torch._utils._rebuild_sparse_tensor": _sparse_tensor, "torch.serialization._get_layout": _layout,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter, "torch._tensor._rebuild_from_type_v2": _of_type,
    "_codecs.encode": _bytes_of_text,
    **{f"{module}.{kind.__name__}": kind for module in ("builtins", "__builtin__")
       for kind in (set, frozenset, bytearray, complex, list, dict, tuple, slice, range)},
}
_VALUES: dict[str, Any] = {
    **{f"torch.{name}": dtype for name, dtype in DTYPES.items()},
    **{f"torch.{name}": DTYPES[dtype] for name, dtype in STORAGES.items()},
    "torch.strided": Layout.strided,
}


class UntypedStorage:
    """What the name of a storage without a dtype stands for."""


def known(module: str, name: str) -> Known:
    """What a name in a file stands for. Raises Damaged for what is refused."""
    full = f"{module}.{name}"
    if full in _FUNCTIONS:
        return Known(full, call=_FUNCTIONS[full])
    if full in _VALUES:
        return Known(full, value=_VALUES[full])
    if full in ("torch.UntypedStorage", "torch.storage.UntypedStorage"):
        return Known(full, value=UntypedStorage)
    raise Damaged(f"its pickle names {full}, and only tensors, parameters, sizes, dtypes, devices and plain containers are read: "
                  "everything else could run any code. Save a state_dict, or safetensors, with the program that wrote it")
