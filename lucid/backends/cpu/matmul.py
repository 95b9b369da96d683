"""The product of matrices and `linear` on the CPU, by our kernels."""
from __future__ import annotations

import functools
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
from .reduction.sums import is_row_by_row, sum

Array = Any
are_small = kernels.are_small
Kernel = Callable[..., Any]


def _product(a: Array, b: Array) -> Array:
    if a.itemsize == 2 and a.dtype in HALVES:  # BLAS has none of them, and sums belong in float32
        return kernels.matmul(wide(a), wide(b)).astype(a.dtype)
    return kernels.matmul(a, b)


_matmul = common_matmul.table(_product, LARGE)
_rows_of = functools.partial(common_linear.rows_of, reshape=reshape)
_shared = SimpleNamespace(**common_linear.table(_matmul["matmul"], sum, _rows_of))


def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    """``x @ weight.T + bias`` for `x` of shape (..., in), `weight` (out, in) and `bias` (out,) or None."""
    alike = bias is not None and x.dtype == weight.dtype == bias.dtype
    if not alike or x.ndim < 2 or not x.size or x.dtype in HALVES:
        return _shared.linear(x, weight, bias)
    bias = np.ascontiguousarray(bias)  # added while the product is written
    if x.ndim == 2:
        return kernels.matmul(x, weight.T, bias)
    rows = kernels.matmul(_rows_of(x), weight.T, bias)
    return rows.reshape(*x.shape[:-1], rows.shape[1])


def linear_grad(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool
                 ) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients of `x`, `weight` and bias of `linear` for the upstream gradient `g`; that of the bias with the product."""
    if x is None or not with_bias or g.dtype in HALVES:
        return _shared.linear_grad(g, x, weight, with_bias=with_bias)
    to_x = None if weight is None else _matmul["matmul"](g, common_linear.conjugate(weight))
    rows, inputs = _rows_of(g), _rows_of(x)
    to_weight, to_bias = kernels.matmul_and_sums(rows.T, common_linear.conjugate(inputs))
    return to_x, to_weight, sum(rows, axis=0, keepdims=False) if to_bias is None else to_bias


def _linear_of(x: Array, weight: Array, bias: Array | None) -> Kernel | None:
    """What `linear` does for small matrices of these layouts, without a look at them."""
    if bias is None or not x.dtype == weight.dtype == bias.dtype or x.ndim != 2 or not bias.flags.c_contiguous or (
            not kernels.are_small(x, weight.T)):
        return None

    def linear_of(x: Array, weight: Array, bias: Array) -> Array:
        result = x.dot(weight.T)
        result += bias
        return result

    return linear_of


def _linear_grad_of(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool) -> Kernel | None:
    """The same of `linear_grad`."""
    if x is None or not with_bias or g.dtype != x.dtype or g.ndim != 2 or x.ndim != 2 or not kernels.are_small(g.T, x):
        return None
    if weight is not None and (g.dtype != weight.dtype or not kernels.are_small(g, weight)):
        return None
    to_bias: Kernel = functools.partial(np.add.reduce, axis=0) if is_row_by_row(g) else functools.partial(
        sum, axis=0, keepdims=False)

    def linear_grad_of(g: Array, x: Array, weight: Array | None, *, with_bias: bool) -> tuple[Array | None, Array, Array]:
        return None if weight is None else g.dot(weight), g.T.dot(x), to_bias(g)

    return linear_grad_of


linear.direct = _linear_of  # type: ignore[attr-defined]
linear_grad.direct = _linear_grad_of  # type: ignore[attr-defined]
TABLE: dict[str, Kernel] = merge(_matmul, {"linear": linear, "linear_grad": linear_grad})
