"""Activations and their gradients in formulas."""
from __future__ import annotations

import math

from .arithmetic import square
from .primitives import Array, add, entry, gauss, gt, le, maximum, mul, neg, normal_cdf, sigmoid, sub, where


@entry
def relu(x: Array) -> Array:
    return maximum(x, 0)


@entry
def relu_grad(g: Array, y: Array) -> Array:
    return where(le(y, 0), 0, g)


@entry
def leaky_relu(x: Array, *, slope: float) -> Array:
    return where(gt(x, 0), x, mul(x, slope))


@entry
def sigmoid_grad(g: Array, y: Array) -> Array:
    return mul(g, mul(y, sub(1, y)))


@entry
def tanh_grad(g: Array, y: Array) -> Array:
    return mul(g, sub(1, mul(y, y)))


@entry
def silu(x: Array) -> Array:
    return mul(x, sigmoid(x))


@entry
def silu_grad(g: Array, x: Array) -> Array:
    s = sigmoid(x)
    return mul(g, mul(s, add(1, mul(x, sub(1, s)))))


_TWO_SQRT_2_OVER_PI, _CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def _gelu_argument(x: Array) -> Array:
    return mul(_TWO_SQRT_2_OVER_PI, add(x, mul(_CUBIC, mul(square(x), x))))


@entry
def gelu(x: Array, *, approximate: str) -> Array:
    return mul(x, sigmoid(_gelu_argument(x)) if approximate == "tanh" else normal_cdf(x))


@entry
def gelu_grad(g: Array, x: Array, *, approximate: str) -> Array:
    if approximate == "tanh":
        u = _gelu_argument(x)
        s, rest = sigmoid(u), sigmoid(neg(u))  # 1 - s would cancel
        slope = mul(_TWO_SQRT_2_OVER_PI, add(1, mul(3 * _CUBIC, square(x))))
        return mul(g, add(s, mul(mul(x, mul(s, rest)), slope)))
    return mul(g, add(normal_cdf(x), mul(x, mul(1 / math.sqrt(2 * math.pi), gauss(x)))))
