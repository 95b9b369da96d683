"""Calling a module with other tensors in the place of its parameters and buffers: the machinery of `lucid.func`.

>>> from lucid.nn.utils.stateless import functional_call
>>> functional_call(nn.Linear(2, 1, bias=False), {"weight": lucid.ones(1, 2)}, lucid.tensor([[1.0, 2.0]]))
Tensor([[3.0]], requires_grad=False)
"""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tensor import Tensor
from ..modules.module import Module
from ._borrowed import borrow, give_back

__all__ = ["functional_call"]

_MISSING: Any = object()
State = dict[str, Any]


def functional_call(module: Module, parameters_and_buffers: State, args: Any = None, kwargs: dict[str, Any] | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """Deprecated: the same as `lucid.func.functional_call` with one dictionary.

    >>> layer = nn.Linear(2, 1)
    >>> state = {"weight": lucid.ones(1, 2), "bias": lucid.zeros(1)}
    >>> nn.utils.stateless.functional_call(layer, state, lucid.tensor([[1.0, 2.0]]))
    Tensor([[3.0]], requires_grad=False)
    """
    warnings.warn("nn.utils.stateless.functional_call is deprecated: use lucid.func.functional_call", FutureWarning,
                  stacklevel=2)
    with swapped(module, complete(module, parameters_and_buffers, tie_weights, strict), parameters_and_buffers):
        return run(module, args, kwargs)


def run(module: Module, args: Any, kwargs: dict[str, Any] | None) -> Any:
    """Call `module`; `args` is a tuple of arguments or a single one, None for none."""
    positional = args if isinstance(args, tuple) else () if args is None else (args,)
    return module(*positional, **(kwargs or {}))


def complete(module: Module, state: State, tie_weights: bool, strict: bool) -> State:
    """`state`, with `tie_weights` also for all other names of the tensors of `module` that it names.

    Raises ValueError if two names of one tensor are given different tensors, and with `strict` RuntimeError unless the names
    are those of the parameters and buffers.
    """
    result = state.copy()
    if not tie_weights and not strict:
        return result
    tensors: State = dict(module.named_parameters(remove_duplicate=False))
    tensors.update(module.named_buffers(remove_duplicate=False))
    if tie_weights:
        names_of: dict[int, list[str]] = {}
        for name, tensor in tensors.items():
            names_of.setdefault(id(tensor), []).append(name)
        for names in names_of.values():
            given = [state[name] for name in names if name in state]
            if any(tensor is not given[0] for tensor in given):
                raise ValueError(f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider "
                                 "using tie_weights=False")
            if given:
                result.update(dict.fromkeys(names, given[0]))
    if strict and result.keys() != tensors.keys():
        problems = [f"{what} key(s): {', '.join(map(repr, sorted(names)))}." for what, names in
                    (("Unexpected", result.keys() - tensors.keys()), ("Missing", tensors.keys() - result.keys())) if names]
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))
    return result


@contextmanager
def swapped(module: Module, tensors: State, state: State) -> Iterator[None]:
    """In this context `tensors` stand at their names in `module`. Afterwards its own do again, and what forward has put at the
    names of `state` is in `state`.
    """
    slots: list[_Slot] = []
    try:
        for name, tensor in tensors.items():
            slot = _Slot(module, name, tensor)
            slot.enter()
            slots.append(slot)
        yield
    finally:
        # In reverse: two names may lead to one place, and the first of them has found the module's own tensor there.
        for slot in reversed(slots):
            found = slot.leave()
            if slot.name in state and found is not _MISSING:
                state[slot.name] = found


class _Slot:
    """One name of a module, and the tensor that stands there during a call.

    The dictionaries of the module are written directly: registering would turn given tensors into buffers.
    """

    def __init__(self, root: Module, name: str, given: Any) -> None:
        path, _, attribute = name.rpartition(".")
        module = _submodule(root, path)
        check_tensor(given)
        if attribute == "":
            raise KeyError('tensor name can\'t be empty string ""')
        self.name = name
        self._module, self._attribute = module, attribute
        self._given = self._placed = given
        if attribute in module._parameters:
            self._home: Any = module._parameters
        elif attribute in module._buffers:
            self._home = module._buffers
        else:
            current = getattr(module, attribute, None)
            if current is not None and not isinstance(current, Tensor):
                raise TypeError(f"attribute `{attribute}`: {current} is not an instance of lucid.Tensor")
            # A parametrized tensor is a property: assigning to it goes through the parametrization.
            self._home = None if hasattr(getattr(type(module), attribute, None), "__set__") else module.__dict__

    def enter(self) -> None:
        """Put the given tensor there."""
        if self._home is None:
            self._own = getattr(self._module, self._attribute)
            setattr(self._module, self._attribute, self._given)
        else:
            self._own = self._home.get(self._attribute, _MISSING)
            if self._home is self._module._buffers:
                self._placed = borrow(self._given, self._own)
            self._home[self._attribute] = self._placed

    def leave(self) -> Any:
        """Put back the module's own tensor, and return what stood there."""
        module, name = self._module, self._attribute
        if self._home is None:
            found = getattr(module, name)
            setattr(module, name, self._own)
            return found
        found = _MISSING
        for home in (module._parameters, module._buffers, module.__dict__):  # forward may have registered another kind
            if name in home:
                found = home[name] if home is self._home else home.pop(name)
        if self._own is _MISSING:
            self._home.pop(name, None)
        else:
            self._home[name] = self._own
        return give_back(self._given, found) if found is self._placed else found


def check_tensor(value: Any) -> None:
    """Raise TypeError unless `value` is a tensor or None."""
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{value} is not an instance of lucid.Tensor")


def _submodule(root: Module, path: str) -> Module:
    module: Any = root
    for name in path.split(".") if path else ():
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise TypeError(f"submodule `{name}`: {module} is not an instance of lucid.nn.Module")
    return module
