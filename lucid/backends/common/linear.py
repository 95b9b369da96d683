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


def table(matmul: Kernel, total: Kernel, reshape: Kernel, add: Kernel = add_in_place) -> dict[str, Kernel]:
    """The operations, of the operations `matmul`, `sum` and `reshape` of a backend, and what adds a bias in place."""

    def linear(x: Array, weight: Array, bias: Array | None) -> Array:
        """``x @ weight.T + bias`` for `x` of shape (..., in), `weight` (out, in) and `bias` (out,) or None."""
        result = matmul(x, weight, transpose_b=True)
        return result if bias is None else add(result, bias)

    def linear_grad(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool
                    ) -> tuple[Array | None, Array | None, Array | None]:
        """The gradients of `x`, `weight` and bias of `linear` for the upstream gradient `g`.

        That of the weight is computed if `x` is given, that of `x` if `weight` is, the others are None.
        """
        rows = rows_of(g, reshape)
        to_x = None if weight is None else matmul(g, conjugate(weight))
        to_weight = None if x is None else matmul(rows, conjugate(rows_of(x, reshape)), transpose_a=True)
        return to_x, to_weight, total(rows, axis=0, keepdims=False) if with_bias else None

    return {"linear": linear, "linear_grad": linear_grad}
