"""Rules of normalizations."""
from __future__ import annotations

from typing import Any

from ..array import MetaArray, blank
from ..probe import delivered
from .new_rules import new_rules

RULES, rule = new_rules()


@rule
def batch_norm(x: MetaArray, weight: MetaArray | None, bias: MetaArray | None, running_mean: MetaArray | None,
               running_var: MetaArray | None, counter: MetaArray | None = None, *, momentum: float, eps: float, out: Any = None
               ) -> tuple[Any, ...]:
    statistic = blank(x.shape[1:2], x.dtype)
    running = [None if old is None else old.copy() for old in (running_mean, running_var)]
    return delivered((x.copy(), statistic, statistic.copy(), *running), out)


def _batch_norm_grad(g: MetaArray, x: MetaArray, *others: MetaArray | None, out: Any = None, **options: Any) -> tuple[Any, ...]:
    return delivered((x.copy(), blank(x.shape[1:2], x.dtype), blank(x.shape[1:2], x.dtype)), out)


for _name in ("batch_norm_grad", "batch_norm_eval_grad", "group_norm_grad"):
    RULES[_name] = _batch_norm_grad


@rule
def batch_norm_relu(x: MetaArray, residual: MetaArray | None, weight: MetaArray | None, bias: MetaArray | None,
                    running_mean: MetaArray | None, running_var: MetaArray | None, counter: MetaArray | None = None, *,
                    training: bool, momentum: float, eps: float, out: Any = None) -> tuple[Any, ...]:
    return batch_norm(x, weight, bias, running_mean, running_var, momentum=momentum, eps=eps, out=out)


@rule
def batch_norm_relu_grad(g: MetaArray, x: MetaArray, y: MetaArray | None, *others: MetaArray | None, training: bool,
                         out: Any = None) -> tuple[Any, ...]:
    return delivered((*_batch_norm_grad(g, x), None if y is None else g.copy()), out)


@rule
def layer_norm(x: MetaArray, weight: MetaArray | None, bias: MetaArray | None, *, normalized_ndim: int, eps: float,
               out: Any = None) -> tuple[MetaArray, ...]:
    leading = x.shape[:x.ndim - normalized_ndim]
    return delivered((x.copy(), blank(leading, x.dtype), blank(leading, x.dtype)), out)


@rule
def layer_norm_grad(g: MetaArray, x: MetaArray, weight: MetaArray | None, mean: MetaArray, rstd: MetaArray, *,
                    normalized_ndim: int, out: Any = None) -> tuple[MetaArray, ...]:
    shape = x.shape[x.ndim - normalized_ndim:]
    return delivered((x.copy(), blank(shape, x.dtype), blank(shape, x.dtype)), out)


@rule
def group_norm(x: MetaArray, weight: MetaArray | None, bias: MetaArray | None, *, groups: int, eps: float, out: Any = None
               ) -> tuple[MetaArray, ...]:
    return delivered((x.copy(), blank((x.shape[0], groups), x.dtype), blank((x.shape[0], groups), x.dtype)), out)


@rule
def rms_norm(x: MetaArray, weight: MetaArray | None, *, normalized_ndim: int, eps: float, out: Any = None
             ) -> tuple[MetaArray, ...]:
    return delivered((x.copy(), blank(x.shape[:x.ndim - normalized_ndim], x.dtype)), out)


@rule
def rms_norm_grad(g: MetaArray, x: MetaArray, weight: MetaArray | None, rstd: MetaArray, *, normalized_ndim: int, out: Any = None
                  ) -> tuple[MetaArray, ...]:
    return delivered((x.copy(), blank(x.shape[x.ndim - normalized_ndim:], x.dtype)), out)
