"""Resilient backpropagation: steps that look at the sign of the gradient only."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import full_like, zeros_like
from ..ops.elementwise.where import where
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, Tensors, check_lr, chosen, count, new_number, take_step
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


def rprop(params: Tensors, grads: Tensors, prevs: Tensors, step_sizes: Tensors, state_steps: Tensors,
          foreach: bool | None = None, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
          has_complex: bool = False, *, step_size_min: float, step_size_max: float, etaminus: float, etaplus: float) -> None:
    """A step of `Rprop` with lists of parameters, gradients and the state of each: 'prev', 'step_size' and 'step', all written in
    place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.rprop.rprop([w], [lucid.ones(1)], [lucid.zeros(1)], [lucid.ones(1)], [step],
    ...     step_size_min=0.1, step_size_max=1.0, etaminus=0.5, etaplus=1.2)
    >>> w, step
    (Tensor([0.0], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(Rprop, params, grads, {"prev": prevs, "step_size": step_sizes, "step": state_steps},
              differentiable=differentiable, capturable=capturable, step_sizes=(step_size_min, step_size_max), etas=(etaminus,
              etaplus), maximize=maximize, lr=0.0)
