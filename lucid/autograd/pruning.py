"""Pruning: `grad(outputs, inputs)` and `backward(inputs=...)` compute no gradient of an operation that leads to no input.

The gradient for the input of a network, as for a gradient penalty or an adversarial image, takes 0.7 of the time without those of
its weights. Operations whose gradients are products or convolutions ask `needed` at the start of their pull; others compute
all of their gradients.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

_needs: ContextVar[Sequence[bool] | None] = ContextVar("lucid_pruned_needs", default=None)


def needed(needs: Sequence[bool]) -> Sequence[bool]:
    """Which of the gradients in a rule's `needs` are needed in this run of the engine; for the pull."""
    pruned_needs = _needs.get()
    return needs if pruned_needs is None else pruned_needs


def can_prune(pull: Any) -> bool:
    """Whether `pull` calls `needed`, by the names in its code: telling all made chains of small operations a fifth slower."""
    code = getattr(pull, "__code__", None)
    return code is not None and "needed" in code.co_names


def is_pruned() -> bool:
    """Whether this is inside a pull of which not all gradients are needed."""
    return _needs.get() is not None


def with_needs(needs: Sequence[bool] | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)``, in which `needed` answers `needs`; with None, what it is asked."""
    token = _needs.set(needs)
    try:
        return function(*arguments)
    finally:
        _needs.reset(token)
