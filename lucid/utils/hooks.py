"""Handles of hooks, and what they say where a tensor with hooks is saved.

>>> handle = nn.Linear(2, 3).register_forward_hook(lambda module, inputs, output: output * 2)
>>> type(handle).__name__
'RemovableHandle'
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._hooks import RemovableHandle
from ..tensor import Tensor

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook that is lost when its tensor is saved: `warn_if_has_hooks` says nothing of it.

    >>> @lucid.utils.hooks.unserializable_hook
    ... def hook(gradient):
    ...     return gradient * 10
    >>> x = lucid.ones(1, requires_grad=True)
    >>> handle = x.register_hook(hook)
    >>> lucid.utils.hooks.warn_if_has_hooks(x)  # says nothing
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of the backward hooks of `tensor`, which are not saved with it.

    >>> import warnings
    >>> x = lucid.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda gradient: gradient * 10)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     lucid.utils.hooks.warn_if_has_hooks(x)
    >>> len(caught)
    1
    """
    node = tensor._node
    for hook in (getattr(node, "hooks", None) or {}).values():
        if not getattr(hook, "__torch_unserializable__", False):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate the "
                          "function with @lucid.utils.hooks.unserializable_hook to suppress this warning", stacklevel=2)
