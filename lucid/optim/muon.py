"""Muon: momentum whose matrix is made orthogonal before the step."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import _dtypes
from ..ops.creation.creation import zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, check_lr
from .optimizer import Group

Coefficients = tuple[float, float, float]


class Muon(ComposedOptimizer):
    """Muon, as `torch.optim.Muon`, for matrices; biases and embeddings belong to another optimizer. State: 'momentum_buffer'.

    The Newton-Schulz iteration rounds its matrices to bfloat16, as PyTorch's; `ns_coefficients` and `ns_steps` are its own.
    `adjust_lr_fn` makes the steps of matrices of all shapes alike: 'original' (None) or 'match_rms_adamw'.

    Source: Jordan, "Muon: An optimizer for hidden layers in neural networks", 2024. Raises ValueError for options out of range
    and parameters that are no matrices, and RuntimeError, at the step, for complex ones.

    >>> w = nn.Parameter(lucid.ones(2, 3))
    >>> optimizer = lucid.optim.Muon([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    _elementwise_state = ("momentum_buffer",)

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: Coefficients = (3.4445, -4.775, 2.0315), eps: float = 1e-7,
                 ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError("Muon only supports 2D parameters whereas we found a parameter with size: "
                                     f"{param.shape}")

    def _begin(self, param: Tensor, group: Group) -> State:
        return {"momentum_buffer": zeros_like(param)}

    def _update_parts(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        raise RuntimeError("Muon does not support complex parameters")

    def _update(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, momentum = float(group["lr"]), group["momentum"]
        buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = param.shape
        shape = 0.2 * math.sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else (
            math.sqrt(max(1, rows / columns)) if columns else 1.0)
        param.mul_(1 - lr * group["weight_decay"])
        param.sub_(update.to(param.dtype), alpha=lr * shape)


def _orthogonal(x: Tensor, coefficients: Coefficients, steps: int, eps: float) -> Tensor:
    """About the nearest matrix with orthonormal rows (columns if there are more rows), by a Newton-Schulz iteration.

    Products are computed in float32 and rounded to bfloat16 once. Raises ValueError for 100 steps and more, or another number
    of coefficients than three.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients

    def rounded(y: Tensor) -> Tensor:
        return y.to(_dtypes.bfloat16).to(_dtypes.float32)

    tall = x.shape[0] > x.shape[1]
    y = rounded(x.T if tall else x)
    y = rounded(y / rounded((y * y).sum().sqrt()).clamp(min=eps))
    for _ in range(steps):
        gram = rounded(y @ y.T)
        y = rounded(a * y + rounded(b * gram + c * (gram @ gram)) @ y)
    return y.T if tall else y
