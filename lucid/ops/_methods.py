"""How the functions of a family become methods of Tensor: each module calls ``register(__name__)`` at its end.

It lists in `METHODS` the functions that are also methods, in `INPLACE_METHODS` those with a variant that writes the result
into the tensor (`add_`), in `OPERATORS`, `REFLECTED` and `INPLACE_OPERATORS` the functions behind operators of two operands, and
in `SPECIAL_METHODS` properties and the methods that differ from the function of that name. `SINGLE` names functions that pass
their first argument to a single operation, the last that can fail, whatever real dtype it has: written in place, or with `out`,
that operation writes straight into the tensor if its kernel can.
"""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from inspect import isfunction
from types import ModuleType
from typing import Any

from .._namespace.foreign import answer, defer_from, defers
from .._namespace.forwarding import deferring, takes_tensors, writing
from .._namespace.keywords import with_all_keywords
from ..autograd.inplace import write
from ..autograd.overwrite import refuse_shared
from ..autograd.writers import writer
from ..tensor import Tensor
from ._independence import rebase_with_zeros
from ._operands import is_operand, operator, reflected
from ._out import method as as_method

families: list[ModuleType] = []


#: The factors that PyTorch, by signatures that are deprecated, also takes before the other arguments.
_FACTORS_FIRST = {"add": ("alpha",), "sub": ("alpha",), "addcmul": ("value",), "addcdiv": ("value",),
                  **dict.fromkeys(("addmm", "addbmm", "addmv", "addr", "baddbmm"), ("beta", "alpha"))}


def inplace(function: Callable[..., Tensor], operator: bool = False) -> Callable[..., Tensor]:
    """The method that writes the result of `function` into the tensor itself and returns it; as an `operator`, NotImplemented
    for what is no number, array or tensor."""
    single = getattr(function, "single", False)
    name = function.__name__
    write_straight = writer(function)
    count = function.__code__.co_argcount - 1  # now: autocast exchanges the code
    caller = 1 if write_straight is None else 3  # behind the frames of `writing`

    def general(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        try:
            if single:
                refuse_shared(self, (*args, *keywords.values()) if keywords else args)
            return write(self, function, *args, single=single, **keywords)
        except Exception as error:
            if operator and not is_operand(args[0]):
                return answer(method, (self, *args), keywords)
            factors = _FACTORS_FIRST.get(name, ())
            if not isinstance(error, TypeError) or not args or not isinstance(args[0], (float, int)) or (
                    not count < len(args) <= count + len(factors)):
                return defer_from(sys._getframe(caller), method.__name__, (self, *args), keywords)
        # The signature of old: `add_(2, other)` for `add_(other, alpha=2)`.
        split = len(args) - count
        return method(self, *args[split:], **dict(zip(factors, args, strict=False)), **keywords)

    method = functools.wraps(function)(general if write_straight is None else writing(function, general, write_straight))
    if not takes_tensors(function, 1):  # `general` asks: the function of that name needs no frame for it
        defers(method)
    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"`{function.__name__}`, written into this tensor. See there."
    return method


def comparing(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`method`, which writes a comparison into the tensor, with zeros as the gradient of what it compares with."""
    @functools.wraps(method)
    def compared(self: Tensor, other: Any) -> Tensor:
        return rebase_with_zeros(method(self, other), other)

    return deferring(compared)


@functools.cache  # one object by all its names
def _public(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as a method: with all keywords, and where it takes other tensors, asking the classes of what it refuses."""
    method = with_all_keywords(function)
    return deferring(method) if takes_tensors(function, 1) else method


def register(name: str) -> None:
    """Attach to Tensor what the module `name` lists."""
    family = sys.modules[name]
    families.append(family)

    def listed(kind: str) -> list[tuple[str, Any]]:
        return [(name, getattr(family, name)) for name in getattr(family, kind, ())]

    def given(kind: str) -> Any:
        return getattr(family, kind, {}).items()

    for _, function in listed("SINGLE"):
        function.single = as_method(function).single = True  # type: ignore[attr-defined]
    for name, function in listed("METHODS"):
        setattr(Tensor, name, _public(as_method(function)))
    for name, function in listed("INPLACE_METHODS"):
        setattr(Tensor, f"{name}_", with_all_keywords(inplace(as_method(function))))
    for name, function in given("OPERATORS"):
        setattr(Tensor, name, operator(as_method(function)))
    for name, function in given("REFLECTED"):
        setattr(Tensor, name, reflected(as_method(function)))
    for name, function in given("INPLACE_OPERATORS"):
        setattr(Tensor, name, inplace(as_method(function), operator=True))
    for name, method in given("SPECIAL_METHODS"):
        setattr(Tensor, name, _public(method) if isfunction(method) and not name.startswith("__") else method)
