"""What `grad(outputs, inputs)` and `backward(inputs=...)` ask of an operation: a gradient that nobody reads is not computed.

The gradient for the input of a network, as for a gradient penalty or an adversarial image, takes half of the time without those
of its weights. An operation whose gradients are products or convolutions asks at the start of its pull; others compute them all.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_wanted: ContextVar[Sequence[bool] | None] = ContextVar("lucid_asked", default=None)


def asked(needs: Sequence[bool]) -> Sequence[bool]:
    """Those of a rule's `needs` whose gradients are asked for; for the pull, which runs backward."""
    wanted = _wanted.get()
    return needs if wanted is None else wanted


def asks(pull: Any) -> bool:
    """Whether `pull` calls `asked`, by the names in its code: telling all made chains of small operations a fifth slower."""
    code = getattr(pull, "__code__", None)
    return code is not None and "asked" in code.co_names


def pull_asked(pull: Callable[[Any, Any], Sequence[Any]], g: Any, y: Any, wanted: Sequence[bool]) -> Sequence[Any]:
    """``pull(g, y)``, which is asked only for the gradients of the `wanted` inputs."""
    token = _wanted.set(wanted)
    try:
        return pull(g, y)
    finally:
        _wanted.reset(token)


@contextmanager
def asked_anew() -> Iterator[None]:
    """A context for another run of the engine, inside a pull: what that was asked for does not concern its operations."""
    token = _wanted.set(None)
    try:
        yield
    finally:
        _wanted.reset(token)


def is_asked() -> bool:
    """Whether this is inside a pull that is not asked for all gradients."""
    return _wanted.get() is not None
