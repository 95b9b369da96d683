"""Averaged stochastic gradient descent."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _dtypes
from ..ops.creation.creation import tensor, zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, Tensors, check_lr, check_not_negative, count, decayed, take_step
from .optimizer import Group


def _move(grad: Tensor, param: Tensor, mean: Tensor, rate: float, keep: float, share: float, *, weight_decay: float,
          averages: bool) -> None:
    grad = decayed(grad, param, weight_decay)
    param.mul_(keep)
    param.sub_(grad * rate)
    if averages:
        mean.add_((param - mean) * share)
    else:
        mean.copy_(param)


class ASGD(ComposedOptimizer):
    """Averaged SGD, as `torch.optim.ASGD`. State: 'step', 'eta' and 'mu', the rates of the step and of the average (0-d
    float32), and 'ax', the average of the parameter.

    Source: Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992. Raises ValueError for a
    negative `lr` or `weight_decay`.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.ASGD([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> bool(w < 3)
    True
    """

    _elementwise_state = ("ax",)
    _move = staticmethod(_move)
    _rule = "ASGD"
    _numbers = ("step", "eta", "mu")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for param in group["params"]:
                entries = self.state.get(param) or {}
                for name in ("eta", "mu"):
                    if name in entries and not isinstance(entries[name], Tensor):
                        entries[name] = tensor(entries[name], dtype=_dtypes.float32, device=param.device)

    def _begin(self, param: Tensor, group: Group) -> State:
        # PyTorch's numbers are with the parameter in any case.
        numbers = {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}
        return {**{name: tensor(value, dtype=_dtypes.float32, device=param.device) for name, value in numbers.items()},
                "ax": zeros_like(param)}

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return group["lambd"], group["alpha"], group["t0"]

    def _count(self, state: State, group: Group) -> None:
        self._scalars(state, group)

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        step, lambd, lr = count(state), group["lambd"], float(group["lr"])
        rate, share = state["eta"].item(), state["mu"].item()
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
        return (rate, 1 - lambd * rate, share), {"weight_decay": group["weight_decay"], "averages": share != 1}


def asgd(params: Tensors, grads: Tensors, axs: Tensors, mus: Tensors, etas: Tensors, state_steps: Tensors,
         foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
         has_complex: bool = False, *, lambd: float, lr: float, t0: float, alpha: float, weight_decay: float) -> None:
    """A step of `ASGD` with lists of parameters, gradients and the state of each: 'ax', 'mu', 'eta' and 'step', all written in
    place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.asgd.asgd([w], [lucid.ones(1)], [lucid.zeros(1)], [lucid.ones(1)], [lucid.ones(1)], [step],
    ...     lambd=0.0, lr=0.5, t0=1e6, alpha=0.75, weight_decay=0.0)
    >>> w, step
    (Tensor([0.0], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(ASGD, params, grads, {"ax": axs, "mu": mus, "eta": etas, "step": state_steps},
              differentiable=differentiable, capturable=capturable, lambd=lambd, lr=lr, t0=t0, alpha=alpha,
              weight_decay=weight_decay, maximize=maximize)
