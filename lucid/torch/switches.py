"""What lucid does in PyTorch's way while `lucid.torch` is installed, where docs/differences.md says that it goes its own way."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid import _determinism, _dtypes
from lucid._hooks import RemovableHandle
from lucid._layout import Layout
from lucid.amp.autocast_mode import is_autocast_enabled
from lucid.autograd import freeing
from lucid.autograd.errors import type_name
from lucid.autograd.grad_mode import is_grad_enabled
from lucid.backends import device as devices
from lucid.backends.memory_format import MemoryFormat
from lucid.data import DataLoader
from lucid.nn import GELU, ReLU, TransformerEncoder, TransformerEncoderLayer, functional
from lucid.nn.modules.lazy import LazyModuleMixin
from lucid.nn.modules.module import Module, call
from lucid.nn.modules.module.registry import Registry
from lucid.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from lucid.ops.creation.types import TensorType
from lucid.optim import optimizer
from lucid.optim.swa_utils import AveragedModel
from lucid.tensor import Size, Tensor
from lucid.tensor import format as printed_form

from . import dtypes, hooks, printing, state
from .names import modules
from .places import places

#: Modules whose classes are named by PyTorch's modules.
_NAMED_SO = ("torch.nn.modules", "torch.nn.utils", "torch.optim", "torch.utils.data.", "torch.autograd.function",
             "torch.autograd.grad_mode")
_originals: list[tuple[Any, str, Any]] = []


class _Cuda(str):
    """The type of a GPU: 'cuda'. It equals lucid's own name for it too, with which lucid compares."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == "gpu"

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


def _set(owner: Any, name: str, value: Any) -> None:
    of_type = name in ("__name__", "__qualname__")  # which stand in no class's dictionary
    _originals.append((owner, name, getattr(owner, name) if of_type else vars(owner).get(name, _originals)))
    setattr(owner, name, value)


def _named(self: Any) -> str:
    return f"torch.{self.name}"


def _type(original: Any) -> Any:
    def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The tensor in another dtype; without one the name of its type, such as 'torch.FloatTensor'."""
        if dtype is not None:
            return original(self, dtype, non_blocking)
        where = "cuda." if self.is_gpu else ""
        return f"torch.{where}{type_name(self.dtype)}Tensor"

    return type


def _dtype(self: Tensor) -> dtypes.dtype:
    """The kind of the elements."""
    return dtypes.of(self._array.dtype)


def _no_lines(self: Module) -> list[str]:
    return []  # PyTorch's `repr` of a module hides buffers


class _ForAll:
    """A setting of all threads, as PyTorch's are, in the place of a `ContextVar`."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value

    def set(self, value: Any) -> Any:
        before, self._value = self._value, value
        return before

    def reset(self, before: Any) -> None:
        self._value = before


def _padded(self: TransformerEncoder, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
    """Zeros at padded positions where PyTorch computes on nested tensors, which do not have them."""
    first = self.layers[0]
    if padding is None or mask is not None or src.ndim != 3 or first.training or not self.enable_nested_tensor:
        return src
    attention = first.self_attn
    nested = (isinstance(first, TransformerEncoderLayer) and not first.norm_first and attention.batch_first
              and attention.in_proj_bias is not None and attention._qkv_same_embed_dim and attention.num_heads % 2 == 0
              and first.norm1.eps == first.norm2.eps and _is_relu_or_gelu(first.activation))
    tensors = [src, *first.parameters()]
    if not nested or (is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)) or is_autocast_enabled():
        return src
    absent = padding != 0
    if self.mask_check and bool((absent[:, :-1] & ~absent[:, 1:]).any()):
        return src  # a position after a padded one counts
    return src.masked_fill(absent.unsqueeze(-1), 0.0)


def _is_relu_or_gelu(activation: Any) -> bool:
    return activation in (functional.relu, functional.gelu) or isinstance(activation, ReLU | GELU)


def turn_on() -> None:
    """Go PyTorch's way."""
    devices._type_names["gpu"] = _Cuda("cuda")
    devices._names_only.update("ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps hpu mtia".split(),
                               ["privateuseone"])
    _set(Registry, "_plain_buffers", True)
    _set(Module, "_buffer_lines", _no_lines)
    _set(DataLoader, "_starts_as_python", True)
    _set(Module, "_apply", state.apply)
    _set(Module, "_apply_memoised", state.apply_memoised)
    _set(Module, "load_state_dict", state.load_state_dict)
    _set(Parameter, "__deepcopy__", state.copy_parameter)
    _set(Parameter, "_pickled_with_memory", False)
    _set(Buffer, "_pickled_with_memory", False)
    _set(optimizer, "_fit", state.fit)
    _set(call, "hook_last_node", hooks.hook_last_node)
    _set(Module, "_passed_over", lambda self: set())
    _set(Module, "_empty_slots", _no_lines)
    _set(TransformerEncoder, "_padded", _padded)
    _set(AveragedModel, "_integers_too", True)
    for owner, name in ((_dtypes, "_default"), (_determinism, "_mode"), (printed_form, "_options")):
        _set(owner, name, _ForAll(getattr(owner, name).get()))
    _set(Tensor, "__repr__", printing.format_tensor)
    _set(Buffer, "__repr__", printing.format_tensor)
    _set(Tensor, "dtype", property(_dtype))
    _set(_dtypes, "CLASSES", _dtypes.CLASSES | {dtypes.dtype})
    _set(freeing, "_PLAIN", freeing._PLAIN | {dtypes.dtype})
    _set(Tensor, "type", _type(vars(Tensor)["type"]))
    _set(Size, "__repr__", lambda self: f"torch.Size([{', '.join(map(str, self))}])")
    for named in (Layout, MemoryFormat):
        _set(named, "__repr__", _named)
        _set(named, "__str__", _named)
    _set(TensorType, "__repr__", lambda cls: f"<class 'torch.{'cuda.' if cls._place == 'gpu' else ''}{cls.__name__}'>")
    _set(LazyModuleMixin, "_lazy_load_hook", state._lazy_load_hook)
    _set(LazyModuleMixin, "__setstate__", state.restore_lazy)
    _set(RemovableHandle, "__module__", "torch.utils.hooks")
    for of_parameter in (Parameter, UninitializedParameter, UninitializedBuffer):
        _set(of_parameter, "__module__", "torch.nn.parameter")
    for module, names in modules().items():
        for name, kind in names.items():
            if kind == "here":
                for place in _imported_places(module):
                    found = vars(place).get(name)
                    if isinstance(found, type) and found.__module__.startswith("lucid.") and not isinstance(found, np.dtype):
                        _set(found, "__module__", module)
                        if found.__name__ != name:  # pickles name a class by both
                            _set(found, "__name__", name)
                            _set(found, "__qualname__", name)


def _imported_places(module: str) -> Any:
    """The modules of lucid for a module of PyTorch, but for those that are imported when they are first asked for."""
    return places(module) if module.startswith(_NAMED_SO) or module == "torch" else ()


def turn_off() -> None:
    """Go lucid's own way."""
    devices._type_names.clear()
    devices._names_only.clear()
    while _originals:
        owner, name, value = _originals.pop()
        if value is _originals:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
