"""Numbers from gamma and Dirichlet distributions, with gradients for their parameters: the numbers move as their
probabilities stay.

Source: Figurnov, Mohamed & Mnih, "Implicit Reparameterization Gradients", 2018.
"""
from __future__ import annotations

from typing import Any, NoReturn

from ... import _dtypes, _random
from ..._limits import finfo
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...autograd.function import Function, once_differentiable
from ...autograd.op import Op
from ...tensor import Tensor
from .._operands import require_tensor
from ..manipulation.broadcasting import broadcast_tensors
from ..reduction.reduction import logsumexp
from .random_numbers import at_least_single, take_counters


def _once(name: str) -> Any:
    """The rule of a slope, which has no derivative of its own."""
    def rule(needs: Any, *inputs: Tensor) -> Any:
        def vjp(g: Tensor, y: Any) -> NoReturn:
            raise NotImplementedError(f"the derivative for '{name}' is not implemented: numbers are differentiable once")

        return vjp

    return rule


_gamma_slope: Op = operation("standard_gamma_grad", _once("standard_gamma_grad"))
_dirichlet_slope: Op = operation("dirichlet_grad", _once("dirichlet_grad"))
_gamma: Op = operation("random_gamma", lambda needs, shape, **draw: lambda g, y: (g * _gamma_slope(shape, y),),
                       saved_outputs=True)


def _draw(shape: Tensor, generator: Any) -> dict[str, int]:
    return take_counters(generator, shape.numel(), 1, shape.device)


def _require_real(name: str, parameters: Tensor) -> None:
    if not _dtypes.is_floating(require_tensor(name, parameters).dtype):
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(parameters.dtype)}'")


def standard_gamma(input: Tensor, generator: _random.Generator | None = None) -> Tensor:
    """Numbers from the gamma distributions of rate 1 whose shapes the elements of `input` are; differentiable once.

    They are at least the smallest normal number of the dtype. Raises NotImplementedError for integers.
    """
    _require_real("gamma_cpu", input)
    return _gamma(input, **_draw(input, generator))


def standard_gamma_grad(input: Tensor, sample: Tensor) -> Tensor:
    """The derivatives of numbers from gamma distributions of rate 1 by the shapes `input`."""
    return _gamma_slope(*broadcast_tensors(input, sample))


def dirichlet_grad(x: Tensor, concentration: Tensor, total: Tensor) -> Tensor:
    """The derivatives of beta numbers `x` by `concentration`, divided by ``1 - x``; the other parameter is ``total -
    concentration``.
    """
    return _dirichlet_slope(*broadcast_tensors(x, concentration, total))


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor, generator: Any) -> Tensor:
        # Of logarithms, as all numbers of small shapes would underflow; in half precision too few are left of them.
        wide = concentration.to(at_least_single(concentration.dtype))
        limits = finfo(wide.dtype)
        logarithms = _gamma(wide, **_draw(wide, generator), log=True)
        numbers = (logarithms - logsumexp(logarithms, -1, keepdim=True)).exp().clamp(limits.tiny, 1 - limits.eps / 2)
        numbers = numbers.to(concentration.dtype)
        ctx.save_for_backward(numbers, concentration)
        return numbers

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        numbers, concentration = ctx.saved_tensors
        slopes = dirichlet_grad(numbers, concentration, concentration.sum(-1, keepdim=True))
        return slopes * (g - (numbers * g).sum(-1, keepdim=True)), None


def dirichlet(concentration: Tensor, generator: _random.Generator | None = None) -> Tensor:
    """Vectors from the Dirichlet distributions whose parameters are the last dimension of `concentration`; differentiable
    once.
    """
    _require_real("dirichlet", concentration)
    result: Tensor = _Dirichlet.apply(concentration, generator)
    return result
