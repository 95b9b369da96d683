"""Which functions can be overridden, and their names."""
from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ..tensor import Tensor

Function = Callable[..., Any]
NAMESPACES = ("lucid", "lucid.nn.functional", "lucid.nn.init", "lucid.linalg", "lucid.fft", "lucid.special")
#: Functions of `lucid` that are about no tensor.
_SETTINGS = frozenset("""
are_deterministic_algorithms_enabled broadcast_shapes can_cast clear_autocast_cache compile fuse get_default_device
get_default_dtype get_float32_matmul_precision get_num_threads get_rng_state initial_seed
is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference_mode_enabled
is_tensor load manual_seed promote_types save seed set_default_device set_default_dtype
set_float32_matmul_precision set_num_threads set_printoptions set_rng_state typename use_deterministic_algorithms vmap""".split())
#: Functions that make a tensor of no other: only modes see them.
_MAKERS = frozenset("""
arange as_tensor asarray bartlett_window blackman_window empty empty_strided eye from_dlpack from_numpy frombuffer full
hamming_window hann_window kaiser_window linspace logspace ones rand randint randn randperm range scalar_tensor tensor
tril_indices triu_indices zeros""".split())
_NO_METHODS = frozenset(("__new__", "__init__", "__init_subclass__", "__torch_function__", "__iter__", "as_subclass"))
_PRIVATE = ("_base", "_version")
#: Operators that are seen as the methods they stand for, as in PyTorch; other operators under their own names.
_NAMED = {"add": "__add__ __radd__", "sub": "__sub__", "mul": "__mul__ __rmul__", "div": "__truediv__", "matmul": "__matmul__",
          "remainder": "__mod__", "eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__",
          "bitwise_and": "__rand__", "bitwise_or": "__ror__", "bitwise_xor": "__rxor__", "add_": "__iadd__", "sub_": "__isub__",
          "mul_": "__imul__", "div_": "__itruediv__", "floor_divide_": "__ifloordiv__", "remainder_": "__imod__"}
STANDS_FOR = {operator: name for name, operators in _NAMED.items() for operator in operators.split()}


@functools.cache
def spaces() -> dict[str, dict[str, Any]]:
    """The namespaces with functions that modes see, by names."""
    found = {}
    for space in NAMESPACES:
        module = importlib.import_module(space)
        names = [name for name in getattr(module, "__all__", None) or dir(module) if not name.startswith("_")]
        members = {name: vars(module)[name] for name in names if name in vars(module)}
        found[space] = {name: value for name, value in members.items() if isinstance(value, (FunctionType, functools.partial))
                        and not (space == "lucid" and (name in _SETTINGS or "autocast" in name))
                        and (value.__module__ or "").startswith("lucid") and name not in ("publish", "write", "require_tensor")}
    return found


def tensor_attributes() -> dict[str, Any]:
    """What Tensor and its bases have."""
    return {name: value for cls in reversed(Tensor.__mro__[:-1]) for name, value in vars(cls).items()}


def methods() -> Iterator[tuple[str, FunctionType]]:
    """The methods and operators of Tensor."""
    for name, value in tensor_attributes().items():
        if isinstance(value, FunctionType) and name not in _NO_METHODS and (not name.startswith("_") or name.startswith("__")):
            yield name, value


def properties() -> Iterator[tuple[str, property]]:
    """The properties of Tensor."""
    for name, value in tensor_attributes().items():
        if isinstance(value, property) and (not name.startswith("_") or name in _PRIVATE):
            yield name, value


@functools.cache
def _overridable() -> tuple[dict[Any, list[Function]], dict[Any, str]]:
    by_space: dict[Any, list[Function]] = {}
    names: dict[Any, str] = {}
    for space, members in spaces().items():
        functions = by_space[importlib.import_module(space)] = []
        for name, function in members.items():
            if not (space == "lucid" and name in _MAKERS):
                functions.append(function)
                names.setdefault(function, f"{space}.{name}")
    functions = by_space[Tensor] = []
    for name, method in methods():
        functions.append(method)
        names.setdefault(method, f"lucid.Tensor.{name}")
    for name, attribute in properties():
        functions.append(attribute.__get__)
        names[attribute.__get__] = f"lucid.Tensor.{name}.__get__"
        if attribute.fset is not None:
            functions.append(attribute.__set__)
            names[attribute.__set__] = f"lucid.Tensor.{name}.__set__"
    return by_space, names


def get_overridable_functions() -> dict[Any, list[Function]]:
    """The functions that `__torch_function__` of a class can override, by the module or class that they are of.

    >>> functions = lucid.overrides.get_overridable_functions()
    >>> lucid.sin in functions[lucid], lucid.zeros in functions[lucid]
    (True, False)
    """
    return {space: list(functions) for space, functions in _overridable()[0].items()}


def get_ignored_functions() -> set[Function]:
    """The functions of lucid that cannot be overridden: they take no tensors.

    >>> lucid.zeros in lucid.overrides.get_ignored_functions()
    True
    """
    lucid = importlib.import_module("lucid")
    found = {getattr(lucid, name) for name in _SETTINGS | _MAKERS}
    attributes = tensor_attributes()
    return found | {attributes[name] for name in _NO_METHODS if isinstance(attributes.get(name), FunctionType)}


def get_default_nowrap_functions() -> set[Function]:
    """The functions whose results the default `__torch_function__` leaves as they are.

    >>> len(lucid.overrides.get_default_nowrap_functions()) > 0
    True
    """
    attributes = tensor_attributes()
    return {attributes["_base"].__get__, attributes["grad"].__get__}


def get_testing_overrides() -> dict[Function, Function]:
    """For each function that can be overridden one with the same parameters that returns -1.

    >>> lucid.overrides.get_testing_overrides()[lucid.sin](lucid.ones(1))
    -1
    """
    return {function: _minus_one(function) for functions in _overridable()[0].values() for function in functions}


def _minus_one(function: Function) -> Function:
    def instead(*args: Any, **keywords: Any) -> int:
        return -1

    try:
        instead.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except ValueError:
        pass
    return instead


def resolve_name(f: Function) -> str | None:
    """A name such as 'lucid.Tensor.add' of a function that can be overridden; None for any other.

    >>> lucid.overrides.resolve_name(lucid.Tensor.add), lucid.overrides.resolve_name(print)
    ('lucid.Tensor.add', None)
    """
    if isinstance(f, str):
        return f
    return _overridable()[1].get(f)


def is_tensor_method_or_property(func: Function) -> bool:
    """Whether `func`, as `__torch_function__` gets it, is a method or a property of Tensor: its first argument is the tensor.

    >>> lucid.overrides.is_tensor_method_or_property(lucid.Tensor.add), lucid.overrides.is_tensor_method_or_property(lucid.sin)
    (True, False)
    """
    return getattr(func, "__name__", "") in ("__get__", "__set__") or func in set(_overridable()[0][Tensor])
