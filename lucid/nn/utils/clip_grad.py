"""Limits on gradients, applied in place between `backward()` and the step of the optimizer."""
from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from types import GeneratorType

from ...autograd.grad_mode import no_grad
from ...ops.creation import tensor
from ...ops.shape import stack
from ...tensor import Tensor


def _listed(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _norm(values: Tensor, norm_type: float) -> Tensor:
    """The norm of all elements of `values`."""
    size = values.abs()
    if norm_type == math.inf:
        return size.max()
    if norm_type == -math.inf:
        return size.min()
    if norm_type == 0:
        return (size != 0).sum().to(values.dtype)
    if norm_type == 2:
        return (size * size).sum().sqrt()
    return (size**norm_type).sum() ** (1.0 / norm_type)


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """Scale the gradients of `parameters` down so that their norm, taken together, is at most `max_norm`.

    Returns the norm before, a 0-d tensor. Raises RuntimeError for a norm that is NaN or infinite with `error_if_nonfinite`.
    `foreach` is accepted for PyTorch's sake.
    """
    listed = _listed(parameters)
    if not listed and isinstance(parameters, GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    gradients = [p.grad for p in listed if p.grad is not None]
    if not gradients:
        return tensor(0.0)
    with no_grad():
        kind = float(norm_type)
        device = gradients[0].device
        total = _norm(stack([_norm(g, kind).to(device) for g in gradients]), kind)
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(f"The total norm of order {kind} for gradients from `parameters` is non-finite, so it cannot be "
                               "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                               "`error_if_nonfinite=False`")
        # Multiplying by 1 where nothing is to be clipped spares the wait for the norm on a GPU.
        factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of the gradients of `parameters` to [-clip_value, clip_value]."""
    limit = float(clip_value)
    with no_grad():
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.clamp_(min=-limit, max=limit)
