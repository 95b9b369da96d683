"""Resilient backpropagation: steps that look at the sign of the gradient only."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import full_like, zeros_like
from ..ops.elementwise.where import where
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, check_lr, chosen, count, new_number
from .optimizer import Group


def _move(grad: Tensor, param: Tensor, previous: Tensor, size: Tensor, *, etas: tuple[float, float],
          step_sizes: tuple[float, float]) -> None:
    agreement = grad * previous
    moved = where(agreement > 0, size * etas[1], where(agreement < 0, size * etas[0], size))
    size.copy_(moved.clamp(*step_sizes))
    grad = where(agreement < 0, 0.0, grad)
    param.sub_(grad.sign() * size)
    previous.copy_(grad)


class Rprop(ComposedOptimizer):
    """Rprop, as `torch.optim.Rprop`. State: 'step', 'prev' (the last gradient, zero where the sign had changed) and
    'step_size'.

    Source: Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.
    Raises ValueError for options out of range.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.Rprop([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    Tensor([2.9], requires_grad=False)
    """

    _elementwise_state = ("prev", "step_size")
    _move = staticmethod(_move)
    _rule = "Rprop"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    def _begin(self, param: Tensor, group: Group) -> State:
        lr = float(group["lr"])
        value: Any = complex(lr, lr) if param.is_complex() else lr
        return {"step": new_number(param, group), "prev": zeros_like(param), "step_size": full_like(param.detach(), value)}

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return (*group["etas"], *group["step_sizes"])

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        count(state)
        return (), chosen(group, "etas", "step_sizes")
