"""Limits on gradients, applied in place between `backward()` and the step of the optimizer."""
from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from types import GeneratorType

from ... import _recording
from ...autograd.grad_mode import no_grad
from ...ops.creation.creation import tensor
from ...ops.linalg.vector_norms import vector_norm
from ...ops.manipulation.joining import stack
from ...tensor import Tensor

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: list[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _on(number: Tensor, other: Tensor) -> Tensor:
    """`number` on the device of `other`; `to` takes 3 us to find out that it is there."""
    return number if number._array.device == other._array.device else number.to(other.device)


@no_grad()
def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The norm of order `norm_type` of all elements of `tensors` together: a 0-d tensor on the device of the first, 0.0 for no
    tensors.

    Raises RuntimeError for a norm that is NaN or infinite with `error_if_nonfinite`. `foreach` is accepted for PyTorch's sake.

    >>> nn.utils.get_total_norm([lucid.tensor([3.0]), lucid.tensor([4.0])])
    Tensor(5.0, requires_grad=False)
    """
    order = float(norm_type)
    listed = _listed(tensors)
    if not listed:
        return tensor(0.0)
    total = vector_norm(stack([_on(vector_norm(t, order), listed[0]) for t in listed]), order)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
                           "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale the gradients of `parameters` by ``max_norm / (total_norm + 1e-6)``, or leave them if that is more than 1.

    >>> w = nn.Parameter(lucid.tensor([3.0, 4.0]))
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.clip_grads_with_norm_([w], 1.0, lucid.tensor(5.0))
    >>> w.grad
    Tensor([0.6, 0.8], requires_grad=False)
    """
    gradients = _gradients(_listed(parameters))
    if not gradients:
        return
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    if factor.device == "cpu":  # a number takes a third of the time of a tensor
        number = factor.item()
        for gradient in gradients if number != 1 else ():
            gradient.mul_(number)
    else:  # multiplying by 1 where nothing is to be clipped spares the wait for the norm
        for gradient in gradients:
            gradient.mul_(_on(factor, gradient))


def clip_grad_norm_(parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """Scale the gradients of `parameters` down so that their norm, taken together, is at most `max_norm`.

    Returns the norm before, a 0-d tensor. Raises RuntimeError for a norm that is NaN or infinite with `error_if_nonfinite`.
    `foreach` is accepted for PyTorch's sake.

    >>> w = nn.Parameter(lucid.tensor([3.0, 4.0]))
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.clip_grad_norm_([w], max_norm=1.0)  # the norm before
    Tensor(5.0, requires_grad=False)
    >>> w.grad
    Tensor([0.6, 0.8], requires_grad=False)
    """
    listed = _listed(parameters)
    if not listed and isinstance(parameters, GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    return _clip(listed, max_norm, norm_type, error_if_nonfinite)


@_recording.not_recorded
def _clip(listed: list[Tensor], max_norm: float, norm_type: float, error_if_nonfinite: bool) -> Tensor:
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grad_norm(parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The old name of `clip_grad_norm_`; it warns (FutureWarning).

    >>> w = nn.Parameter(lucid.tensor([3.0, 4.0]))
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.clip_grad_norm([w], max_norm=1.0)
    Tensor(5.0, requires_grad=False)
    >>> w.grad
    Tensor([0.6, 0.8], requires_grad=False)
    """
    warnings.warn("`lucid.nn.utils.clip_grad_norm` is now deprecated in favor of `lucid.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of the gradients of `parameters` to [-clip_value, clip_value].

    Raises RuntimeError if there are no gradients, NotImplementedError for complex ones; nothing is clipped then.

    >>> w = nn.Parameter(lucid.tensor([3.0, -0.5]))
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    Tensor([ 1.0, -0.5], requires_grad=False)
    """
    limit = float(clip_value)
    gradients = _gradients(_listed(parameters))
    if not gradients:
        raise RuntimeError("clip_grad_value_ found no gradients: none of the parameters has one. Call backward() first.")
    if any(gradient.is_complex() for gradient in gradients):
        raise NotImplementedError("clip_grad_value_ is not supported for complex gradients: complex numbers have no order.")
    for gradient in gradients:
        gradient.clamp_(-limit, limit)
