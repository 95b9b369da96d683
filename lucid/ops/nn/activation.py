"""Activation functions. The fused ones have a gradient operation of their own, whose rule is written with operations
again: so all of them differentiate any number of times.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lucid_kernels import formulas

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.inplace import write
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._independence import with_zero_curvature, zeros_for
from .._methods import register
from .._operands import canonical_dim, promote, require_tensor
from .._out import accepts_out
from ..conversion import imag, real
from ..elementwise.clamp import clip
from ..elementwise.fused import fused_formula, fused_if_large
from ..elementwise.trigonometry import tan
from ..elementwise.unary import exp, expm1, log1p
from ..elementwise.where import where
from ..manipulation.complex import complex

__all__ = ("log_softmax", "relu", "sigmoid", "softmax", "tanh")  # the ones in lucid itself; all are in nn.functional
METHODS = ("relu", "sigmoid", "tanh", "softmax", "log_softmax")
INPLACE_METHODS = ("relu", "sigmoid", "tanh")
SINGLE = (*INPLACE_METHODS, "gelu", "silu", "leaky_relu", "hardtanh", "relu6")


def require_floating(name: str, input: Tensor) -> Tensor:
    """`input` if it is a real floating-point tensor. Raises TypeError or NotImplementedError otherwise."""
    if input.__class__ is not Tensor:
        require_tensor(name, input)
    if not _dtypes.is_floating(input._array.dtype):
        raise NotImplementedError(f'"{name}" not implemented for \'{type_name(input.dtype)}\'')
    return input


# ---- relu, sigmoid, tanh: the gradient needs only the result ---------------------------------------------------------
def _grad_of_step_rule(needs: Any, g: Tensor, y: Tensor) -> Vjp:
    needs_y = needs[1]
    return lambda gg, _: (relu_grad(gg, y), zeros_for(gg) if needs_y else None)


def _sigmoid_grad_rule(needs: Any, g: Tensor, y: Tensor) -> Vjp:
    needs_y = needs[1]
    return lambda gg, _: (_sigmoid_grad(gg, y), gg * g * (1 - 2 * y) if needs_y else None)


def _tanh_grad_rule(needs: Any, g: Tensor, y: Tensor) -> Vjp:
    needs_y = needs[1]
    return lambda gg, _: (_tanh_grad(gg, y), gg * g * y * -2 if needs_y else None)


_relu = single_op("relu", lambda needs, x: lambda g, y: (relu_grad(g, y),), saved_outputs=True)
relu_grad: Op = single_op("relu_grad", _grad_of_step_rule)
# Of what nobody else has: the result may be written to then, as that of max pooling.
relu_that_saves_its_input = single_op("relu", lambda needs, x: lambda g, y: (relu_grad(g, x),))
_sigmoid = single_op("sigmoid", lambda needs, x: lambda g, y: (_sigmoid_grad(g, y),), saved_outputs=True)
_sigmoid_grad: Op = single_op("sigmoid_grad", _sigmoid_grad_rule)
_tanh = single_op("tanh", lambda needs, x: lambda g, y: (_tanh_grad(g, y),), saved_outputs=True)
_tanh_grad: Op = single_op("tanh_grad", _tanh_grad_rule)


# ---- gelu, silu: the gradient needs the argument ---------------------------------------------------------------------
def _gelu_rule(needs: Any, x: Tensor, *, approximate: str) -> Vjp:
    return lambda g, y: (gelu_grad(g, x, approximate=approximate),)


def _gelu_grad_rule(needs: Any, g: Tensor, x: Tensor, *, approximate: str) -> Vjp:
    needs_x = needs[1]
    return lambda gg, y: (gelu_grad(gg, x, approximate=approximate),
                          gg * g * _gelu_curvature(x, approximate) if needs_x else None)


def _gelu_curvature(x: Tensor, approximate: str) -> Tensor:
    """The second derivative of gelu."""
    if approximate == "none":
        # x Phi(x) with Phi' = phi and phi' = -x phi.
        return exp(x * x * -0.5) * (2 - x * x) * (1 / math.sqrt(2 * math.pi))
    # x (1 + t) / 2 with t = tanh(u), u = c (x + a x^3).
    c, a = math.sqrt(2 / math.pi), 0.044715
    t = _tanh(c * (x + a * x * x * x))
    u1, u2 = c * (1 + 3 * a * x * x), 6 * a * c * x
    return (1 - t * t) * (u1 + 0.5 * x * (u2 - 2 * t * u1 * u1))


def _silu_grad_rule(needs: Any, g: Tensor, x: Tensor) -> Vjp:
    needs_x = needs[1]

    def vjp(gg: Tensor, y: Any) -> tuple[Any, Any]:
        if not needs_x:
            return _silu_grad(gg, x), None
        s = _sigmoid(x)
        return _silu_grad(gg, x), gg * g * s * (1 - s) * (2 + x * (1 - 2 * s))

    return vjp


_gelu = single_op("gelu", _gelu_rule)
gelu_grad = single_op("gelu_grad", _gelu_grad_rule)
_silu = single_op("silu", lambda needs, x: lambda g, y: (_silu_grad(g, x),))
_silu_grad: Op = single_op("silu_grad", _silu_grad_rule)


# ---- of lines --------------------------------------------------------------------------------------------------------
@fused_if_large
def _leaky_relu_slope(g: Tensor, x: Tensor, slope: float) -> Tensor:
    return where(x > 0, g, g * slope)


@fused_if_large
def _hardtanh_slope(g: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
    return where((x > low) & (x < high), g, 0.0)


def _leaky_relu_rule(needs: Any, x: Tensor, *, slope: float) -> Vjp:
    return lambda g, y: (with_zero_curvature(_leaky_relu_slope(g, x, slope), x),)


def _hardtanh_rule(needs: Any, x: Tensor, low: Any, high: Any) -> Vjp:
    return lambda g, y: (with_zero_curvature(_hardtanh_slope(g, x, low, high), x), None, None)


_leaky_relu = single_op("leaky_relu", _leaky_relu_rule)
_hardtanh = single_op("clip", _hardtanh_rule)  # whose gradient passes at the bounds


# ---- softmax ---------------------------------------------------------------------------------------------------------
def _softmax_grad_rule(needs: Any, g: Tensor, y: Tensor, *, dim: int) -> Vjp:
    needs_y = needs[1]

    def vjp(gg: Tensor, _: Any) -> tuple[Any, Any]:
        # softmax_grad is y (g - sum(g y)).
        dy = None
        if needs_y:
            dy = gg * (g - (g * y).sum(dim, keepdim=True)) - g * (gg * y).sum(dim, keepdim=True)
        return _softmax_grad(gg, y, dim=dim), dy

    return vjp


def _log_softmax_grad_rule(needs: Any, g: Tensor, y: Tensor, *, dim: int) -> Vjp:
    needs_y = needs[1]

    def vjp(gg: Tensor, _: Any) -> tuple[Any, Any]:
        # log_softmax_grad is g - exp(y) sum(g).
        weighted = gg * exp(y)
        dy = -weighted * g.sum(dim, keepdim=True) if needs_y else None
        return gg - weighted.sum(dim, keepdim=True), dy

    return vjp


_softmax = single_op("softmax", lambda needs, x, *, dim: lambda g, y: (_softmax_grad(g, y, dim=dim),), saved_outputs=True)
_softmax_grad: Op = single_op("softmax_grad", _softmax_grad_rule)
_log_softmax = single_op("log_softmax", lambda needs, x, *, dim: lambda g, y: (_log_softmax_grad(g, y, dim=dim),),
                       saved_outputs=True)
_log_softmax_grad: Op = single_op("log_softmax_grad", _log_softmax_grad_rule)


def _along(op: Any, input: Tensor, dim: int, dtype: Any) -> Tensor:
    if dtype is not None:
        input = require_tensor(op.name, input).to(dtype=dtype)
    ndim = require_floating(op.name, input)._array.ndim
    dim = canonical_dim(dim, ndim)
    if ndim == 0:
        return op(input.reshape(1), dim=0).reshape(())
    return op(input, dim=dim)


def log_softmax_grad(g: Tensor, y: Tensor, dim: int) -> Tensor:
    """The gradient of `log_softmax` from its result; for losses that contain one."""
    return _log_softmax_grad(g, y, dim=dim)


# ---- public functions --------------------------------------------------------------------------------------------------
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``, of any shape and real dtype; NaN stays NaN. The gradient at 0 is 0.

    Raises RuntimeError for bool and NotImplementedError for complex tensors.

    >>> F.relu(lucid.tensor([-1.0, 0.0, 2.0]))
    Tensor([0.0, 0.0, 2.0], requires_grad=False)
    """
    dtype = require_tensor("relu", input)._array.dtype
    if dtype.kind in "fV":
        return _relu(input)
    if dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if dtype.kind == "c":
        raise NotImplementedError("relu is not supported for complex types")
    return clip(input, min=0)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input * Phi(input)`` with the normal distribution function Phi, exact or (`approximate='tanh'`) by tanh.

    Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016. Raises RuntimeError for another `approximate` and
    NotImplementedError for a dtype that is not floating.

    >>> F.gelu(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.1587,  0.0000,  0.8413], requires_grad=False)
    >>> F.gelu(lucid.tensor([-1.0, 0.0, 1.0]), approximate="tanh")
    Tensor([-0.1588,  0.0000,  0.8412], requires_grad=False)
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu(require_floating("gelu", input), approximate=approximate)


@accepts_out(castable=True)
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``. Integers become the default float dtype.

    >>> lucid.sigmoid(lucid.tensor([-1.0, 0.0, 100.0]))
    Tensor([0.2689, 0.5000, 1.0000], requires_grad=False)
    """
    kind = require_tensor("sigmoid", input)._array.dtype.kind
    if kind == "c":
        half = complex(real(input) * 0.5, imag(input) * 0.5)  # times a complex number infinities become NaN
        return (tanh(half) + 1) * 0.5
    return _sigmoid(input.to(_dtypes.get_default_dtype()) if kind in "biu" else input)


@accepts_out(castable=True)
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent. Integers become the default float dtype.

    >>> lucid.tanh(lucid.tensor([-1.0, 0.0, 100.0]))
    Tensor([-0.7616,  0.0000,  1.0000], requires_grad=False)
    """
    kind = require_tensor("tanh", input)._array.dtype.kind
    if kind == "c":
        turned = tan(complex(-imag(input), real(input)))  # tanh z = -i tan(i z)
        return complex(imag(turned), -real(turned))
    return _tanh(input.to(_dtypes.get_default_dtype()) if kind in "biu" else input)


def silu(input: Tensor) -> Tensor:
    """``input * sigmoid(input)``, also called swish. Raises NotImplementedError for integers and bools.

    Source: Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units", 2017.
    """
    if require_tensor("silu", input)._array.dtype.kind == "c":
        result: Tensor = formulas.silu(input)
        return result
    return _silu(require_floating("silu", input))


@accepts_out
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along `dim`, of any shape; converted to `dtype` first if it is given.

    Raises IndexError for a dimension that does not exist and NotImplementedError for a dtype that is not floating.

    >>> F.softmax(lucid.tensor([[0.0, 0.0], [0.0, 1.0]]), dim=1)
    Tensor([[0.5000, 0.5000],
            [0.2689, 0.7311]], requires_grad=False)
    """
    return _along(_softmax, input, dim, dtype)


@accepts_out
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed without overflow. Arguments and errors as there.

    >>> F.log_softmax(lucid.tensor([0.0, 0.0, 1.0]), dim=0)
    Tensor([-1.5514, -1.5514, -0.5514], requires_grad=False)
    """
    return _along(_log_softmax, input, dim, dtype)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`input` where it is positive, else ``negative_slope * input``."""
    return _leaky_relu(require_floating("leaky_relu", input), slope=_dtypes.number(negative_slope))


@fused_formula
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`input` where it is positive, else ``alpha * (exp(input) - 1)``.

    Source: Clevert, Unterthiner and Hochreiter, "Exponential Linear Units", 2015.
    """
    require_floating("elu", input)
    positive = input > 0  # not of NaN, whose gradient is NaN
    # An overflow in the branch not taken would make its gradient NaN.
    return where(positive, input, expm1(where(positive, 0.0, input)) * alpha)


@fused_formula
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; `input` itself where ``beta * input > threshold``.

    >>> F.softplus(lucid.tensor([-1.0, 0.0, 100.0]))
    Tensor([  0.3133,   0.6931, 100.0000], requires_grad=False)
    """
    require_floating("softplus", input)
    scaled = input if beta == 1 else input * beta
    linear = scaled > threshold
    # Not clip(): its gradient is 0 where the input is NaN.
    curve = log1p(exp(where(linear, 0.0, scaled)))
    return where(linear, input, curve if beta == 1 else curve / beta)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`input` moved into [min_val, max_val]; the gradient is 0 at the bounds. Integer tensors get integer bounds.

    Raises ValueError if ``min_val > max_val``, RuntimeError for bool tensors and for negative bounds of unsigned ones, and
    NotImplementedError for complex tensors.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    kind = require_tensor("hardtanh", input)._array.dtype.kind
    if kind == "f" and min_val.__class__ is max_val.__class__ is float:
        return _hardtanh(input, min_val, max_val)  # as it comes out below, after as much time again
    if kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
    if kind == "u" and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _hardtanh(*promote("hardtanh", input, min_val, max_val))


def relu6(input: Tensor) -> Tensor:
    """`hardtanh` between 0 and 6."""
    return hardtanh(input, 0.0, 6.0)


@fused_formula
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, computed without overflow or cancellation.

    >>> F.logsigmoid(lucid.tensor([-1000.0, 0.0]))
    Tensor([-1000.0000,    -0.6931], requires_grad=False)
    """
    require_floating("logsigmoid", input)
    # Not abs(): its derivative is 0 at 0, which would make all higher derivatives wrong there.
    negative = input < 0
    return where(negative, input, 0.0) - log1p(exp(where(negative, input, -input)))


@fused_formula
def _mish(x: Tensor) -> Tensor:
    return x * tanh(softplus(x))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``. Source: Misra, "Mish", 2019.

    >>> F.mish(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.3034,  0.0000,  0.8651], requires_grad=False)
    """
    require_floating("mish", input)
    return apply(_mish, input, inplace)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``. As one formula it would save its input, which may be written to.

    >>> F.tanhshrink(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.2384,  0.0000,  0.2384], requires_grad=False)
    """
    return input - tanh(require_tensor("tanhshrink", input))


@fused_formula
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``.

    >>> F.softsign(lucid.tensor([-1.0, 0.0, 3.0]))
    Tensor([-0.50,  0.00,  0.75], requires_grad=False)
    """
    return input / (require_tensor("softsign", input).abs() + 1)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of `input` along `dim` times the sigmoid of the second. RuntimeError for an odd length.

    Source: Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2017.

    >>> F.glu(lucid.tensor([1.0, 2.0, 0.0, 100.0]))
    Tensor([0.5, 2.0], requires_grad=False)
    """
    require_floating("glu", input)
    if input._array.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    length = input.size(dim)
    if length % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input._array.ndim} is size {length}")
    return _gated(*input.chunk(2, dim))


@fused_if_large
def _gated(input: Tensor, gate: Tensor) -> Tensor:
    return input * sigmoid(gate)


def apply(function: Callable[[Tensor], Tensor], input: Tensor, inplace: bool) -> Tensor:
    return write(input, function) if inplace else function(input)


register(__name__)
