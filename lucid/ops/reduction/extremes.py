"""Extremes of tensors on a GPU with their gradients: one kernel finds them with the number of their ties, another one shares the
gradient among these.

On the CPU the ties are counted where a gradient is asked for: `max_min` and `linalg.vector_norms`.
"""
from __future__ import annotations

import functools
from typing import Any

from ...autograd.calls import operation
from ...autograd.grad_mode import is_composed, is_grad_enabled
from ...autograd.op import Vjp
from ...tensor import Tensor
from .axes import Axes, spread


def _rule(rule: str, needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, smallest: bool, sizes: bool) -> Vjp:
    shape = x._array.shape

    def vjp(g: Tensor, saved: tuple[Tensor, Tensor]) -> tuple[Tensor]:
        y, ties = saved
        if not is_composed() and x._array.dtype == g._array.dtype:
            return (_grad(g, x, y, ties, axis=axis, keepdims=keepdims, rule=rule),)
        from ..elementwise.where import where

        y, ties, place = spread(y.detach(), shape, axis, keepdims), spread(ties, shape, axis, keepdims), x.detach()
        direction = place.sgn()
        if sizes:
            place = place.abs()
        chosen = place == y
        if rule == "amax":
            ties = ties.masked_fill(y.isnan(), 0)
        else:
            chosen = chosen | (place.isnan() & y.isnan())
        share = spread(g, shape, axis, keepdims) / ties.to(g.dtype)
        if rule == "max":
            return (where(chosen, share, 0.0),)
        share = chosen.to(g.dtype) * share
        return (direction * share if sizes else share,)

    return vjp


_grad = operation("extreme_grad")
_OPS = {rule: operation("extreme", functools.partial(_rule, rule), outputs=(0,), saved_outputs=(0, 1))
        for rule in ("max", "amax", "norm")}


def suits(input: Tensor) -> bool:
    """Whether `extreme` is for `input`: on a GPU, and with a gradient that will be asked for."""
    return bool(input._node is not None and input.is_gpu and is_grad_enabled() and input._array.dtype.kind in "fV")


def extreme(rule: str, input: Tensor, axis: Axes, keepdims: bool, smallest: bool) -> Tensor:
    """The largest elements along `axis`, or the `smallest`; with the `rule` 'norm' those of the sizes.

    If that is NaN, the gradient goes to the elements that are NaN; with the rule 'amax' it is NaN everywhere.
    """
    result: Tensor = _OPS[rule](input, axis=axis, keepdims=keepdims, smallest=smallest, sizes=rule == "norm")[0]
    return result
