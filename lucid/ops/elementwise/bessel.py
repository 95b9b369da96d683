"""Bessel functions of orders 0 and 1, and Airy's: by Chebyshev series of what is smooth in them.

Of J and Y up to 8 those are functions of x**2, beyond it amplitude and phase, functions of (8 / x)**2; of K up to 2 likewise, and
beyond it what is left without ``exp(-x) / sqrt(x)``. All in float64, whatever the dtype, and rounded once. As in PyTorch integers
become the default float dtype, half precision is refused, no gradient flows through them, and J, Y, I and Ai are NaN at infinity.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import as_floating
from .._out import accepts_out
from .bessel_tables import TABLES
from .fused import fused_formula
from .special import i0, i1
from .trigonometry import cos, sin
from .unary import exp, log, sqrt
from .where import where

_SECOND_ZETA = 2 / 3 * 2 ** 1.5  # 2/3 x**1.5, of which Airy functions are functions, at 2
_EIGHTH_ZETA = 2 / 3 * 8 ** 1.5


def _series(name: str, t: Tensor) -> Any:
    """The sum of the Chebyshev polynomials of t in [-1, 1], by Clenshaw's recurrence."""
    first, *others = TABLES[name]
    before: Any = 0.0
    last: Any = others.pop()
    twice = t * 2
    for coefficient in reversed(others):
        last, before = twice * last + (coefficient - before), last
    return t * last + (first - before)


def _oscillating(size: Tensor, order: int, second: bool) -> Tensor:
    """J, or with `second` Y, from 8 on."""
    u = (8 / size) * (8 / size)
    t = u * 2 - 1
    p, q = _series(f"P{order}", t), _series(f"Q{order}", t) * (8 / size)
    sine, cosine = sin(size), cos(size)  # of x - pi/4, and for order 1 of x - 3 pi/4, both times sqrt(2)
    c, s = (sine + cosine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)
    wave = p * s + q * c if second else p * c - q * s
    return wave / sqrt(size * math.pi)


@fused_formula
def _j0(x: Tensor) -> Tensor:
    size = x.abs()
    near, far = where(size > 8, 0.0, size), where(size > 8, size, 8.0)
    value = where(size > 8, _oscillating(far, 0, False), _series("J0", near * near / 32 - 1))
    return where(size < math.inf, value, math.nan)


@fused_formula
def _j1(x: Tensor) -> Tensor:
    size = x.abs()
    near, far = where(size > 8, 0.0, x), where(size > 8, size, 8.0)
    wave = _oscillating(far, 1, False)
    value = where(size > 8, where(x < 0, -wave, wave), near * _series("J1", near * near / 32 - 1))
    return where(size < math.inf, value, math.nan)


@fused_formula
def _y0(x: Tensor) -> Tensor:
    near, far = where((x > 0) & (x <= 8), x, 1.0), where(x > 8, x, 8.0)
    t = near * near / 32 - 1
    close = log(near) * _series("J0", t) * (2 / math.pi) + _series("Y0", t)
    value = where(x > 8, _oscillating(far, 0, True), close)
    return _on_half_line(x, value, -math.inf, math.nan)


@fused_formula
def _y1(x: Tensor) -> Tensor:
    near, far = where((x > 0) & (x <= 8), x, 1.0), where(x > 8, x, 8.0)
    t = near * near / 32 - 1
    close = (log(near) * near * _series("J1", t) - 1 / near) * (2 / math.pi) + near * _series("Y1", t)
    value = where(x > 8, _oscillating(far, 1, True), close)
    return _on_half_line(x, value, -math.inf, math.nan)


def _on_half_line(x: Tensor, value: Tensor, at_zero: float, at_infinity: float) -> Tensor:
    """`value`, NaN below 0, and at the ends what is given."""
    inside = where(x == math.inf, at_infinity, value)
    return where(x > 0, inside, where(x == 0, at_zero, math.nan))


def _k(x: Tensor, order: int, scaled: bool) -> Tensor:
    near, far = where((x > 0) & (x <= 2), x, 1.0), where(x > 2, x, 2.0)
    t = near * near / 2 - 1
    if order == 0:
        close = _series("K0", t) - log(near / 2) * _series("I0", t)
    else:
        close = _series("K1", t) / near + log(near / 2) * near * _series("I1", t)
    beyond = _series(f"KL{order}", 4 / far - 1) / sqrt(far)
    value = where(x > 2, beyond, close * exp(near)) if scaled else where(x > 2, beyond * exp(-far), close)
    return _on_half_line(x, value, math.inf, 0.0)


@fused_formula
def _k0(x: Tensor) -> Tensor:
    return _k(x, 0, False)


@fused_formula
def _k1(x: Tensor) -> Tensor:
    return _k(x, 1, False)


@fused_formula
def _scaled_k0(x: Tensor) -> Tensor:
    return _k(x, 0, True)


@fused_formula
def _scaled_k1(x: Tensor) -> Tensor:
    return _k(x, 1, True)


@fused_formula
def _spherical(x: Tensor) -> Tensor:
    inner = where(x == 0, 1.0, where(x.abs() == math.inf, 1.0, x))
    value = where(x == 0, 1.0, sin(inner) / inner)
    return where(x.abs() == math.inf, 0.0, value)


@fused_formula
def _airy(x: Tensor) -> Tensor:
    near = where(x.abs() <= 2, x, where((x < 0) & (x >= -8), x, 0.0))
    far = where(x > 2, x, 2.0)
    zeta = far * sqrt(far) * (2 / 3)
    decayed = exp(-zeta) * _series("AIL", _SECOND_ZETA / zeta * 2 - 1) / (sqrt(sqrt(far)) * (2 * math.sqrt(math.pi)))
    low = where(x < -8, -x, 8.0)
    phase = low * sqrt(low) * (2 / 3)
    t = (_EIGHTH_ZETA / phase) * (_EIGHTH_ZETA / phase) * 2 - 1
    p, q = _series("AIP", t), _series("AIQ", t) * (_EIGHTH_ZETA / phase)
    sine, cosine = sin(phase), cos(phase)  # of the phase less pi/4, times sqrt(2)
    wave = ((sine + cosine) * p + (sine - cosine) * q) / (sqrt(sqrt(low)) * math.sqrt(2 * math.pi))
    value = where(x > 2, decayed, where(x < -8, wave, _series("AI", (near + 3) / 5)))
    return where(x.abs() < math.inf, value, math.nan)


def in_float64(name: str, input: Any) -> Tensor:
    """The elements without their graph as float64. Raises NotImplementedError for half precision and complex numbers."""
    converted = as_floating(name, input)
    if converted.dtype not in (_dtypes.float32, _dtypes.float64):
        raise NotImplementedError(f'"{name}" not implemented for \'{type_name(converted.dtype)}\'')
    return converted.detach().to(_dtypes.float64)


def _rounded(name: str, input: Any, formula: Callable[[Tensor], Tensor]) -> Tensor:
    result: Tensor = formula(in_float64(name, input))
    return result.to(input.dtype if input.is_floating_point() else _dtypes.get_default_dtype())


@accepts_out(castable=True)
def bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 0.

    >>> lucid.special.bessel_j0(lucid.tensor([0.0, 1.0]))
    Tensor([1.0000, 0.7652], requires_grad=False)
    """
    return _rounded("bessel_j0", input, _j0)


@accepts_out(castable=True)
def bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 1.

    >>> lucid.special.bessel_j1(lucid.tensor([0.0, 1.0]))
    Tensor([0.0000, 0.4401], requires_grad=False)
    """
    return _rounded("bessel_j1", input, _j1)


@accepts_out(castable=True)
def bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 0; -inf at 0, NaN below.

    >>> lucid.special.bessel_y0(lucid.tensor([0.0, 1.0]))
    Tensor([  -inf, 0.0883], requires_grad=False)
    """
    return _rounded("bessel_y0", input, _y0)


@accepts_out(castable=True)
def bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 1; -inf at 0, NaN below.

    >>> lucid.special.bessel_y1(lucid.tensor([0.0, 1.0]))
    Tensor([   -inf, -0.7812], requires_grad=False)
    """
    return _rounded("bessel_y1", input, _y1)


@accepts_out(castable=True)
def modified_bessel_i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0: `i0`, without a gradient.

    >>> lucid.special.modified_bessel_i0(lucid.tensor([0.0, 1.0]))
    Tensor([1.0000, 1.2661], requires_grad=False)
    """
    return _rounded("modified_bessel_i0", input, lambda x: where(x.abs() < math.inf, i0(x), math.nan))


@accepts_out(castable=True)
def modified_bessel_i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1: `i1`, without a gradient.

    >>> lucid.special.modified_bessel_i1(lucid.tensor([0.0, 1.0]))
    Tensor([0.0000, 0.5652], requires_grad=False)
    """
    return _rounded("modified_bessel_i1", input, lambda x: where(x.abs() < math.inf, i1(x), math.nan))


@accepts_out(castable=True)
def modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0; inf at 0, NaN below.

    >>> lucid.special.modified_bessel_k0(lucid.tensor([0.0, 1.0]))
    Tensor([  inf, 0.421], requires_grad=False)
    """
    return _rounded("modified_bessel_k0", input, _k0)


@accepts_out(castable=True)
def modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1; inf at 0, NaN below.

    >>> lucid.special.modified_bessel_k1(lucid.tensor([0.0, 1.0]))
    Tensor([   inf, 0.6019], requires_grad=False)
    """
    return _rounded("modified_bessel_k1", input, _k1)


@accepts_out(castable=True)
def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """``exp(input) * modified_bessel_k0(input)``, also where the second factor underflows.

    >>> lucid.special.scaled_modified_bessel_k0(lucid.tensor([1.0, 100.0]))
    Tensor([1.1445, 0.1252], requires_grad=False)
    """
    return _rounded("scaled_modified_bessel_k0", input, _scaled_k0)


@accepts_out(castable=True)
def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """``exp(input) * modified_bessel_k1(input)``, also where the second factor underflows.

    >>> lucid.special.scaled_modified_bessel_k1(lucid.tensor([1.0, 100.0]))
    Tensor([1.6362, 0.1258], requires_grad=False)
    """
    return _rounded("scaled_modified_bessel_k1", input, _scaled_k1)


@accepts_out(castable=True)
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: sin(x) / x.

    >>> lucid.special.spherical_bessel_j0(lucid.tensor([0.0, 1.0]))
    Tensor([1.0000, 0.8415], requires_grad=False)
    """
    return _rounded("spherical_bessel_j0", input, _spherical)


@accepts_out(castable=True)
def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai.

    >>> lucid.special.airy_ai(lucid.tensor([0.0, 1.0]))
    Tensor([0.3550, 0.1353], requires_grad=False)
    """
    return _rounded("airy_ai", input, _airy)
