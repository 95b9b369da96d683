"""`linear` and its gradients in one call: of the input, of the weight and of the bias.

A step of a small transformer spends more time between its operations than in the sums of its biases: what Python needs for an
operation has left the caches while the product before it was computed.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.matmul import matmul as blas

from ..half_precision import HALVES

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any, plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy), from those of `plain`."""
    matmul, total, reshape, conj = (plain[name] for name in ("matmul", "sum", "reshape", "conj"))

    def rows_of(x: Array) -> Array:
        return x if x.ndim == 2 else reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))

    def conjugate(x: Array) -> Array:
        return conj(x) if x.dtype.kind == "c" else x

    def linear(x: Array, weight: Array, bias: Array | None) -> Array:
        """``x @ weight.T + bias`` for `x` of shape (..., in), `weight` (out, in) and `bias` (out,) or None."""
        alike = bias is not None and x.dtype == weight.dtype == bias.dtype
        if alike and xp is np and x.ndim > 1 and x.size and x.dtype not in HALVES:
            bias = np.ascontiguousarray(bias)  # added while the product is written
            if x.ndim == 2:
                return blas.matmul(x, weight.T, bias)
            rows = blas.matmul(rows_of(x), weight.T, bias)
            return rows.reshape(*x.shape[:-1], rows.shape[1])
        result = matmul(x, weight, transpose_b=True)
        if bias is not None:
            result += bias
        return result

    def linear_grad(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool
                    ) -> tuple[Array | None, Array | None, Array | None]:
        """The gradients of `x`, `weight` and bias of `linear` for the upstream gradient `g`.

        That of the weight is computed if `x` is given, that of `x` if `weight` is, the others are None.
        """
        rows, to_x, to_weight, to_bias = rows_of(g), None, None, None
        if weight is not None:
            to_x = matmul(g, conjugate(weight))
        if x is not None and with_bias and xp is np and g.dtype not in HALVES:
            to_weight, to_bias = blas.matmul_and_sums(rows.T, conjugate(rows_of(x)))
        elif x is not None:
            to_weight = matmul(rows, conjugate(rows_of(x)), transpose_a=True)
        if with_bias and to_bias is None:
            to_bias = total(rows, axis=0, keepdims=False)
        return to_x, to_weight, to_bias

    return {"linear": linear, "linear_grad": linear_grad}
