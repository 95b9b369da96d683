"""Files that hold more than tensors and plain containers: whole modules, NumPy arrays, objects of any class.

They are written by Python's pickle, with tensors as PyTorch writes them. Reading one may run anything that is in it, so that is
done only where a program asks for it, by ``weights_only=False``; or for the classes and functions that `add_safe_globals` names.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import IO, Any, NamedTuple

import numpy as np

from lucid import backends, nn
from lucid._hooks import RemovableHandle
from lucid.backends import storage
from lucid.nn.modules import conv
from lucid.nn.modules.lazy import LazyModuleMixin
from lucid.nn.modules.module.state_dict import StateDictionary
from lucid.nn.parameter import Parameter
from lucid.serialization.pytorch import objects, pickling, unpickling
from lucid.serialization.structure import Damaged
from lucid.tensor import Size, Tensor

from .. import dtypes, inert
from .modules import _WrappedHook

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

#: What PyTorch's modules keep, and lucid's compute.
_COMPUTED: dict[type, tuple[str, ...]] = {
    nn.RNNBase: ("_flat_weights_names", "_all_weights", "_flat_weights"),
    nn.TransformerEncoderLayer: ("activation_relu_or_gelu",),
    conv._ConvNd: ("_reversed_padding_repeated_twice",),
}
_COMPUTING = tuple(_COMPUTED)
_KINDS = {objects.DTYPES[dtype]: name for name, dtype in objects.STORAGES.items()}


# ---- writing -----------------------------------------------------------------------------------------------------------------
class _Stored:
    """The memory of tensors, which stands in the file beside the pickle."""

    def __init__(self, dtype: np.dtype, key: int, location: str, count: int) -> None:
        self.identifier = ("storage", inert.value("torch", _KINDS[dtype]), str(key), location, count)


class _Module(NamedTuple):
    """A module of PyTorch: functions and classes that bear lucid's names are written as its attributes."""

    name: str


_PUBLIC = ("torch.nn.functional", "torch.nn.init", "torch", "torch.utils.data", "torch.distributions",
           "torch.distributions.constraints")


def _reduced(module: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = module.__reduce_ex__(2)
    return found


def _hooks_of_lazy(module: Any) -> dict[str, Any]:
    """What PyTorch's lazy modules keep beside lucid's."""
    hooks = OrderedDict(module._load_state_dict_pre_hooks)
    return {"_load_state_dict_pre_hooks": hooks, "_load_hook": RemovableHandle.add(hooks, _WrappedHook(module._lazy_load_hook))}


class Pickler(pickle.Pickler):
    """Pickles anything, with tensors as PyTorch does: those over one memory share it."""

    def __init__(self) -> None:
        self._file = io.BytesIO()
        super().__init__(self._file, 2)
        self._bytes: list[np.ndarray] = []
        self._places: dict[int, tuple[int, Any]] = {}  # of arrays that own their memory, which must live on

    def pickle(self, obj: Any) -> bytes:
        """The pickle of `obj`."""
        self.dump(obj)
        return self._file.getvalue()

    def memories(self) -> list[Any]:
        """The bytes of each storage, in the order of their keys."""
        return [memory.data for memory in self._bytes]

    def persistent_id(self, obj: Any) -> Any:
        """What stands for a memory."""
        return obj.identifier if type(obj) is _Stored else None

    def reducer_override(self, obj: Any) -> Any:
        """How tensors, dtypes and state dicts are written."""
        if type(obj) is dtypes.dtype:
            return obj.dtype.name
        if type(obj) is StateDictionary:
            metadata = getattr(obj, "_metadata", None)
            return OrderedDict, (), {"_metadata": metadata} if metadata else None, None, iter(obj.items())
        if type(obj) is _Module:
            return importlib.import_module, (obj.name,)
        if isinstance(obj, FunctionType | functools.partial | type) and str(getattr(obj, "__module__", "")).startswith("lucid"):
            own = getattr(obj, "__name__", "")
            for name in _PUBLIC:
                if name in sys.modules and getattr(sys.modules[name], own, None) is obj:
                    return getattr, (_Module(name), own)
        if type(obj) is Size:
            return Size, (tuple(obj),)
        if isinstance(obj, LazyModuleMixin) and "_initialize_hook" in vars(obj):
            function, arguments, own, *more = _reduced(obj)
            return function, arguments, {**own, **_hooks_of_lazy(obj)}, *more
        if isinstance(obj, _COMPUTING):
            function, arguments, state, *more = _reduced(obj)
            attributes = {name: getattr(obj, name) for kind, names in _COMPUTED.items() if isinstance(obj, kind)
                          for name in names}
            return function, arguments, {**state, **attributes} if isinstance(state, dict) else state, *more
        if type(obj) in (Tensor, Parameter) and not hasattr(obj._array, "is_sparse") and not obj.__dict__:
            return self._tensor(obj)
        return NotImplemented

    def _tensor(self, tensor: Tensor) -> Any:
        if type(tensor) is Parameter:
            return _rebuild_parameter, (tensor.detach(), tensor.requires_grad, OrderedDict())
        size, stride = tuple(tensor.shape), tensor.stride()
        if tensor.is_meta:
            return _rebuild_meta_tensor_no_storage, (tensor.dtype, size, stride, tensor.requires_grad)
        width = tensor._array.dtype.itemsize
        whole = storage.owner(tensor._array)
        low = storage.span(whole)[0] if whole.size else 0
        offset = tensor.data_ptr() - low if tensor._array.size else 0
        if offset % width or min(tensor._array.strides, default=0) < 0 or any(step % width for step in tensor._array.strides):
            return NotImplemented
        key = self._key(whole)
        kept = _Stored(tensor._array.dtype, key, str(tensor.device).replace("gpu", "cuda"), self._bytes[key].size // width)
        return _rebuild_tensor_v2, (kept, offset // width, size, stride, tensor.requires_grad, OrderedDict())

    def _key(self, whole: Any) -> int:
        if id(whole) not in self._places:
            low, high = storage.span(whole) if whole.size else (0, 0)
            memory = np.zeros(high - low, np.uint8)
            if whole.size:
                part = storage.Part(storage.address(whole) - low, whole.shape, whole.strides, whole.dtype)
                storage.take(memory, part)[...] = backends.to_host(whole)
            self._places[id(whole)] = (len(self._bytes), whole)
            self._bytes.append(memory)
        return self._places[id(whole)][0]


def _as_of_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__module__ = "torch._utils"  # where pickles look for it
    return function


@_as_of_torch
def _rebuild_tensor_v2(*arguments: Any) -> Tensor:
    return objects._tensor(*arguments)


@_as_of_torch
def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    return objects._parameter(data, requires_grad, backward_hooks)


@_as_of_torch
def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    return objects._meta_tensor(dtypes.of(dtype).dtype, size, stride, requires_grad)


@contextlib.contextmanager
def anything() -> Iterator[None]:
    """`lucid.save` writes pickles of any object in this context."""
    token = pickling.writer.set(Pickler)
    try:
        yield
    finally:
        pickling.writer.reset(token)


# ---- reading -----------------------------------------------------------------------------------------------------------------
class _Unpickler(pickle.Unpickler):
    """Reads whatever there is, with tensors as lucid's reader makes them."""

    def __init__(self, file: IO[bytes], known: Callable[[str, str], Any], persistent: Callable[[Any], Any]) -> None:
        super().__init__(file, encoding="utf-8")
        self._known, self._persistent = known, persistent

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for."""
        if name in _OWN and module.partition(".")[0] == "torch":
            return _OWN[name]
        try:
            found = self._known(module, name)
        except Damaged:
            return super().find_class(module, name)
        if found.value is None:
            return found.call
        return dtypes.of(found.value) if isinstance(found.value, np.dtype) and not name.endswith("Storage") else found.value

    def persistent_load(self, pid: Any) -> Any:
        """The memory that an identifier stands for; in old files also a class, with its source."""
        return pid[1] if pid[0] == "module" else self._persistent(pid)


def _of_type(function: Callable[..., Tensor], kind: type, arguments: Any, state: Any) -> Any:
    found = function(*arguments)
    found = found if type(found) is kind else found.as_subclass(kind)
    if state:
        unpickling.give_state(found, state)
    return found


def _of_dtype(*arguments: Any) -> Tensor:
    given: tuple[Any, ...] = tuple(each.dtype if isinstance(each, dtypes.dtype) else each for each in arguments)
    return objects._tensor_of_dtype(*given)


_OWN = {"Size": Size, "_rebuild_from_type_v2": _of_type, "_rebuild_meta_tensor_no_storage": _rebuild_meta_tensor_no_storage,
        "_rebuild_tensor_v3": _of_dtype}


def _read_anything(file: IO[bytes], known: Callable[[str, str], Any], persistent: Callable[[Any], Any]) -> Any:
    if known is not objects.known:  # the parts of a file that hold only numbers and texts
        return unpickling.machine_read(file, known, persistent)
    return _Unpickler(file, known, persistent).load()


_safe: list[Any] = []


def _read_safe(file: IO[bytes], known: Callable[[str, str], Any], persistent: Callable[[Any], Any]) -> Any:
    allowed = {}
    for each in _safe:
        found, name = each if isinstance(each, tuple) else (each, f"{each.__module__}.{each.__qualname__}")
        allowed[name] = unpickling.Known(name, call=found, value=found)
    old = {"__builtin__": "builtins", "copy_reg": "copyreg", "numpy.core.multiarray": "numpy._core.multiarray"}

    def knows(module: str, name: str) -> Any:
        for where in (module, old.get(module, module)):
            if f"{where}.{name}" in allowed and known is objects.known:
                return allowed[f"{where}.{name}"]
        return known(module, name)

    classes = frozenset(each.value for each in allowed.values() if isinstance(each.value, type))
    return unpickling.machine_read(file, knows, persistent, classes)


@contextlib.contextmanager
def trusting(weights_only: bool | None) -> Iterator[None]:
    """How far `lucid.load` goes in this context: to run what a file says with False, else to what `add_safe_globals` named."""
    token = unpickling.reader.set(_read_anything if weights_only is False else _read_safe)
    try:
        yield
    finally:
        unpickling.reader.reset(token)


def add_safe_globals(safe_globals: Any) -> None:
    """Let `torch.load` read objects of these classes, and call these functions: each as itself, or as a pair with its name."""
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` named."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` named."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: Any) -> Iterator[None]:
    """A context in which `torch.load` reads objects of these classes too."""
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before
