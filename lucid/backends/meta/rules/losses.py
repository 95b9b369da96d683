"""Rules of losses."""
from __future__ import annotations

from typing import Any

from ..array import MetaArray, blank
from ..probe import delivered
from .new_rules import new_rules

RULES, rule = new_rules()


@rule
def cross_entropy(x: MetaArray, target: MetaArray, weight: MetaArray | None, *, reduction: str, with_grad: bool,
                  out: Any = None, **options: Any) -> tuple[Any, ...]:
    loss = blank(target.shape if reduction == "none" else (), x.dtype)
    return delivered((loss, x.copy() if with_grad else None), out)


@rule
def nll_loss(x: MetaArray, target: MetaArray, weight: MetaArray | None, *, reduction: str, ignore_index: int | None) -> MetaArray:
    return blank(target.shape if reduction == "none" else (), x.dtype)


@rule
def nll_loss_grad(g: MetaArray, target: MetaArray, weight: MetaArray | None, *, shape: tuple[int, ...], **options: Any
                  ) -> MetaArray:
    return blank(shape, g.dtype)


@rule
def ctc_loss(x: MetaArray, labels: MetaArray, inputs: MetaArray, lengths: MetaArray, *, with_grad: bool, out: Any = None,
             **options: Any) -> tuple[Any, ...]:
    return delivered((blank(x.shape[1:2], x.dtype), x.copy() if with_grad else None), out)
