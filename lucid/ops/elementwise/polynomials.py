"""Orthogonal polynomials of an order that is a number or a tensor: by their recurrences, and between -1 and 1 by angles.

Orders count without their fractions; below 0 the polynomials are 0. As in PyTorch integers become the default float dtype, half
precision is refused, and no gradient flows through them.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import common_dtype, promote
from .._out import accepts_out
from .trigonometry import acos, cos, sin
from .where import where

_CHECKED = 64  # steps after which it is seen whether anything is left to compute

Step = Callable[[int, Any, Any, Any], Any]  # (k, x, the polynomial of order k, that of order k - 1) -> that of order k + 1


def _operands(name: str, input: Any, n: Any) -> tuple[Tensor, Tensor]:
    """x and the whole orders n, in one shape and dtype."""
    if not isinstance(input, Tensor) and not isinstance(n, Tensor):
        raise TypeError(f"{name}(): one of x and n must be a Tensor")
    x, order = promote(name, *[value if isinstance(value, Tensor) else float(value) for value in (input, n)], floating=True)
    dtype = common_dtype([x, order])
    if dtype not in (_dtypes.float32, _dtypes.float64):
        raise NotImplementedError(f'"{name}" not implemented for \'{type_name(dtype)}\'')
    like = x if isinstance(x, Tensor) else order
    x, order = (value.detach() if isinstance(value, Tensor) else like.new_full((), value) for value in (x, order))
    order = where(order.isfinite(), order.trunc(), -1.0)
    shape = (x + order).shape
    return x.expand(shape), order.expand(shape)


def _recurred(x: Tensor, order: Tensor, first: Tensor, step: Step, fixed: Tensor | None = None) -> Tensor:
    """The polynomial of each order by its recurrence, from 1 and `first`; elements that are `fixed` are not looked at."""
    result = where(order == 0, 1.0, where(order == 1, first, 0.0))
    if x.is_meta or not x.numel():
        return result
    open_to = order if fixed is None else where(fixed, -1.0, order)
    last, before, highest = first, x.new_ones(()), int(open_to.max().item())
    for k in range(1, highest):
        last, before = step(k, x, last, before), last
        result = where(order == k + 1, last, result)
        if k % _CHECKED == 0 and bool((last.isnan() | (open_to <= k + 1)).all()):
            # What is NaN stays so, of whatever order.
            return where(open_to > k + 1, math.nan, result)
    return result


def _even(order: Tensor) -> Tensor:
    return order % 2 == 0


def _chebyshev(x: Tensor, order: Tensor, kind: str, shifted: bool) -> Tensor:
    """Those of kind t, u, v and w of y = x, or of 2 x - 1."""
    y = x + x - 1 if shifted else x
    limit = {"t": 6, "u": 6 if shifted else 8, "v": 6 if shifted else 8, "w": 4 if shifted else 8}[kind]
    sign = where(_even(order), 1.0, -1.0)
    large = order * 2 + 1
    ones = where(sign > 0, 1.0, 1.0)
    right, left = {"t": (ones, sign), "u": (order + 1, sign * (order + 1)), "v": (ones, sign * large), "w": (large, sign)}[kind]
    by_angle = (y.abs() < 1) & (order > limit)
    angle = acos(where(by_angle, y, 0.5))
    if kind == "t":
        turned = cos(order * angle)
    elif kind == "u":
        turned = sin((order + 1) * angle) / sin(angle)
    elif kind == "v":
        turned = cos((order + 0.5) * angle) / cos(angle / 2)
    else:
        turned = sin((order + 0.5) * angle) / sin(angle / 2)
    ends = y.abs() == 1
    first = {"t": y, "u": y + y, "v": y + y - 1, "w": y + y + 1}[kind]
    result = _recurred(y, order, first, lambda k, y, last, before: (y + y) * last - before, by_angle | ends)
    result = where(by_angle, turned, result)
    return where(order < 0, 0.0, where(ends, where(y > 0, right, left), result))


def _hermite(x: Tensor, order: Tensor, first: Tensor, step: Step) -> Tensor:
    """Those of a high order, of which PyTorch says NaN, are not computed."""
    limit = 128 if x.dtype == _dtypes.float32 else 512
    return where(order > limit, math.nan, _recurred(x, order, first, step, order > limit))


def _legendre(x: Tensor, order: Tensor) -> Tensor:
    ends = x.abs() == 1
    result = _recurred(x, order, x, lambda k, x, last, before: ((2 * k + 1) * x * last - k * before) / (k + 1), ends)
    return where((order >= 0) & ends, where((x > 0) | _even(order), 1.0, -1.0), result)


def _laguerre(x: Tensor, order: Tensor) -> Tensor:
    result = _recurred(x, order, 1 - x, lambda k, x, last, before: ((2 * k + (1 - x)) * last - k * before) / (k + 1), x == 0)
    return where((order >= 0) & (x == 0), 1.0, result)


def _polynomial(name: str, input: Any, n: Any, formula: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    return formula(*_operands(name, input, n))


@accepts_out(castable=True)
def chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """The Chebyshev polynomials of the first kind of order `n`.

    >>> lucid.special.chebyshev_polynomial_t(lucid.tensor([0.5, 2.0]), 2)  # 2 x^2 - 1
    Tensor([-0.5,  7.0], requires_grad=False)
    """
    return _polynomial("chebyshev_polynomial_t", input, n, lambda x, n: _chebyshev(x, n, "t", False))


@accepts_out(castable=True)
def chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """The Chebyshev polynomials of the second kind of order `n`.

    >>> lucid.special.chebyshev_polynomial_u(lucid.tensor([0.5, 2.0]), 2)  # 4 x^2 - 1
    Tensor([ 0.0, 15.0], requires_grad=False)
    """
    return _polynomial("chebyshev_polynomial_u", input, n, lambda x, n: _chebyshev(x, n, "u", False))


@accepts_out(castable=True)
def chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """The Chebyshev polynomials of the third kind of order `n`.

    >>> lucid.special.chebyshev_polynomial_v(lucid.tensor([0.5, 2.0]), 1)  # 2 x - 1
    Tensor([0.0, 3.0], requires_grad=False)
    """
    return _polynomial("chebyshev_polynomial_v", input, n, lambda x, n: _chebyshev(x, n, "v", False))


@accepts_out(castable=True)
def chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """The Chebyshev polynomials of the fourth kind of order `n`.

    >>> lucid.special.chebyshev_polynomial_w(lucid.tensor([0.5, 2.0]), 1)  # 2 x + 1
    Tensor([2.0, 5.0], requires_grad=False)
    """
    return _polynomial("chebyshev_polynomial_w", input, n, lambda x, n: _chebyshev(x, n, "w", False))


@accepts_out(castable=True)
def shifted_chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """`chebyshev_polynomial_t` of ``2 * input - 1``.

    >>> lucid.special.shifted_chebyshev_polynomial_t(lucid.tensor([0.5, 2.0]), 1)  # 2 x - 1
    Tensor([0.0, 3.0], requires_grad=False)
    """
    return _polynomial("shifted_chebyshev_polynomial_t", input, n, lambda x, n: _chebyshev(x, n, "t", True))


@accepts_out(castable=True)
def shifted_chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """`chebyshev_polynomial_u` of ``2 * input - 1``.

    >>> lucid.special.shifted_chebyshev_polynomial_u(lucid.tensor([0.5, 2.0]), 1)  # 4 x - 2
    Tensor([0.0, 6.0], requires_grad=False)
    """
    return _polynomial("shifted_chebyshev_polynomial_u", input, n, lambda x, n: _chebyshev(x, n, "u", True))


@accepts_out(castable=True)
def shifted_chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """`chebyshev_polynomial_v` of ``2 * input - 1``.

    >>> lucid.special.shifted_chebyshev_polynomial_v(lucid.tensor([0.5, 2.0]), 1)  # 4 x - 3
    Tensor([-1.0,  5.0], requires_grad=False)
    """
    return _polynomial("shifted_chebyshev_polynomial_v", input, n, lambda x, n: _chebyshev(x, n, "v", True))


@accepts_out(castable=True)
def shifted_chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """`chebyshev_polynomial_w` of ``2 * input - 1``.

    >>> lucid.special.shifted_chebyshev_polynomial_w(lucid.tensor([0.5, 2.0]), 1)  # 4 x - 1
    Tensor([1.0, 7.0], requires_grad=False)
    """
    return _polynomial("shifted_chebyshev_polynomial_w", input, n, lambda x, n: _chebyshev(x, n, "w", True))


@accepts_out(castable=True)
def hermite_polynomial_h(input: Any, n: Any) -> Tensor:
    """The physicist's Hermite polynomials of order `n`; NaN for more than 128 (float64: 512).

    >>> lucid.special.hermite_polynomial_h(lucid.tensor([0.5, 2.0]), 2)  # 4 x^2 - 2
    Tensor([-1.0, 14.0], requires_grad=False)
    """
    return _polynomial("hermite_polynomial_h", input, n, lambda x, n: _hermite(
        x, n, x + x, lambda k, x, last, before: (x + x) * last - 2 * k * before))


@accepts_out(castable=True)
def hermite_polynomial_he(input: Any, n: Any) -> Tensor:
    """The probabilist's Hermite polynomials of order `n`; NaN for more than 128 (float64: 512).

    >>> lucid.special.hermite_polynomial_he(lucid.tensor([0.5, 2.0]), 2)  # x^2 - 1
    Tensor([-0.75,  3.00], requires_grad=False)
    """
    return _polynomial("hermite_polynomial_he", input, n, lambda x, n: _hermite(
        x, n, x, lambda k, x, last, before: x * last - k * before))


@accepts_out(castable=True)
def laguerre_polynomial_l(input: Any, n: Any) -> Tensor:
    """The Laguerre polynomials of order `n`.

    >>> lucid.special.laguerre_polynomial_l(lucid.tensor([0.5, 2.0]), 1)  # 1 - x
    Tensor([ 0.5, -1.0], requires_grad=False)
    """
    return _polynomial("laguerre_polynomial_l", input, n, _laguerre)


@accepts_out(castable=True)
def legendre_polynomial_p(input: Any, n: Any) -> Tensor:
    """The Legendre polynomials of order `n`.

    >>> lucid.special.legendre_polynomial_p(lucid.tensor([0.5, 2.0]), 2)  # (3 x^2 - 1) / 2
    Tensor([-0.125,  5.500], requires_grad=False)
    """
    return _polynomial("legendre_polynomial_p", input, n, _legendre)
