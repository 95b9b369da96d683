"""Softmax and its kin, and scans along a dimension, of the elements that a mask keeps."""
from __future__ import annotations

import math
from typing import Any

from ..ops.elementwise import binary
from ..ops.nn import activation
from ..ops.reduction import cumulative
from ..tensor import Tensor
from .reductions import cast, delivered, filled, norm


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """`lucid.softmax` of the elements that `mask` keeps, and 0 for the others; NaN where none is kept.

    >>> lucid.masked.softmax(lucid.tensor([1.0, 9.0, 1.0]), 0, mask=lucid.tensor([True, False, True]))
    Tensor([0.5, 0.0, 0.5], requires_grad=False)
    """
    values = cast("softmax", input, dtype)
    return delivered(activation.softmax(filled(values, mask, -math.inf), dim), values)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of the negative elements.

    >>> lucid.masked.softmin(lucid.tensor([1.0, 9.0, 1.0]), 0, mask=lucid.tensor([True, False, True]))
    Tensor([0.5, 0.0, 0.5], requires_grad=False)
    """
    values = cast("softmin", input, dtype)
    return delivered(activation.softmax(-filled(values, mask, math.inf), dim), values)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`.

    >>> lucid.masked.log_softmax(lucid.tensor([1.0, 9.0, 1.0]), 0, mask=lucid.tensor([True, False, True]))
    Tensor([-0.6931,    -inf, -0.6931], requires_grad=False)
    """
    values = cast("log_softmax", input, dtype)
    return delivered(activation.log_softmax(filled(values, mask, -math.inf), dim), values)


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
              ) -> Tensor:
    """The elements that `mask` keeps divided by their norm of order `ord` along `dim`, or by `eps` if that is larger; 0 for the
    others.

    >>> lucid.masked.normalize(lucid.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=lucid.tensor([True, False, True]))
    Tensor([0.6, 0.0, 0.8], requires_grad=False)
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp(min=eps)
    values = cast("normalize", input, dtype)
    return delivered(filled(values, mask, 0) / length, values)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The sums from the first element to each, of those that `mask` keeps.

    >>> lucid.masked.cumsum(lucid.tensor([3.0, 9.0, 4.0]), 0, mask=lucid.tensor([True, False, True]))
    Tensor([3.0, 3.0, 7.0], requires_grad=False)
    """
    values = cast("cumsum", input, dtype)
    return delivered(cumulative.cumsum(filled(values, mask, 0), dim), values)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The products from the first element to each, of those that `mask` keeps.

    >>> lucid.masked.cumprod(lucid.tensor([3.0, 9.0, 4.0]), 0, mask=lucid.tensor([True, False, True]))
    Tensor([ 3.0,  3.0, 12.0], requires_grad=False)
    """
    values = cast("cumprod", input, dtype)
    return delivered(cumulative.cumprod(filled(values, mask, 1), dim), values)


def logaddexp(input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None,
              other_mask: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))`` with what the masks leave out as -infinity.

    >>> lucid.masked.logaddexp(lucid.zeros(2), lucid.zeros(2), other_mask=lucid.tensor([True, False]))
    Tensor([0.6931, 0.0000], requires_grad=False)
    """
    first = filled(cast("logaddexp", input, dtype), input_mask, -math.inf)
    return binary.logaddexp(first, filled(cast("logaddexp", other, dtype), other_mask, -math.inf))
