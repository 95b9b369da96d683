"""The product of matrices and `linear` on the CPU, by our kernels."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from lucid_kernels.cpu.matmul import matmul as kernels

from ..common import linear as common_linear
from ..common import matmul as common_matmul
from ..half_precision import HALVES, wide
from ..merge import merge
from ..sizes import LARGE
from .copies import reshape
from .reduction.sums import sum

Array = Any
Kernel = Callable[..., Any]


def _product(a: Array, b: Array) -> Array:
    if a.dtype in HALVES:  # BLAS has none of them, and sums belong in float32
        return kernels.matmul(wide(a), wide(b)).astype(a.dtype)
    return kernels.matmul(a, b)


_matmul = common_matmul.table(_product, LARGE)
_shared = SimpleNamespace(**common_linear.table(_matmul["matmul"], sum, reshape))


def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    """``x @ weight.T + bias`` for `x` of shape (..., in), `weight` (out, in) and `bias` (out,) or None."""
    alike = bias is not None and x.dtype == weight.dtype == bias.dtype
    if not alike or x.ndim < 2 or not x.size or x.dtype in HALVES:
        return _shared.linear(x, weight, bias)
    bias = np.ascontiguousarray(bias)  # added while the product is written
    if x.ndim == 2:
        return kernels.matmul(x, weight.T, bias)
    rows = kernels.matmul(common_linear.rows_of(x, reshape), weight.T, bias)
    return rows.reshape(*x.shape[:-1], rows.shape[1])


def linear_grad(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool
                 ) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients of `x`, `weight` and bias of `linear` for the upstream gradient `g`; that of the bias with the product."""
    if x is None or not with_bias or g.dtype in HALVES:
        return _shared.linear_grad(g, x, weight, with_bias=with_bias)
    to_x = None if weight is None else _matmul["matmul"](g, common_linear.conjugate(weight))
    rows, inputs = common_linear.rows_of(g, reshape), common_linear.rows_of(x, reshape)
    to_weight, to_bias = kernels.matmul_and_sums(rows.T, common_linear.conjugate(inputs))
    return to_x, to_weight, sum(rows, axis=0, keepdims=False) if to_bias is None else to_bias


def _linear_of(x: Array, weight: Array, bias: Array | None) -> Kernel | None:
    """What `linear` does for small matrices of these layouts, without a look at them."""
    if bias is None or not x.dtype == weight.dtype == bias.dtype or x.ndim != 2 or not bias.flags.c_contiguous or (
            not kernels.are_small(x, weight.T)):
        return None
    multiply = np.matmul

    def linear_of(x: Array, weight: Array, bias: Array) -> Array:
        result = multiply(x, weight.T)
        result += bias
        return result

    return linear_of


def _linear_grad_of(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool) -> Kernel | None:
    """The same of `linear_grad`."""
    if x is None or weight is None or not with_bias or not g.dtype == x.dtype == weight.dtype or g.ndim != 2 or x.ndim != 2 or (
            not (kernels.are_small(g, weight) and kernels.are_small(g.T, x))):
        return None
    multiply = np.matmul

    def linear_grad_of(g: Array, x: Array, weight: Array, *, with_bias: bool) -> tuple[Array, Array, Array]:
        return multiply(g, weight), multiply(g.T, x), sum(g, axis=0, keepdims=False)

    return linear_grad_of


linear.direct = _linear_of  # type: ignore[attr-defined]
linear_grad.direct = _linear_grad_of  # type: ignore[attr-defined]
TABLE: dict[str, Kernel] = merge(_matmul, {"linear": linear, "linear_grad": linear_grad})
