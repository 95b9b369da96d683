"""The gradients of `linear`, in one call: of the input, of the weight and of the bias.

A step of a small transformer spends more time between its operations than in the sums of its biases: what Python needs for an
operation has left the caches while the product before it was computed.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Array = Any
Kernel = Callable[..., Any]


def table(plain: dict[str, Kernel], product_and_sums: Kernel | None = None) -> dict[str, Kernel]:
    """`linear_grad` from the operations of `plain`.

    ``product_and_sums(a, b)`` is the product of two matrices and, or None, the sums of the rows of `a`.
    """
    matmul, total, reshape, conj = (plain[name] for name in ("matmul", "sum", "reshape", "conj"))

    def rows_of(x: Array) -> Array:
        return x if x.ndim == 2 else reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))

    def conjugate(x: Array) -> Array:
        return conj(x) if x.dtype.kind == "c" else x

    def linear_grad(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool
                    ) -> tuple[Array | None, Array | None, Array | None]:
        """The gradients of `x`, `weight` and bias of `linear` for the upstream gradient `g`.

        That of the weight is computed if `x` is given, that of `x` if `weight` is, the others are None.
        """
        rows, to_x, to_weight, to_bias = rows_of(g), None, None, None
        if weight is not None:
            to_x = matmul(g, conjugate(weight))
        if x is not None and with_bias and product_and_sums is not None:
            to_weight, to_bias = product_and_sums(rows.T, conjugate(rows_of(x)))
        elif x is not None:
            to_weight = matmul(rows, conjugate(rows_of(x)), transpose_a=True)
        if with_bias and to_bias is None:
            to_bias = total(rows, axis=0, keepdims=False)
        return to_x, to_weight, to_bias

    return {"linear_grad": linear_grad}
