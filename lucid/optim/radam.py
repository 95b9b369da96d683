"""RAdam: Adam that first takes plain steps, until the variance of its step sizes is known to be small."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, Tensors, chosen, count, new_number, take_step
from .adam import check_adam_options, update_moments
from .optimizer import Group


def _move(grad: Tensor, param: Tensor, mean: Tensor, square: Tensor, rate: float, scale: float, keep: float, *,
          betas: tuple[float, float], eps: float, weight_decay: float, decoupled_weight_decay: bool, rectified: bool) -> None:
    update_moments(grad, param, mean, square, keep, betas=betas, weight_decay=weight_decay,
                   decoupled_weight_decay=decoupled_weight_decay)
    step = mean * rate
    param.sub_(step * (scale / (square.sqrt() + eps)) if rectified else step)


class RAdam(ComposedOptimizer):
    """Rectified Adam, as `torch.optim.RAdam`. State: 'step', 'exp_avg' and 'exp_avg_sq'.

    Source: Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020. Raises ValueError for options out
    of range.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.RAdam([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    Tensor([2.4], requires_grad=False)
    """

    _elementwise_state = ("exp_avg", "exp_avg_sq")
    _move = staticmethod(_move)
    _rule = "RAdam"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_adam_options(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    def _begin(self, param: Tensor, group: Group) -> State:
        return {"step": new_number(param, group), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return (*group["betas"], group["eps"], group["decoupled_weight_decay"])

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        step, (beta1, beta2), lr = count(state), group["betas"], float(group["lr"])
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction  # of the simple average that is as good
        rectified, scale = length > 5, 1.0
        if rectified:
            scale = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length) * correction) ** 0.5
        options = chosen(group, "betas", "eps", "weight_decay", "decoupled_weight_decay")
        return (lr / (1 - beta1**step), scale, 1 - lr * group["weight_decay"]), {**options, "rectified": rectified}


def radam(params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, state_steps: Tensors,
          decoupled_weight_decay: bool = False, foreach: bool | None = None, differentiable: bool = False,
          capturable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float,
          lr: float, weight_decay: float, eps: float) -> None:
    """A step of `RAdam` with lists of parameters, gradients and the state of each: 'exp_avg', 'exp_avg_sq' and 'step', all
    written in place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.radam.radam([w], [lucid.ones(1)], [lucid.zeros(1)], [lucid.zeros(1)], [step],
    ...     beta1=0.9, beta2=0.5, lr=0.5, weight_decay=0.0, eps=0.0)
    >>> w, step
    (Tensor([0.5], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(RAdam, params, grads, {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps},
              differentiable=differentiable, capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
              betas=(beta1, beta2), lr=lr, weight_decay=weight_decay, eps=eps, maximize=maximize)
