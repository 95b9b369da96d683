"""RMSprop: steps scaled by the running root mean square of the gradient."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import zeros_like
from ..tensor import Tensor
from ._composed import (
    ComposedOptimizer,
    State,
    Tensors,
    check_lr,
    check_not_negative,
    chosen,
    count,
    decayed,
    new_number,
    take_step,
)
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


def rmsprop(params: Tensors, grads: Tensors, square_avgs: Tensors, grad_avgs: Tensors, momentum_buffer_list: Tensors,
            state_steps: Tensors, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
            capturable: bool = False, has_complex: bool = False, *, lr: float, alpha: float, eps: float, weight_decay: float,
            momentum: float, centered: bool) -> None:
    """A step of `RMSprop` with lists of parameters, gradients and the state of each: 'square_avg', 'grad_avg', 'momentum_buffer'
    and 'step', all written in place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.rmsprop.rmsprop([w], [lucid.ones(1)], [lucid.ones(1)], [], [], [step],
    ...     lr=0.5, alpha=0.5, eps=0.0, weight_decay=0.0, momentum=0.0, centered=False)
    >>> w, step
    (Tensor([0.5], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(RMSprop, params, grads,
              {"square_avg": square_avgs, "grad_avg": grad_avgs, "momentum_buffer": momentum_buffer_list, "step": state_steps},
              differentiable=differentiable, capturable=capturable, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay,
              momentum=momentum, centered=centered, maximize=maximize)
