"""Rules of steps of optimizers, which are written in place."""
from __future__ import annotations

from typing import Any

from ..array import MetaArray
from ..probe import delivered
from .new_rules import new_rules

RULES, rule = new_rules()


@rule
def sgd(param: MetaArray, grad: MetaArray, momentum_buffer: MetaArray | None, *, momentum: float, out: Any = None,
        **options: Any) -> tuple[Any, ...]:
    buffer = param.copy() if momentum_buffer is None and momentum != 0 else momentum_buffer
    return delivered((param, buffer), out)


@rule
def adam(*arrays: MetaArray | None, out: Any = None, **options: Any) -> tuple[Any, ...]:
    param, _, *moments = arrays
    return delivered((param, *moments), out)


@rule
def multi_tensor_sgd(*arrays: MetaArray, **options: Any) -> None:
    """Writes in place."""


@rule
def multi_tensor_adam(*arrays: MetaArray, **options: Any) -> None:
    """Writes in place."""


@rule
def multi_tensor_unscale(*arrays: MetaArray) -> None:
    """Writes in place."""
