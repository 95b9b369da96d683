"""`lucid.norm` and what follows from it: `dist`, `norm_except_dim`."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, canonical_dims, is_differentiated, require_tensor
from .._out import accepts_out
from .matrix_norms import matrix_norm
from .vector_norms import norm_of_order

METHODS = ("norm", "dist", "renorm")
INPLACE_METHODS = ("renorm",)


@accepts_out
def norm(input: Tensor, p: float | str | None = "fro", dim: Any = None, keepdim: bool = False,
         dtype: Any = None) -> Tensor:
    """The vector norm of order `p` over `dim`: any number, inf, -inf, or 'fro', which is 2. 'nuc' is the matrix norm over two
    dimensions, the sum of the singular values.

    Raises RuntimeError for integers and bools, for 'nuc' over another number of dimensions, and for no elements where the norm of
    nothing is not defined (`p` inf or < 0).

    >>> lucid.norm(lucid.tensor([[3.0, 4.0], [5.0, 12.0]]), dim=1)
    Tensor([ 5.0, 13.0], requires_grad=False)
    >>> lucid.norm(lucid.tensor([3.0, 4.0]), p=1)
    Tensor(7.0, requires_grad=False)
    """
    if dtype is not None:
        input = input.to(_dtypes.as_dtype(dtype))
    if not _dtypes.is_differentiable(require_tensor("norm", input)._array.dtype):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{type_name(input.dtype)}")
    if p is None or p == "fro":
        p = 2
    elif isinstance(p, str):
        return matrix_norm(input, p, canonical_dims(dim, input._array.ndim), keepdim)
    return norm_of_order(input, p, dim, keepdim)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of order `p` of ``input - other``.

    >>> lucid.dist(lucid.tensor([1.0, 2.0]), lucid.tensor([4.0, 6.0]))
    Tensor(5.0, requires_grad=False)
    """
    return norm(require_tensor("dist", input) - other, p)


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norm of order `pow` over all dimensions but `dim`, each of them kept with length 1; over all, a 0-d tensor, if
    `dim` is -1.

    >>> lucid.norm_except_dim(lucid.tensor([[3.0, 4.0], [5.0, 12.0]]))
    Tensor([[ 5.0],
            [13.0]], requires_grad=False)
    """
    if dim == -1:
        return norm(v, pow)
    kept = canonical_dim(dim, v.ndim)
    others = tuple(axis for axis in range(v.ndim) if axis != kept)
    return norm(v, pow, others, keepdim=True) if others else v.abs()


@accepts_out
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """`input` with each slice along `dim` whose `p`-norm is above `maxnorm` scaled down to that norm.

    Raises RuntimeError for fewer than two dimensions, a `p` that is not positive and a negative `maxnorm`.

    >>> lucid.renorm(lucid.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)
    Tensor([[0.6, 0.8],
            [0.3, 0.4]], requires_grad=False)
    """
    if not _dtypes.is_differentiable(require_tensor("renorm", input).dtype):
        raise NotImplementedError(f"\"renorm\" not implemented for '{type_name(input.dtype)}'")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    kept = canonical_dim(dim, input.ndim)
    dims = [axis for axis in range(input.ndim) if axis != kept]
    size = input.detach().norm(p, dims, keepdim=True)
    within = ~(size > maxnorm)
    if is_differentiated(input):  # of the slices above only: where a norm is NaN, its gradient is too
        size = input.masked_fill(within, 0).norm(p, dims, keepdim=True).masked_fill(within, 1)
    # 1e-7 is added to the norm, as in PyTorch, so that rounding does not leave it above the bound.
    return input * (maxnorm / (size + 1e-7)).masked_fill(within, 1)


register(__name__)
