"""Adadelta: steps in the unit of the parameter, without a learning rate of their own."""
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


def _move(grad: Tensor, param: Tensor, square: Tensor, steps: Tensor, lr: float, *, rho: float, eps: float, weight_decay: float
          ) -> None:
    grad = decayed(grad, param, weight_decay)
    square.mul_(rho).add_((1 - rho) * grad * grad)
    step = (steps + eps).sqrt() / (square + eps).sqrt() * grad
    steps.mul_(rho).add_((1 - rho) * step * step)
    param.sub_(step * lr)


class Adadelta(ComposedOptimizer):
    """Adadelta, as `torch.optim.Adadelta`. State: 'step', 'square_avg' and 'acc_delta', running means of squared gradients and
    squared steps.

    Source: Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012. Raises ValueError for options out of range.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.Adadelta([w])
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> bool(w < 3)
    True
    """

    _elementwise_state = ("square_avg", "acc_delta")
    _move = staticmethod(_move)
    _rule = "Adadelta"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable,
            "foreach": foreach, "differentiable": differentiable})

    def _begin(self, param: Tensor, group: Group) -> State:
        return {"step": new_number(param, group), "square_avg": zeros_like(param), "acc_delta": zeros_like(param)}

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return group["rho"], group["eps"]

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        count(state)
        return (float(group["lr"]),), chosen(group, "rho", "eps", "weight_decay")


def adadelta(params: Tensors, grads: Tensors, square_avgs: Tensors, acc_deltas: Tensors, state_steps: Tensors,
             capturable: bool = False, foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False,
             *, lr: float, rho: float, eps: float, weight_decay: float, maximize: bool) -> None:
    """A step of `Adadelta` with lists of parameters, gradients and the state of each: 'square_avg', 'acc_delta' and 'step', all
    written in place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.adadelta.adadelta([w], [lucid.ones(1)], [lucid.ones(1)], [lucid.zeros(1)], [step],
    ...     lr=1.0, rho=0.5, eps=1.0, weight_decay=0.0, maximize=False)
    >>> w, step
    (Tensor([0.2929], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(Adadelta, params, grads, {"square_avg": square_avgs, "acc_delta": acc_deltas, "step": state_steps},
              differentiable=differentiable, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
              capturable=capturable)
