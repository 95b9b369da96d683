"""Handles that remove a registered hook, used by tensors, graph nodes, modules and optimizers."""
from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

Registry = OrderedDict[int, Any]


class RemovableHandle:
    """Removes the hook it was returned for; also a context manager that does so at its end.

    It does not keep alive what is hooked. Copied or pickled together with a module, it belongs to the copy.

    >>> x = lucid.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda gradient: gradient * 10)
    >>> isinstance(handle, lucid.utils.hooks.RemovableHandle)
    True
    >>> handle.remove()
    >>> (x * 2).sum().backward()
    >>> x.grad
    Tensor([2.0], requires_grad=False)
    """

    next_id: int = 0
    id: int
    hooks_dict_ref: weakref.ref[Registry]
    extra_dict_ref: tuple[weakref.ref[Registry], ...]

    def __init__(self, hooks_dict: Registry, *, extra_dict: Registry | Sequence[Registry] | None = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extras = (extra_dict,) if isinstance(extra_dict, dict) else extra_dict or ()
        self.extra_dict_ref = tuple(weakref.ref(registry) for registry in extras)

    @classmethod
    def add(cls, hooks: Registry, hook: Any, *, prepend: bool = False, flags: Sequence[Registry] = ()) -> RemovableHandle:
        """Put `hook` into the registry `hooks`, with `prepend` at its front, and return the handle that removes it.

        Its number is also put into each of `flags`, and removed from there with it.
        """
        handle = cls(hooks, extra_dict=flags)
        hooks[handle.id] = hook
        for flag in flags:
            flag[handle.id] = True
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            registry = reference()
            if registry is not None:
                registry.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        # The registries themselves: a copy of the module and a copy of the handle then share theirs.
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extras = state
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.hooks_dict_ref = _reference(hooks)
        self.extra_dict_ref = tuple(map(_reference, extras))


def _reference(registry: Registry | None) -> weakref.ref[Registry]:
    """A weak reference; one to nothing where the registry was gone when the handle was copied."""
    return weakref.ref(OrderedDict() if registry is None else registry)
