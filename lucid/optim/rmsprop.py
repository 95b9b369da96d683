"""RMSprop: steps scaled by the running root mean square of the gradient."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, check_lr, check_not_negative, chosen, count, decayed, new_number
from .optimizer import Group


def _move(grad: Tensor, param: Tensor, square: Tensor, velocity: Any, mean: Any, lr: float, *, alpha: float, eps: float,
          momentum: float, centered: bool, weight_decay: float) -> None:
    grad = decayed(grad, param, weight_decay)
    square.mul_(alpha).add_((1 - alpha) * grad * grad)
    if centered:
        mean.lerp_(grad, 1 - alpha)
        root = (square - mean * mean).sqrt()
    else:
        root = square.sqrt()
    step = grad / (root + eps)
    if momentum > 0:
        step = velocity.mul_(momentum).add_(step)
    param.sub_(step * lr)


class RMSprop(ComposedOptimizer):
    """RMSprop, as `torch.optim.RMSprop`. State: 'step', 'square_avg', with `momentum` 'momentum_buffer' and with `centered`,
    which subtracts the squared mean, 'grad_avg'.

    Source: Hinton, "Neural Networks for Machine Learning", lecture 6e, 2012; centered: Graves, "Generating Sequences With
    Recurrent Neural Networks", 2013. Raises ValueError for negative options.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.RMSprop([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    Tensor([2.0], requires_grad=False)
    """

    _elementwise_state = ("square_avg", "momentum_buffer", "grad_avg")
    _move = staticmethod(_move)
    _rule = "RMSprop"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("momentum", 0)
            group.setdefault("centered", False)

    def _begin(self, param: Tensor, group: Group) -> State:
        state = {"step": new_number(param, group), "square_avg": zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return group["alpha"], group["eps"], group["momentum"], group["centered"]

    def _moments(self, group: Group) -> tuple[str | None, ...]:
        return "square_avg", "momentum_buffer" if group["momentum"] > 0 else None, "grad_avg" if group["centered"] else None

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        count(state)
        return (float(group["lr"]),), chosen(group, "alpha", "eps", "momentum", "centered", "weight_decay")
