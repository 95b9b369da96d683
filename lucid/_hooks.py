"""Handles that remove a registered hook, used by tensors, modules and optimizers."""
from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Removes the hook it was returned for; also a context manager that does so at its end."""

    def __init__(self, hooks: dict[int, Any], *extra: dict[int, Any]) -> None:
        self.id = next(_ids)
        self._hooks = tuple(_Reference(registry) for registry in (hooks, *extra))

    @classmethod
    def add(cls, hooks: dict[int, Any], hook: Any) -> RemovableHandle:
        """Put `hook` into the registry `hooks` and return the handle that removes it."""
        handle = cls(hooks)
        hooks[handle.id] = hook
        return handle

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for reference in self._hooks:
            registry = reference.get()
            if registry is not None:
                registry.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


class _Reference:
    """A weak reference where the registry allows one (an OrderedDict does, a dict does not)."""

    def __init__(self, registry: Any) -> None:
        self.get: Callable[[], Any]
        try:
            self.get = weakref.ref(registry)
        except TypeError:
            self.get = lambda: registry

    def __reduce__(self) -> tuple[Any, ...]:
        return _Reference, (self.get(),)  # a copied or pickled handle removes the hook from the copied registry
