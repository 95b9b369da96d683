"""`torch.library`: operators that programs define in Python, by names such as 'mylib::scale'.

An operator has functions for devices, or one for all; of what it computes lucid differentiates only what is registered as
composite, or by `register_autograd`.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import lucid
from lucid.amp.autocast_mode import is_autocast_enabled
from lucid.utils._pytree import tree_leaves, tree_map

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "get_ctx", "impl", "register_autocast", "register_autograd",
           "register_kernel"]

OPERATORS: dict[str, Operator] = {}
_Function = Callable[..., Any]
_excluded: ContextVar[bool] = ContextVar("lucid_torch_autocast_is_excluded", default=False)
_COMPOSITE = ("CompositeImplicitAutograd", "")
_FOR_ALL = ("CompositeExplicitAutograd", "default")


@contextlib.contextmanager
def excluding(keys: Any = None) -> Iterator[None]:
    """Leave out the functions of operators for autocast."""
    token = _excluded.set(True)
    try:
        yield
    finally:
        _excluded.reset(token)


def _tensors(arguments: Any) -> list[lucid.Tensor]:
    return [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, lucid.Tensor)]


class Operator:
    """An operator, with its functions by PyTorch's dispatch keys. `default` is the operator too."""

    def __init__(self, name: str, composite: _Function | None = None) -> None:
        self._name = name
        self.kernels: dict[str, _Function] = {} if composite is None else {_COMPOSITE[0]: composite}
        self.differentiated: Any = None  # the autograd.Function of `register_autograd`
        self.autocast: dict[str, Any] = {}  # dtypes by device types
        self.signature: inspect.Signature | None = None
        self.__name__ = self.__qualname__ = name.partition("::")[2]

    @property
    def default(self) -> Operator:
        """The only overload."""
        return self

    def name(self) -> str:
        """As 'mylib::scale'."""
        return self._name

    def __repr__(self) -> str:
        return f"<operator {self._name}>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        tensors = _tensors((arguments, keywords))
        device = "cuda" if any(tensor.is_gpu for tensor in tensors) else "cpu"
        if not _excluded.get() and is_autocast_enabled(device):
            kernel = self.kernels.get("Autocast" + device.upper())
            if kernel is not None:
                return kernel(*arguments, **keywords)
            if device in self.autocast:
                arguments, keywords = _cast((arguments, keywords), self.autocast[device])
                with excluding():
                    return self(*arguments, **keywords)
        for key in ("Autograd" + device.upper(), "Autograd", *_COMPOSITE):
            if key in self.kernels:
                return self.kernels[key](*arguments, **keywords)
        if self.differentiated is not None:
            return self.differentiated.apply(*self._bound(arguments, keywords))
        if lucid.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return _without_gradient(self).apply(*self._bound(arguments, keywords))
        return self.kernel(device)(*arguments, **keywords)

    def kernel(self, device: str) -> _Function:
        """The function for a device."""
        for key in (device.upper(), *_FOR_ALL):
            if key in self.kernels:
                return self.kernels[key]
        raise NotImplementedError(f"Could not run '{self._name}' on {device}: there is no function for it")

    def _bound(self, arguments: Any, keywords: Any) -> Any:
        if self.signature is None:
            if keywords:
                raise TypeError(f"{self._name} takes no keywords: it was defined without a Python signature")
            return arguments
        bound = self.signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        return bound.args


def _cast(arguments: Any, dtype: Any) -> Any:
    def cast(leaf: Any) -> Any:
        floating = isinstance(leaf, lucid.Tensor) and leaf.is_floating_point() and leaf.dtype != lucid.float64
        return leaf.to(dtype) if floating else leaf

    return tree_map(cast, arguments)


def _run(operator: Operator, arguments: Any) -> Any:
    device = "cuda" if any(tensor.is_gpu for tensor in _tensors(arguments)) else "cpu"
    return operator.kernel(device)(*arguments)


@functools.cache
def _without_gradient(operator: Operator) -> Any:
    class WithoutGradient(lucid.autograd.Function):
        """An operator whose gradient nobody has registered."""

        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            return _run(operator, arguments)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            raise RuntimeError(f"Trying to backward through {operator.name()} but no autograd formula was registered. Use "
                               "torch.library.register_autograd")

    return WithoutGradient


def _named(name: Any) -> str:
    return name.name() if isinstance(name, Operator) else name._opoverload.name() if isinstance(name, CustomOpDef) else str(name)


def _operator(name: Any) -> Operator:
    full = _named(name).removesuffix(".default")
    if full not in OPERATORS:
        raise RuntimeError(f"operator {full} does not exist: define it first")
    return OPERATORS[full]


class CustomOpDef:
    """What `custom_op` gives: the operator as a function, with decorators for the rest of it."""

    def __init__(self, name: str, function: _Function, device_types: Any = None) -> None:
        functools.update_wrapper(self, function)
        operator = OPERATORS[name] = Operator(name)
        operator.signature = inspect.signature(function)
        self._opoverload, self._name = operator, name
        for key in _keys(device_types):
            operator.kernels[key] = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._opoverload(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    def register_fake(self, fn: _Function, /) -> _Function:
        """`fn`, which computes shapes: lucid computes the results."""
        return fn

    def register_kernel(self, device_types: Any, fn: _Function | None = None, /) -> Any:
        """Let `fn` compute the operator on devices."""
        return register_kernel(self._name, device_types, fn)

    def register_autograd(self, backward: _Function, /, *, setup_context: _Function | None = None) -> None:
        """Let `backward` compute the gradients."""
        register_autograd(self._name, backward, setup_context=setup_context)

    def register_vmap(self, func: _Function | None = None, /) -> Any:
        """`func`: lucid batches what the operator does."""
        return func if func is not None else lambda f: f

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Cast the arguments under autocast."""
        register_autocast(self._name, device_type, cast_inputs)


def _keys(device_types: Any) -> list[str]:
    if device_types is None:
        return ["default"]
    return [name.upper() for name in ([device_types] if isinstance(device_types, str) else device_types)]


def custom_op(name: str, fn: _Function | None = None, /, *, mutates_args: Any = (), device_types: Any = None,
              schema: str | None = None, tags: Any = None) -> Any:
    """Make an operator of the function `fn`, or a decorator that does."""
    return CustomOpDef(name, fn, device_types) if fn is not None else lambda function: CustomOpDef(name, function, device_types)


def register_kernel(op: Any, device_types: Any, func: _Function | None = None, /, *, lib: Any = None) -> Any:
    """Let `func` compute the operator on devices; without it, a decorator."""
    def register(function: _Function) -> _Function:
        _operator(op).kernels.update(dict.fromkeys(_keys(device_types), function))
        return function

    return register if func is None else register(func)


def register_autograd(op: Any, backward: _Function, /, *, setup_context: _Function | None = None, lib: Any = None) -> None:
    """Let `backward` compute the gradients of the operator. One of lucid's own operations has its gradients already."""
    operator = _operator(op)
    if _COMPOSITE[0] in operator.kernels:
        return

    class Differentiated(lucid.autograd.Function):
        """The operator, with its registered gradient."""

        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            output = _run(operator, arguments)
            if setup_context is not None:
                setup_context(ctx=ctx, inputs=arguments, output=output)
            return output

    Differentiated.backward = staticmethod(backward)  # type: ignore[method-assign]
    operator.differentiated = Differentiated


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Cast the floating-point arguments of the operator to `cast_inputs` under autocast on that device type."""
    _operator(op).autocast[device_type] = cast_inputs


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Make an operator without functions."""
    OPERATORS.setdefault(qualname, Operator(qualname))


def impl(qualname: Any, types: Any, func: _Function | None = None, *, lib: Any = None) -> Any:
    """Let `func` compute the operator on the devices `types`; without it, a decorator."""
    return register_kernel(qualname, types, func, lib=lib)


def get_ctx() -> Any:
    """The context of a function that computes shapes, which lucid never calls."""
    raise RuntimeError("get_ctx() is for functions that compute shapes, which lucid does not call")


class Library:
    """The operators of a namespace."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Make an operator, by a schema such as 'scale(Tensor x, float factor) -> Tensor'."""
        name = schema.partition("(")[0].strip()
        OPERATORS.setdefault(f"{self.ns}::{name}", Operator(f"{self.ns}::{name}"))
        return name

    def impl(self, op_name: Any, fn: _Function, dispatch_key: str = "", *, with_keyset: bool = False, **keywords: Any) -> None:
        """Let `fn` compute the operator for a dispatch key."""
        key = dispatch_key or self.dispatch_key or _COMPOSITE[0]
        full = op_name if isinstance(op_name, Operator) else f"{self.ns}::{op_name}"
        if key == "Meta":
            return  # lucid computes shapes itself
        _operator(full).kernels[key] = fn

    def fallback(self, fn: _Function, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Refused: there is no dispatcher that could fall back."""
        raise NotImplementedError("lucid has no torch.library.Library.fallback")
