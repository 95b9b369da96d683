"""Robust and likelihood losses of regression."""
from __future__ import annotations

import math

from .... import _dtypes
from ....autograd.errors import type_name
from ....tensor import Tensor
from ..._operands import require_tensor
from ...creation.creation import full_like
from ...elementwise._fused import fused_formula
from ...elementwise.comparison import where
from ...elementwise.unary import log
from ..activation import require_floating
from .loss import _reduced, _reduction, _require_losses, _warn_about_sizes, without_bools

__all__ = ()  # functions of nn.functional only


@fused_formula
def _huber(input: Tensor, target: Tensor, delta: float) -> Tensor:
    difference = require_floating("huber_loss", input - target)
    distance = difference.abs()
    far = distance > delta
    near = where(far, 0.0, difference)  # the square of an infinite one would make the gradient NaN
    return where(far, (distance - 0.5 * delta) * delta, near * near * 0.5)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
               ) -> Tensor:
    """``d ** 2 / 2`` where ``d = |input - target| <= delta``, else ``delta * (d - delta / 2)``.

    Warns if the shapes differ, and broadcasts. Raises RuntimeError for a `delta` that is not positive and for an
    integer or bool `input` with a floating-point target.

    Source: Huber, "Robust Estimation of a Location Parameter", 1964.
    """
    _require_losses("huber_loss", input, target)
    _warn_about_sizes(input, target)
    reduction = _reduction(reduction, None, None)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if _dtypes.is_floating(target.dtype) and not _dtypes.is_floating(input.dtype):
        raise RuntimeError(f"huber_loss: result type {type_name(target.dtype)} can't be cast to the desired output type "
                           f"{type_name(input.dtype)}, that of the input")
    input, target = without_bools("huber_loss", input, target)
    loss = _huber(input, target, delta)
    if weight is None:
        return _reduced(loss, reduction)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return _reduced(loss * weight, reduction)


@fused_formula
def _poisson(input: Tensor, target: Tensor, log_input: bool, eps: float) -> Tensor:
    return input.exp() - target * input if log_input else input - target * log(input + eps)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean"
                     ) -> Tensor:
    """The negative log-likelihood of counts `target` under Poisson distributions of rate ``exp(input)``, or `input`.

    With `full`, Stirling's approximation of ``log(target!)`` is added for targets above 1.
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
