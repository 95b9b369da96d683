"""Activations, their gradients and a few operations of two or three arguments: each is one formula, here.

A formula takes `Node`s and returns one. The CPU loops, the CUDA kernels and `lucid.fuse` are all written from it; the name of a
formula is that of the kernel. Arguments come by position, scalars by name. Gradients take the upstream gradient `g` first, then
what the forward pass saved: `y` where the derivative is simple in the result, else `x`. They stand here, and are not derived,
where that is as exact in fewer operations.

Comparisons are written so that a NaN fails them and passes through.
"""
from __future__ import annotations

import math
from typing import Any

from .expression import Node, as_node, function, where

_DENSITY = 1 / math.sqrt(2 * math.pi)
# gelu 'tanh' is 0.5 x (1 + tanh(u)) = x sigmoid(2u), 2u = 2 sqrt(2/pi) (x + 0.044715 x^3). The sigmoid keeps its digits in
# the lower tail, where 1 + tanh(u) cancels.
_TWO_SQRT_2_OVER_PI = 2 * math.sqrt(2 / math.pi)
_CUBIC = 0.044715

exp = function("exp", "e to the power x.")
exp_nonpositive = function("exp_nonpositive", "e to the power x for x <= 0.")
tanh = function("tanh", "Hyperbolic tangent.")
sigmoid = function("sigmoid", "1 / (1 + exp(-x)).")
normal_cdf = function("normal_cdf", "The normal distribution function.")
gauss = function("gauss", "exp(-x^2 / 2).")


# ---- activations ---------------------------------------------------------------------------------------------------------
def relu(x: Node) -> Node:
    """The larger of `x` and 0; NaN stays NaN."""
    return where(x < 0, 0, x)


def relu_grad(g: Node, y: Node) -> Node:
    """`g` where not `y <= 0`. Where `y` is NaN the gradient passes, as in PyTorch."""
    return where(y <= 0, 0, g)


def leaky_relu(x: Node, *, slope: Any) -> Node:
    """`x` where it is positive, else ``slope * x``."""
    return where(x > 0, x, slope * x)


def sigmoid_grad(g: Node, y: Node) -> Node:
    """g y (1 - y)."""
    return g * (y * (1 - y))


def tanh_grad(g: Node, y: Node) -> Node:
    """g (1 - y^2)."""
    return g * (1 - y * y)


def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    return x * x.sigmoid()


def silu_grad(g: Node, x: Node) -> Node:
    """`g` times the derivative of `silu` at `x`."""
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


def gelu(x: Node) -> Node:
    """`x` times the normal distribution function of `x`."""
    return x * normal_cdf(x)


def gelu_grad(g: Node, x: Node) -> Node:
    """`g` times the derivative of `gelu` at `x`."""
    return g * (normal_cdf(x) + x * (_DENSITY * gauss(x)))


def gelu_tanh(x: Node) -> Node:
    """The usual formula for `gelu`."""
    return x * sigmoid(_TWO_SQRT_2_OVER_PI * (x + _CUBIC * (x * x * x)))


def gelu_tanh_grad(g: Node, x: Node) -> Node:
    """`g` times the derivative of `gelu_tanh` at `x`. 1 - sigmoid would cancel."""
    square = x * x
    argument = _TWO_SQRT_2_OVER_PI * (x + _CUBIC * (square * x))
    slope = _TWO_SQRT_2_OVER_PI * (1 + as_node(3, x) * _CUBIC * square)
    e = exp_nonpositive(-abs(argument))
    upper = 1 / (1 + e)
    lower = e * upper
    return g * (where(argument < 0, lower, upper) + x * (lower * upper) * slope)


# ---- arithmetic ----------------------------------------------------------------------------------------------------------
def add(a: Node, b: Node) -> Node:
    """a + b."""
    return a + b


def sub(a: Node, b: Node) -> Node:
    """a - b."""
    return a - b


def mul(a: Node, b: Node) -> Node:
    """a * b."""
    return a * b


def div(a: Node, b: Node) -> Node:
    """a / b."""
    return a / b


def add_scaled(a: Node, b: Node, *, alpha: Any) -> Node:
    """``a + alpha * b``."""
    return a + alpha * b


def addcmul(x: Node, a: Node, b: Node, *, value: Any) -> Node:
    """``x + value * (a * b)``."""
    return x + value * (a * b)


def addcdiv(x: Node, a: Node, b: Node, *, value: Any) -> Node:
    """``x + value * (a / b)``."""
    return x + value * (a / b)


def lerp_near(x: Node, end: Node, *, weight: Any) -> Node:
    """Between `x` and `end`, from `x`, to which a `weight` below 1/2 is nearer."""
    return x + weight * (end - x)


def lerp_far(x: Node, end: Node, *, rest: Any) -> Node:
    """Between `x` and `end`, from `end`; `rest` is 1 - weight."""
    return end - rest * (end - x)


def lerp_each(x: Node, end: Node, weight: Node) -> Node:
    """`lerp_near` or `lerp_far`, for another weight of each element."""
    return where(abs(weight) < 0.5, lerp_near(x, end, weight=weight), lerp_far(x, end, rest=1 - weight))


def clip(x: Node, *, low: Any, high: Any) -> Node:
    """`x`, moved into [low, high], neither of which is NaN; NaN stays NaN. In this order each choice is one instruction."""
    raised = where(low > x, low, x)
    return where(high < raised, high, raised)


def angle(x: Node) -> Node:
    """Pi where `x` is below 0, else 0; NaN of NaN."""
    return where(x < 0, math.pi, where(x >= 0, 0, x))


# ---- choices: they move bits, whatever those mean --------------------------------------------------------------------------
def select(condition: Node, a: Node, b: Node) -> Node:
    """`a` where `condition`, else `b`."""
    return where(condition, a, b)


def replace(condition: Node, x: Node, *, value: Any) -> Node:
    """`value` where `condition`, else `x`."""
    return where(condition, value, x)


def keep(condition: Node, x: Node, *, value: Any) -> Node:
    """`x` where `condition`, else `value`."""
    return where(condition, x, value)


#: What loops and CUDA kernels of their own are written from, under these names.
ACTIVATIONS = (
    relu, relu_grad, sigmoid, sigmoid_grad, tanh, tanh_grad, silu, silu_grad, gelu, gelu_grad, gelu_tanh, gelu_tanh_grad)
ARITHMETIC = (add, sub, mul, div)
