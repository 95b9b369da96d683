"""Activation functions made of pieces, most of them lines; each can be written into its input with `inplace`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.grad_mode import GRAD
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.op import Op, Vjp
from ...tensor import Tensor, wrap
from .._independence import with_zero_curvature
from .._methods import register
from .._operands import require_tensor
from .._out import accepts_out
from ..creation.creation import empty_like
from ..elementwise.clamp import clip
from ..elementwise.fused import fused_formula, fused_if_large
from ..elementwise.where import where
from .activation import apply, elu, leaky_relu, require_floating

METHODS = ("hardshrink", "prelu")

# Klambauer et al., "Self-Normalizing Neural Networks", 2017.
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _of_lines(name: str, formula: Callable[..., Tensor], slope: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function ``formula(x, *arguments)`` with the gradient ``slope(g, x, *arguments)``, whose own one is zeros."""
    slope = fused_if_large(slope)

    def rule(needs: Any, x: Tensor, *, arguments: tuple[Any, ...]) -> Vjp:
        return lambda g, y: (with_zero_curvature(slope(g, x, *arguments), x),)

    op = Op(name, rule)

    def apply(x: Tensor, *arguments: Any) -> Tensor:
        y = formula(wrap(x._array), *arguments)
        flags = grad_mode.get()
        if x._node is not None and flags & GRAD:
            op.record(y, y._array, [x._node], (x,), {"arguments": arguments}, flags)
        return y

    return apply


# ---- the formulas --------------------------------------------------------------------------------------------------------
@fused_formula
def _hardsigmoid(x: Tensor) -> Tensor:
    return where((x > -3) & (x < 3), x / 6 + 0.5, clip(x.detach() / 6 + 0.5, 0.0, 1.0))


@fused_formula
def _hardswish(x: Tensor) -> Tensor:
    low, high = x <= -3, x >= 3
    middle = where(low | high, 0.0, x)  # an infinity in the branch not taken would make its gradient NaN
    return where(low, x.detach() * 0, where(high, x, middle * (middle / 6 + 0.5)))


@fused_formula
def _celu(x: Tensor, alpha: float) -> Tensor:
    positive = x > 0
    return where(positive, x, (where(positive, 0.0, x) / alpha).expm1() * alpha)


@fused_formula
def _selu(x: Tensor) -> Tensor:
    return elu(x, _SELU_ALPHA) * _SELU_SCALE


@fused_formula
def _threshold_formula(x: Tensor, threshold: float, value: float) -> Tensor:
    return where(x <= threshold, value, x)


@fused_formula
def _softshrink_formula(x: Tensor, lambd: float) -> Tensor:
    within = (x >= -lambd) & (x <= lambd)
    return where(within, x * 0, where(x > lambd, x - lambd, x + lambd))


@fused_formula
def _hardshrink_formula(x: Tensor, lambd: float) -> Tensor:
    return where((x >= -lambd) & (x <= lambd), x * 0, x)


def _outside(g: Tensor, x: Tensor, lambd: float) -> Tensor:
    return where((x < -lambd) | (x > lambd), g, 0.0)  # not NaN


@fused_formula
def _prelu(x: Tensor, weight: Tensor) -> Tensor:
    positive = x > 0
    return where(positive, x, where(positive, 0.0, x) * weight)  # an infinity in the branch not taken would make its gradient NaN


@fused_formula
def _rrelu_formula(x: Tensor, slopes: Tensor) -> Tensor:
    return where(x <= 0, x * slopes, x)


_threshold_lines = _of_lines("threshold", _threshold_formula, lambda g, x, threshold, value: where(x <= threshold, 0.0, g))
_softshrink = _of_lines("softshrink", _softshrink_formula, _outside)
_hardshrink = _of_lines("hardshrink", _hardshrink_formula, _outside)
_randomly_sloped = _of_lines("rrelu", _rrelu_formula, lambda g, x, slopes: where(x <= 0, g * slopes, g))


# ---- public functions ----------------------------------------------------------------------------------------------------
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input / 6 + 1 / 2`` moved into [0, 1]; the gradient is 0 at its ends. NotImplementedError for other than floats.

    >>> F.hardsigmoid(lucid.tensor([-4.0, 0.0, 1.5]))
    Tensor([0.00, 0.50, 0.75], requires_grad=False)
    """
    require_floating("hardsigmoid", input)
    return apply(_hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)``. NotImplementedError for other than floats.

    Source: Howard et al., "Searching for MobileNetV3", 2019.

    >>> F.hardswish(lucid.tensor([1.0, 4.0]))
    Tensor([0.6667, 4.0000], requires_grad=False)
    """
    require_floating("hardswish", input)
    return apply(_hardswish, input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else ``alpha * (exp(input / alpha) - 1)``. RuntimeError for an `alpha` of 0.

    Source: Barron, "Continuously Differentiable Exponential Linear Units", 2017.

    >>> F.celu(lucid.tensor([-1.0, 0.0, 1.0]), alpha=0.5)
    Tensor([-0.4323,  0.0000,  1.0000], requires_grad=False)
    """
    require_floating("celu", input)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return apply(lambda x: _celu(x, alpha), input, inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """A scaled `elu` that keeps mean 0 and variance 1.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    >>> F.selu(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-1.1113,  0.0000,  1.0507], requires_grad=False)
    """
    require_floating("selu", input)
    return apply(_selu, input, inplace)


@accepts_out(castable=True)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input` where it is above `threshold`, else `value`. Raises NotImplementedError for bool and complex tensors.

    >>> F.threshold(lucid.tensor([-1.0, 0.5, 2.0]), threshold=1.0, value=0.0)
    Tensor([0.0, 0.0, 2.0], requires_grad=False)
    """
    if require_tensor("threshold", input)._array.dtype.kind in "bc":
        raise NotImplementedError(f"threshold is not implemented for {input.dtype.name}")
    if input._array.dtype.kind not in "fV":
        threshold, value = int(threshold), int(value)
    return apply(lambda x: _threshold_lines(x, threshold, value), input, inplace)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`input` moved towards 0 by `lambd`, and 0 within `lambd` of it. RuntimeError for a negative `lambd`.

    >>> F.softshrink(lucid.tensor([-1.0, 0.3, 0.7]))
    Tensor([-0.5,  0.0,  0.2], requires_grad=False)
    """
    require_floating("softshrink", input)
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _softshrink(input, lambd)


@accepts_out
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`input`, and 0 within `lambd` of 0.

    >>> F.hardshrink(lucid.tensor([-1.0, 0.3, 0.7]))
    Tensor([-1.0,  0.0,  0.7], requires_grad=False)
    """
    require_floating("hardshrink", input)
    return _hardshrink(input, lambd)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where it is positive, else ``weight * input``; `weight` has one element, or one for each channel (dimension 1).

    Raises RuntimeError for other shapes and for dtypes that differ.

    Source: He et al., "Delving Deep into Rectifiers", 2015.

    >>> F.prelu(lucid.tensor([-2.0, 3.0]), lucid.tensor([0.25]))
    Tensor([-0.5,  3.0], requires_grad=False)
    """
    require_floating("prelu", input), require_tensor("prelu", weight)
    if input._array.dtype != weight._array.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    ndim, count = input._array.ndim, weight._array.size
    if weight._array.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._array.ndim}")
    if count != 1:
        if ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input._array.shape[1] if ndim > 1 else 1
        if count != channels:
            raise RuntimeError("Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{count} and channel size = {channels}.")
        weight = weight.reshape(1, -1, *(1,) * (ndim - 2))
    else:
        weight = weight.reshape(())
    return _prelu(input, weight)


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False, *,
          generator: Any = None) -> Tensor:
    """`leaky_relu` with slopes drawn from [lower, upper) in training, and their mean otherwise.

    Source: Xu et al., "Empirical Evaluation of Rectified Activations", 2015.

    >>> F.rrelu(lucid.tensor([-1.0, 2.0]), lower=0.25, upper=0.25)
    Tensor([-0.25,  2.00], requires_grad=False)
    """
    require_floating("rrelu", input)
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return apply(lambda x: leaky_relu(x, (lower + upper) / 2), input, inplace)
    slopes = empty_like(input.detach()).uniform_(lower, upper, generator=generator)
    return apply(lambda x: _randomly_sloped(x, slopes), input, inplace)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu`, written into `input`."""
    return celu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """`selu`, written into `input`."""
    return selu(input, inplace=True)


_threshold = threshold  # the parameter of `threshold_` hides the function


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold`, written into `input`."""
    return _threshold(input, threshold, value, inplace=True)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """`rrelu`, written into `input`."""
    return rrelu(input, lower, upper, training, inplace=True)


register(__name__)
