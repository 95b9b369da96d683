"""What the relatives of Adam have in common: their options and the running averages of the gradient and of its square."""
from __future__ import annotations

from ..tensor import Tensor
from ._composed import check_lr, check_not_negative, decayed


def check_options(lr: float | Tensor, betas: tuple[float, float], eps: float, weight_decay: float) -> None:
    """Raise ValueError that names the first option out of range: decay rates are in [0, 1), the others not negative."""
    check_lr(lr)
    check_not_negative(eps=eps)
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
    check_not_negative(weight_decay=weight_decay)


def average(grad: Tensor, param: Tensor, mean: Tensor, square: Tensor, keep: float, *, betas: tuple[float, float],
            weight_decay: float, decoupled_weight_decay: bool) -> Tensor:
    """Take the gradient into the averages `mean` and `square`, in place; the gradient that they got. All have one shape.

    Weights decay before: `param` becomes its part `keep` if that is decoupled, else the gradient gets the L2 penalty.
    """
    if not decoupled_weight_decay:
        grad = decayed(grad, param, weight_decay)
    elif weight_decay != 0:
        param.mul_(keep)
    mean.lerp_(grad, 1 - betas[0])
    square.mul_(betas[1]).add_((1 - betas[1]) * grad * grad)
    return grad
