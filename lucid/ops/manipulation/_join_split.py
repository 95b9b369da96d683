"""Joining and splitting without checks: each is the gradient of the other."""
from __future__ import annotations

from typing import Any

from ...autograd.calls import operation
from ...autograd.op import Vjp
from ...tensor import Tensor
from ..creation.creation import zeros


def _concatenate_rule(needs: Any, *tensors: Tensor, axis: int) -> Vjp:
    lengths = [t._array.shape[axis] for t in tensors]
    boundaries = tuple(sum(lengths[:i]) for i in range(1, len(lengths)))

    def vjp(g: Tensor, y: Any) -> tuple[Tensor | None, ...]:
        parts = split_op(g, boundaries=boundaries, axis=axis)
        return tuple(part if need else None for part, need in zip(parts, needs, strict=True))

    return vjp


def _stack_rule(needs: Any, *tensors: Tensor, axis: int) -> Vjp:
    before = (slice(None),) * axis
    return lambda g, y: tuple(g[(*before, i)] if need else None for i, need in enumerate(needs))


def _split_rule(needs: Any, x: Tensor, *, boundaries: tuple[int, ...], axis: int) -> Vjp:
    shape = x._array.shape
    edges = (0, *boundaries, shape[axis])
    dtype, device = x.dtype, x.device

    def vjp(gs: Any, y: Any) -> tuple[Tensor]:
        if not boundaries:  # of one part, `gs` is the gradient itself
            return (gs,)
        parts = []
        for number, (start, stop) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
            part = gs[number] if number < len(gs) else None
            if part is None:
                part = zeros((*shape[:axis], stop - start, *shape[axis + 1:]), dtype=dtype, device=device)
            parts.append(part)
        return (concatenate_op(*parts, axis=axis),)

    return vjp


def _unbind_rule(needs: Any, x: Tensor, *, axis: int) -> Vjp:
    shape, dtype, device = x._array.shape, x.dtype, x.device

    def vjp(gs: Any, y: Any) -> tuple[Tensor]:
        if shape[axis] == 1:  # of one slice, `gs` is the gradient itself
            return (gs.unsqueeze(axis),)
        given = next(g for g in gs if g is not None)
        parts = [*gs, *[None] * (shape[axis] - len(gs))]
        parts = [zeros(given.shape, dtype=dtype, device=device) if g is None else g for g in parts]
        return (stack_op(*parts, axis=axis),)

    return vjp


concatenate_op = operation("concatenate", _concatenate_rule)
stack_op = operation("stack", _stack_rule)
split_op = operation("split", _split_rule, view=True)
unbind_op = operation("unbind", _unbind_rule, view=True)
