"""NAdam: Adam with Nesterov momentum."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _dtypes
from ..ops.creation.creation import tensor, zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, Tensors, check_not_negative, chosen, count, new_number, take_step
from .adam import check_adam_options, update_moments
from .optimizer import Group


def _move(grad: Tensor, param: Tensor, mean: Tensor, square: Tensor, correction: float, rate: float, mean_rate: float,
          keep: float, *, betas: tuple[float, float], eps: float, weight_decay: float, decoupled_weight_decay: bool) -> None:
    grad = update_moments(grad, param, mean, square, keep, betas=betas, weight_decay=weight_decay,
                          decoupled_weight_decay=decoupled_weight_decay)
    root = (square / correction).sqrt() + eps
    param.sub_(grad / root * rate)
    param.sub_(mean / root * mean_rate)


class NAdam(ComposedOptimizer):
    """NAdam, as `torch.optim.NAdam`. State: 'step', 'mu_product' (of the momenta so far, a 0-d float32 tensor), 'exp_avg' and
    'exp_avg_sq'.

    Source: Dozat, "Incorporating Nesterov Momentum into Adam", 2016. Raises ValueError for options out of range.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.NAdam([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> bool(w < 3)
    True
    """

    _elementwise_state = ("exp_avg", "exp_avg_sq")
    _move = staticmethod(_move)
    _rule = "NAdam"
    _numbers = ("step", "mu_product")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check_adam_options(lr, betas, eps, weight_decay)
        check_not_negative(momentum_decay=momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for param in group["params"]:
                entries = self.state.get(param)
                if entries and not isinstance(entries["mu_product"], Tensor):
                    entries["mu_product"] = tensor(entries["mu_product"], dtype=_dtypes.float32, device="cpu")

    def _begin(self, param: Tensor, group: Group) -> State:
        return {"step": new_number(param, group), "mu_product": new_number(param, group, 1.0),
                "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return (*group["betas"], group["eps"], group["decoupled_weight_decay"], group["momentum_decay"])

    def _count(self, state: State, group: Group) -> None:
        self._scalars(state, group)

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        step, (beta1, beta2), lr = count(state), group["betas"], float(group["lr"])
        now, following = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        product = state["mu_product"].mul_(now).item()
        scalars = (1 - beta2**step, lr * (1 - now) / (1 - product), lr * following / (1 - product * following),
                   1 - lr * group["weight_decay"])
        return scalars, chosen(group, "betas", "eps", "weight_decay", "decoupled_weight_decay")


def nadam(params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, mu_products: Tensors,
          state_steps: Tensors, decoupled_weight_decay: bool = False, foreach: bool | None = None, capturable: bool = False,
          differentiable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float,
          lr: float, weight_decay: float, momentum_decay: float, eps: float) -> None:
    """A step of `NAdam` with lists of parameters, gradients and the state of each: 'exp_avg', 'exp_avg_sq', 'mu_product' and
    'step', all written in place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.nadam.nadam([w], [lucid.ones(1)], [lucid.zeros(1)], [lucid.zeros(1)], [lucid.ones(1)], [step],
    ...     beta1=0.9, beta2=0.5, lr=0.5, weight_decay=0.0, momentum_decay=0.0, eps=0.0)
    >>> w, step
    (Tensor([0.4718], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(NAdam, params, grads,
              {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "mu_product": mu_products, "step": state_steps},
              differentiable=differentiable, capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
              betas=(beta1, beta2), lr=lr, weight_decay=weight_decay, momentum_decay=momentum_decay, eps=eps,
              maximize=maximize)
