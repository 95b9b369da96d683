"""Adagrad: each element has its own step size, which shrinks with the squared gradients so far."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import full_like
from ..tensor import Tensor, wrap
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
from .optimizer import Group, check_options


def _move(grad: Tensor, param: Tensor, total: Tensor, rate: float, *, eps: float, weight_decay: float) -> None:
    grad = decayed(grad, param, weight_decay)
    total.add_(grad * grad)
    param.sub_(grad / (total.sqrt() + eps) * rate)


class Adagrad(ComposedOptimizer):
    """Adagrad, as `torch.optim.Adagrad`. State of a parameter, from the beginning on: 'step' and 'sum', of squared gradients.

    Source: Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011.
    Raises ValueError for negative options.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.Adagrad([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    Tensor([2.9], requires_grad=False)
    """

    _elementwise_state = ("sum",)
    _takes_sparse = True
    _move = staticmethod(_move)
    _rule = "Adagrad"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
                           eps=eps)
        check_options(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._begin(param, group))

    def share_memory(self) -> None:
        """Put the sums of squares into memory shared by processes."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _begin(self, param: Tensor, group: Group) -> State:
        value: Any = group["initial_accumulator_value"]
        start = full_like(param.detach(), complex(value, value) if param.is_complex() else value)
        return {"step": new_number(param, group), "sum": start}

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return group["lr_decay"], group["eps"]

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        rate = float(group["lr"]) / (1 + (count(state) - 1) * group["lr_decay"])
        return (rate,), chosen(group, "eps", "weight_decay")

    def _update_sparse(self, param: Tensor, grad: Tensor, group: Group) -> None:
        """Only the rows of the gradient are written. Raises RuntimeError with weight decay, which would change all."""
        from ..ops.sparse.values import add_into  # with the first sparse gradient

        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state, grad = self.state[param], grad.coalesce()
        (rate,), _ = self._scalars(state, group)
        values, total = grad.values(), state["sum"]
        places = grad._array
        add_into(total, wrap(places.with_values((values * values)._array)))
        scale = total.sparse_mask(grad).values().sqrt() + group["eps"]
        add_into(param, wrap(places.with_values((values / scale)._array)), -rate)


def adagrad(params: Tensors, grads: Tensors, state_sums: Tensors, state_steps: Tensors, fused: bool | None = None,
            grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_sparse_grad: bool = False,
            foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *, lr: float,
            weight_decay: float, lr_decay: float, eps: float, maximize: bool) -> None:
    """A step of `Adagrad` with lists of parameters, gradients and the state of each: 'sum' and 'step', all written in place.

    `foreach`, `has_complex` and `has_sparse_grad` change nothing. Raises RuntimeError for counts of steps that are no tensors and
    gradients that do not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.adagrad.adagrad([w], [lucid.ones(1)], [lucid.zeros(1)], [step],
    ...     lr=0.5, weight_decay=0.0, lr_decay=0.0, eps=0.0, maximize=False)
    >>> w, step
    (Tensor([0.5], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(Adagrad, params, grads, {"sum": state_sums, "step": state_steps},
              differentiable=differentiable, grad_scale=grad_scale, found_inf=found_inf, fused=fused, lr=lr,
              weight_decay=weight_decay, lr_decay=lr_decay, eps=eps, maximize=maximize)
