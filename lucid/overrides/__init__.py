"""Functions overridden by classes and modes: PyTorch's `__torch_function__`, here also by the name `__lucid_function__`.

A class derived from Tensor, or any other class, whose `__torch_function__` is a classmethod is asked for what a function shall do
with its objects. Without such classes and modes no call takes longer.

`state`: modes that are on, and what is disabled.
`dispatch`: which class or mode answers a call.
`arguments`: what those get of it.
`functions`: what can be overridden, and names.
`switching`: turns the interception of calls on and off.
`modes`: contexts that see all calls.
`subclasses`: tensors of derived classes.
`protocol`: functions of users that can be overridden.

>>> class Names(lucid.overrides.TorchFunctionMode):
...     def __torch_function__(self, func, types, args=(), kwargs=None):
...         print(lucid.overrides.resolve_name(func))
...         return func(*args, **(kwargs or {}))
>>> x = lucid.ones(2)
>>> with Names():
...     y = lucid.sin(x)
lucid.sin
"""
from ..tensor import disabled_torch_function as _disabled_torch_function_impl
from .functions import (
    get_default_nowrap_functions,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    is_tensor_method_or_property,
    resolve_name,
)
from .modes import BaseTorchFunctionMode, TorchFunctionMode
from .protocol import (
    enable_reentrant_dispatch,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    register_class,
    wrap_torch_function,
)
from .state import DisableTorchFunction, DisableTorchFunctionSubclass

__all__ = [
    "BaseTorchFunctionMode", "DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode",
    "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "register_class", "resolve_name",
    "wrap_torch_function",
]
