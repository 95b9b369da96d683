"""Robust and likelihood losses of regression."""
from __future__ import annotations

import math

from ....tensor import Tensor
from ..._operands import require_tensor
from ...creation.creation import full_like
from ...elementwise.fused import fused_formula
from ...elementwise.unary import log
from ...elementwise.where import where
from .loss import _reduced, _reduction, _require_losses

__all__ = ()  # functions of nn.functional only


@fused_formula
def _poisson(input: Tensor, target: Tensor, log_input: bool, eps: float) -> Tensor:
    return input.exp() - target * input if log_input else input - target * log(input + eps)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean"
                     ) -> Tensor:
    """The negative log-likelihood of counts `target` under Poisson distributions of rate ``exp(input)``, or `input`.

    With `full`, Stirling's approximation of ``log(target!)`` is added for targets above 1.

    >>> F.poisson_nll_loss(lucid.tensor([0.0, 1.0]), lucid.tensor([1.0, 2.0]))
    Tensor(0.8591, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    require_tensor("poisson_nll_loss", input)
    loss = _poisson(input, target, log_input, eps)
    if full:
        safe = where(target > 1, target, 1.0)
        loss = loss + where(target > 1, safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe), 0.0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """The negative log-likelihood of `target` under normal distributions of mean `input` and variance `var`, at least `eps`.

    `var` has the shape of `input`, or lacks its last dimension, or has 1 there, or is a number. The bound on it does not
    change its gradient. `full` adds the constant. Raises ValueError for other shapes and a negative variance.

    Source: Nix and Weigend, "Estimating the mean and variance of the target probability distribution", 1994.

    >>> F.gaussian_nll_loss(lucid.tensor([0.0, 1.0]), lucid.tensor([1.0, 1.0]), lucid.tensor([1.0, 1.0]))
    Tensor(0.25, requires_grad=False)
    """
    _require_losses("gaussian_nll_loss", input, target)
    variance = var if isinstance(var, Tensor) else full_like(input.detach(), var)
    if (variance < 0).any():
        raise ValueError("var has negative entry/entries")
    if variance.shape != input.shape:
        if input.shape[:-1] == variance.shape:
            variance = variance.unsqueeze(-1)
        elif input.ndim != variance.ndim or [n for m, n in zip(input.shape, variance.shape, strict=True) if m != n] != [1]:
            raise ValueError("var is of incorrect size")
    reduction = _reduction(reduction, None, None)
    # The value is bounded, the gradient passes as if it were not.
    variance = where(variance < eps, eps + (variance - variance.detach()), variance)
    difference = input - target
    loss = 0.5 * (log(variance) + difference * difference / variance)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)
