"""`linear` and its gradients in one call: of the input, of the weight and of the bias.

A step of a small transformer spends more time between its operations than in the sums of its biases: what Python needs for an
operation has left the caches while the product before it was computed.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Array = Any
Kernel = Callable[..., Any]


def rows_of(x: Array, reshape: Kernel) -> Array:
    """`x` as a matrix of its rows."""
    return x if x.ndim == 2 else reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))


def conjugate(x: Array) -> Array:
    """The complex conjugate; `x` itself where it is real."""
    return x.conj() if x.dtype.kind == "c" else x


def add_in_place(result: Array, bias: Array) -> Array:
    """`result`, to whose rows `bias` has been added."""
    result += bias
    return result


def table(matmul: Kernel, total: Kernel, rows_of: Kernel, add: Kernel = add_in_place) -> dict[str, Kernel]:
    """The operations, of the operations `matmul` and `sum` of a backend, what makes one matrix of the rows of a stack, and what
    adds a bias in place.
    """

    def linear(x: Array, weight: Array, bias: Array | None) -> Array:
        """``x @ weight.T + bias`` for `x` of shape (..., in), `weight` (out, in) and `bias` (out,) or None."""
        result = matmul(x, weight, transpose_b=True)
        return result if bias is None else add(result, bias)

    def linear_grad(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool
                    ) -> tuple[Array | None, Array | None, Array | None]:
        """The gradients of `x`, `weight` and bias of `linear` for the upstream gradient `g`.

        That of the weight is computed if `x` is given, that of `x` if `weight` is, the others are None.
        """
        rows = rows_of(g)
        to_x = None if weight is None else matmul(g, conjugate(weight))
        to_weight = None if x is None else matmul(rows, conjugate(rows_of(x)), transpose_a=True)
        return to_x, to_weight, total(rows, axis=0, keepdims=False) if with_bias else None

    return {"linear": linear, "linear_grad": linear_grad}


def activated(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """`linear` with an activation, and with one between two layers, of the operations of a backend by the time of a call.

    GELU is its approximation by tanh.
    """

    def linear_relu(x: Array, weight: Array, bias: Array) -> Array:
        """ReLU of `linear`."""
        return entries["relu"](entries["linear"](x, weight, bias))

    def linear_gelu(x: Array, weight: Array, bias: Array, *, keep: bool) -> tuple[Array, Array | None]:
        """GELU of `linear`, and its argument, or None without `keep`."""
        before = entries["linear"](x, weight, bias)
        return entries["gelu"](before, approximate="tanh"), before if keep else None

    def perceptron_relu(x: Array, weight: Array, bias: Array, weight2: Array, bias2: Array, *, keep: bool
                        ) -> tuple[Array, Array | None, Array | None]:
        """`linear` of ReLU of `linear`; with `keep` also the result of ReLU, and what else `perceptron_grad` takes, or None."""
        hidden = entries["linear_relu"](x, weight, bias)
        return entries["linear"](hidden, weight2, bias2), hidden if keep else None, None

    def perceptron_gelu(x: Array, weight: Array, bias: Array, weight2: Array, bias2: Array, *, keep: bool
                        ) -> tuple[Array, Array | None, Array | None]:
        """`linear` of GELU of `linear`; with `keep` also the result of GELU and its argument."""
        hidden, before = entries["linear_gelu"](x, weight, bias, keep=keep)
        return entries["linear"](hidden, weight2, bias2), hidden if keep else None, before

    def perceptron_grad(g: Array, x: Array, hidden: Array, kept: Array | None, weight: Array, weight2: Array, *, activation: str,
                        needs: tuple[bool, ...]) -> tuple[Array | None, ...]:
        """The gradients of the five arguments of `perceptron_relu` or `perceptron_gelu` that are in `needs`."""
        needs_x, needs_weight, needs_bias, needs_weight2, needs_bias2 = needs
        linear_grad = entries["linear_grad"]
        to_hidden, to_weight2, to_bias2 = linear_grad(g, hidden if needs_weight2 else None, weight2, with_bias=needs_bias2)
        if activation == "relu":
            passed = entries["relu_grad"](to_hidden, hidden)
        else:
            passed = entries["gelu_grad"](to_hidden, kept, approximate="tanh")
        first = linear_grad(passed, x if needs_weight else None, weight if needs_x else None, with_bias=needs_bias)
        return *first, to_weight2, to_bias2

    return {"linear_relu": linear_relu, "linear_gelu": linear_gelu, "perceptron_relu": perceptron_relu,
            "perceptron_gelu": perceptron_gelu, "perceptron_grad": perceptron_grad}
