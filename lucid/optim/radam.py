"""RAdam: Adam that first takes plain steps, until the variance of its step sizes is known to be small."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation import zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, check_betas, check_lr, check_not_negative, count, decayed, new_step
from .optimizer import Group


class RAdam(ComposedOptimizer):
    """Rectified Adam, as `torch.optim.RAdam`. State: 'step', 'exp_avg' and 'exp_avg_sq'.

    Source: Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020. Raises ValueError for options out
    of range.
    """

    _elementwise_state = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    def _begin(self, param: Tensor, group: Group) -> State:
        return {"step": new_step(), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    def _update(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        step, (beta1, beta2), lr = count(state), group["betas"], float(group["lr"])
        if not group["decoupled_weight_decay"]:
            grad = decayed(grad, param, group)
        elif group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        mean = state["exp_avg"].lerp_(grad, 1 - beta1) / (1 - beta1**step)
        square = state["exp_avg_sq"].mul_(beta2).add_((1 - beta2) * grad * grad)
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / (1 - beta2**step)  # of the simple average that is as good
        if length > 5:
            rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            mean = mean * (rectified * (1 - beta2**step) ** 0.5 / (square.sqrt() + group["eps"]))
        param.sub_(mean, alpha=lr)
