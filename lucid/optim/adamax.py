"""Adamax: Adam with the infinity norm in the place of the second moment."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import zeros_like
from ..ops.elementwise.arithmetic import maximum
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, Tensors, chosen, count, decayed, new_number, take_step
from .adam import check_adam_options
from .optimizer import Group


def _move(grad: Tensor, param: Tensor, mean: Tensor, largest: Tensor, rate: float, *, betas: tuple[float, float], eps: float,
          weight_decay: float) -> None:
    grad = decayed(grad, param, weight_decay)
    mean.lerp_(grad, 1 - betas[0])
    largest.copy_(maximum(largest * betas[1], grad.abs() + eps))
    param.sub_(mean / largest * rate)


class Adamax(ComposedOptimizer):
    """Adamax, as `torch.optim.Adamax`. State: 'step', 'exp_avg' and 'exp_inf', the largest gradient so far, decaying.

    Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015. Raises ValueError for options out of range.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.Adamax([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    Tensor([2.9], requires_grad=False)
    """

    _elementwise_state = ("exp_avg", "exp_inf")
    _move = staticmethod(_move)
    _rule = "Adamax"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_adam_options(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    def _begin(self, param: Tensor, group: Group) -> State:
        return {"step": new_number(param, group), "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return (*group["betas"], group["eps"])

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        rate = float(group["lr"]) / (1 - group["betas"][0] ** count(state))
        return (rate,), chosen(group, "betas", "eps", "weight_decay")


def adamax(params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_infs: Tensors, state_steps: Tensors,
           foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
           has_complex: bool = False, *, eps: float, beta1: float, beta2: float, lr: float, weight_decay: float) -> None:
    """A step of `Adamax` with lists of parameters, gradients and the state of each: 'exp_avg', 'exp_inf' and 'step', all written
    in place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.adamax.adamax([w], [lucid.ones(1)], [lucid.zeros(1)], [lucid.zeros(1)], [step],
    ...     eps=0.0, beta1=0.9, beta2=0.5, lr=0.5, weight_decay=0.0)
    >>> w, step
    (Tensor([0.5], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(Adamax, params, grads, {"exp_avg": exp_avgs, "exp_inf": exp_infs, "step": state_steps},
              differentiable=differentiable, capturable=capturable, lr=lr, betas=(beta1, beta2), eps=eps,
              weight_decay=weight_decay, maximize=maximize)
