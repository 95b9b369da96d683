"""AdamW: Adam whose weight decay does not pass through the moments."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor
from ._composed import Tensors
from .adam import Adam, adam


class AdamW(Adam):
    """Adam with decoupled weight decay, as `torch.optim.AdamW`. State, options and errors are those of `Adam`.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    >>> (w * 0).sum().backward()
    >>> optimizer.step()
    >>> w.detach()  # 3 * (1 - 0.1 * 0.5)
    Tensor([2.85], requires_grad=False)
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # whatever was loaded, this is AdamW
            group["decoupled_weight_decay"] = True


def adamw(params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, max_exp_avg_sqs: Tensors,
          state_steps: Tensors, foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
          fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
          has_complex: bool = False, *, amsgrad: bool, beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor,
          weight_decay: float, eps: float, maximize: bool) -> None:
    """A step of `AdamW`: `adam` with decoupled weight decay.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.adamw.adamw([w], [lucid.ones(1)], [lucid.zeros(1)], [lucid.zeros(1)], [], [step],
    ...     amsgrad=False, beta1=0.9, beta2=0.5, lr=0.5, weight_decay=0.5, eps=0.0, maximize=False)
    >>> w, step
    (Tensor([0.25], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach, capturable, differentiable, fused,
         grad_scale, found_inf, has_complex, True, amsgrad=amsgrad, beta1=beta1, beta2=beta2, lr=lr, weight_decay=weight_decay,
         eps=eps, maximize=maximize)
