"""Parametrizations: a parameter or buffer of a module that is computed from another tensor each time it is read.

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    parametrize.register_parametrization(layer, "weight", Symmetric())

`layer.weight` is symmetric from then on, and what is trained is `layer.parametrizations.weight.original`. The class of the
module becomes a subclass of its own, in which the name is a property.

>>> from lucid.nn.utils import parametrize
>>> class Symmetric(nn.Module):
...     def forward(self, x):
...         return x.triu() + x.triu(1).T
>>> layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
>>> lucid.equal(layer.weight, layer.weight.T)
True
"""
from __future__ import annotations

import contextlib
import copy
import copyreg
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from ...autograd.grad_mode import no_grad
from ...tensor import Tensor, version_box
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter
from ._parametrize_checks import require_dtype, require_same, require_tensors, try_next

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

# (module, name) -> value while `cached()` is active. A module in a key cannot be freed and its id be used again.
_cache: ContextVar[dict[tuple[Module, str], Tensor] | None] = ContextVar("lucid_parametrization_cache", default=None)


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """A context in which each parametrized tensor is computed once, when first read, and kept until the outermost one ends.

    For weights that are used many times in a forward pass. It is local to the thread or asyncio task.

    >>> class Positive(nn.Module):
    ...     def forward(self, x):
    ...         return x.abs()
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 3), "weight", Positive())
    >>> with nn.utils.parametrize.cached():
    ...     print(layer.weight is layer.weight)
    True
    """
    if _cache.get() is not None:
        yield
        return
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first to last, and what they start from: `original`, or `original0`, `original1`, …
    if the `right_inverse` of the first returns several tensors. Made by `register_parametrization`.

    >>> class Positive(nn.Module):
    ...     def forward(self, x):
    ...         return x.abs()
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 3), "weight", Positive())
    >>> layer.parametrizations.weight.original.shape, layer.parametrizations.weight[0]
    (lucid.Size([3, 2]), Positive())
    """

    is_tensor: bool  # there is one original
    ntensors: int

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        """Put `right_inverse` of `original` behind it, or behind new tensors if there are several.

        Raises ValueError for an empty list, a `right_inverse` that does not return tensors, or one that changes dtype or
        device; and unless `unsafe` for parametrizations that change dtype or shape.
        """
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            start: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        start = module.right_inverse(start)
        self.is_tensor = isinstance(start, Tensor)
        if self.is_tensor:
            self.ntensors = 1
            for what in ("dtype", "device"):
                before, after = getattr(original, what), getattr(start, what)
                if before != after:
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                                     f"original.{what}: {before}\nright_inverse(original).{what}: {after}")
            before = original.detach()
            _take(original, start)
            _register(self, "original", original)
        else:
            self.ntensors = len(require_tensors(start))
            for number, tensor in enumerate(start):
                _register(self, f"original{number}", _like(original, tensor))
        if not unsafe:
            try:
                require_same("unparametrized", dtype, shape, "parametrized", self())
            except Exception:
                if self.is_tensor:
                    _take(original, before)
                raise

    def right_inverse(self, value: Tensor) -> None:
        """Make `value` the parametrized tensor: what assigning to its name does.

        Raises RuntimeError if a parametrization has no `right_inverse`, ValueError for one whose result does not fit the
        originals in number or dtype.
        """
        with no_grad():
            result: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                result = module.right_inverse(result)
            if self.is_tensor:
                if not isinstance(result, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(result).__name__}")
                require_dtype("original", "The tensor", result, self.original)
                _take(self.original, result)
                return
            if len(require_tensors(result)) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence "
                                 f"of length {len(result)}.")
            originals = [getattr(self, f"original{number}") for number in range(self.ntensors)]
            for number, (original, tensor) in enumerate(zip(originals, result, strict=True)):
                require_dtype(f"original{number}", f"Tensor {number}", tensor, original)
            for original, tensor in zip(originals, result, strict=True):
                _take(original, tensor)

    def forward(self) -> Any:
        """The parametrized tensor."""
        first, *others = self
        names = ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]
        result = first(*[getattr(self, name) for name in names])
        for module in others:
            result = module(result)
        return result


# ---- registration ------------------------------------------------------------------------------------------------------
def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Compute the parameter or buffer `tensor_name` of `module` by `parametrization`, on top of those it has; returns `module`.

    A method `right_inverse` of the parametrization gives the original of a value: it is called for the present value, which
    so becomes ``parametrization(right_inverse(value))``, and whenever a tensor is assigned to the name. It may return several
    tensors, which are what `forward` of the first parametrization takes. Without it the original is the present value.
    Originals stay the same Parameter or Buffer object where there is one. With `unsafe` the dtype and shape may change.

    Raises ValueError for a name that is neither a parameter nor a buffer and, unless `unsafe`, for a parametrization that
    changes dtype or shape.

    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> lucid.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            try_next(tensor_name, getattr(module, tensor_name), parametrization)
        entries = module.parametrizations[tensor_name]
        entries.append(parametrization)
        entries.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        entries = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _subclass(module)
            module.parametrizations = ModuleDict()
        assert not hasattr(module, tensor_name), f"Module already has an attribute named '{tensor_name}'"
        _add_property(type(module), tensor_name)
        module.parametrizations[tensor_name] = entries
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether `module` has a parametrization, or one on `tensor_name`.

    >>> nn.utils.parametrize.is_parametrized(nn.Linear(2, 3))
    False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make `tensor_name` an ordinary parameter or buffer again, with its present value, or without `leave_parametrized` with
    that of its original; returns `module`.

    The original, if there is one, is the same object afterwards. Raises ValueError if the tensor is not parametrized, and
    without `leave_parametrized` if there are several originals.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> layer = nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    entries = module.parametrizations[tensor_name]
    if entries.is_tensor:
        result = entries.original
        if leave_parametrized:
            with no_grad():
                _take(result, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        result = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, result)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type[Module]:
    """The class that `module` had before it was parametrized.

    >>> nn.utils.parametrize.type_before_parametrizations(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Give `to_module` the parametrizations and originals of `from_module`, of `tensor_name` or of all; returns `to_module`.

    Both modules share them afterwards. A tensor that `to_module` does not have is made. Nothing happens if `from_module` is
    not parametrized.

    >>> parametrize = nn.utils.parametrize
    >>> old, new = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)), nn.Linear(2, 3)
    >>> _ = parametrize.transfer_parametrizations_and_params(old, new)
    >>> parametrize.is_parametrized(new, "weight"), lucid.equal(old.weight, new.weight)
    (True, True)
    """
    if is_parametrized(from_module):
        for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            source = from_module.parametrizations[name]
            for parametrization in source:
                register_parametrization(to_module, name, parametrization)
            target = to_module.parametrizations[name]
            for original in (*source._parameters, *source._buffers):
                if hasattr(target, original):
                    delattr(target, original)
                _register(target, original, getattr(source, original))
    return to_module


# ---- the class of a parametrized module ----------------------------------------------------------------------------------
def _subclass(module: Module) -> None:
    """Give `module` a subclass of its own, "ParametrizedLinear" for a Linear."""
    cls = type(module)
    namespace: dict[str, Any] = {"__getstate__": _refuse_pickle}
    if not hasattr(cls, "__deepcopy__"):
        namespace["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), namespace)


def _refuse_pickle(self: Module) -> Any:
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(): their class exists in this "
                       "process only.")


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    """What `copy.deepcopy` does by default, with a class of its own for the copy: removing a parametrization from one module
    must not take it from the other.
    """
    if id(self) in memo:
        found: Module = memo[id(self)]
        return found
    cls = type(self)
    replica = cls.__new__(cls)
    memo[id(self)] = replica
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for slot in copyreg._slotnames(cls):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, copy.deepcopy(getattr(self, slot), memo))
    namespace = {key: value for key, value in vars(cls).items() if key not in ("__dict__", "__weakref__")}
    replica.__class__ = type(cls.__name__, cls.__bases__, namespace)
    return replica


def _add_property(cls: type, name: str) -> None:
    """Make the attribute `name` of modules of class `cls` the output of their parametrizations of that name."""
    def get(self: Module) -> Any:
        values = _cache.get()
        if values is None:
            return self.parametrizations[name]()
        value = values.get((self, name))
        if value is None:
            value = values[self, name] = self.parametrizations[name]()
        return value

    def assign(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(cls, name, property(get, assign))


# ---- tensors -------------------------------------------------------------------------------------------------------------
def _take(target: Tensor, value: Tensor) -> None:
    """Put the memory of `value` behind the object `target`. Raises RuntimeError if it is on another device."""
    if value is target:
        return
    if value.device != target.device:
        raise RuntimeError(f"a parametrized tensor on {target.device} cannot take a value on {value.device}. Move it with "
                           ".to(device) first.")
    target._swap_array(value._array)
    target._version_box = version_box(value)


def _like(original: Tensor, tensor: Tensor) -> Tensor:
    """`tensor` as a parameter if `original` is one, with its `requires_grad`."""
    if isinstance(original, Parameter):
        return Parameter(tensor, original.requires_grad)
    return tensor.requires_grad_(original.requires_grad)


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)
