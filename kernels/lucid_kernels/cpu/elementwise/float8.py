"""float32 and floating-point numbers of 8 bits: rounding as PyTorch does it, and the values of the bits.

Beyond the largest number float8_e4m3fn saturates, also at infinity, and float8_e5m2 becomes infinite; both keep the sign of NaN,
of which they write one pattern. The two of one zero have one NaN, the bits of -0, and become it. Numba would compute in 64 bits.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types

from ..arrays.layout import Array, result
from ..arrays.loops import Chunked
from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit_exact

_WORD, _INFINITY, _NAN = ir.IntType(32), 0x7F800000, 0x7FC00000


class _Format(NamedTuple):
    mantissa: int  # bits of it
    bias: int  # of the exponent
    largest: int  # the bits of the largest number, of what is beyond it, and of NaN
    beyond: int
    nan: int
    signed_zero: bool


def _emitted(form: _Format, builder: Any, x: Any) -> Any:
    """The instructions that round the float32 `x`, to even where two numbers are as near."""
    word = builder.bitcast(x, _WORD)
    magnitude, sign = builder.and_(word, _WORD(0x7FFFFFFF)), builder.and_(builder.lshr(word, _WORD(24)), _WORD(0x80))
    shift = 23 - form.mantissa
    odd = builder.and_(builder.lshr(magnitude, _WORD(shift)), _WORD(1))
    nearest = builder.lshr(builder.add(builder.add(magnitude, _WORD((1 << shift - 1) - 1)), odd), _WORD(shift))
    normal = builder.sub(nearest, _WORD(127 - form.bias << form.mantissa))
    # Of those below the normal numbers: added to a number whose last bit is the smallest of them, they are rounded to it.
    magic = _WORD(127 + 1 - form.bias - form.mantissa + 23 << 23)
    total = builder.fadd(builder.bitcast(magnitude, ir.FloatType()), builder.bitcast(magic, ir.FloatType()))
    small = builder.sub(builder.bitcast(total, _WORD), magic)
    bits = builder.select(builder.icmp_unsigned("<", magnitude, _WORD(127 - form.bias + 1 << 23)), small, normal)
    bits = builder.select(builder.icmp_unsigned(">", bits, _WORD(form.largest)), _WORD(form.beyond), bits)
    bits = builder.select(builder.icmp_unsigned(">", magnitude, _WORD(_INFINITY)), _WORD(form.nan), bits)
    if not form.signed_zero:
        sign = builder.select(builder.icmp_unsigned("==", bits, _WORD(0)), _WORD(0), sign)
    return builder.trunc(builder.or_(bits, sign), ir.IntType(8))


def _emitted_back(form: _Format, builder: Any, x: Any) -> Any:
    """The instructions that make a float32 of the bits `x`."""
    byte = builder.zext(x, _WORD)
    bits, sign = builder.and_(byte, _WORD(0x7F)), builder.shl(builder.and_(byte, _WORD(0x80)), _WORD(24))
    normal = builder.shl(builder.add(bits, _WORD(127 - form.bias << form.mantissa)), _WORD(23 - form.mantissa))
    magic = _WORD(127 + 1 - form.bias - form.mantissa + 23 << 23)
    small = builder.fsub(builder.bitcast(builder.add(magic, bits), ir.FloatType()), builder.bitcast(magic, ir.FloatType()))
    is_small = builder.icmp_unsigned("<", bits, _WORD(1 << form.mantissa))
    word = builder.or_(builder.select(is_small, builder.bitcast(small, _WORD), normal), sign)
    if not form.signed_zero:
        word = builder.select(builder.icmp_unsigned("==", byte, _WORD(form.nan)), _WORD(_NAN), word)
    else:
        odd = builder.select(builder.icmp_unsigned("==", bits, _WORD(form.beyond)), _WORD(_INFINITY), _WORD(_NAN))
        word = builder.select(builder.icmp_unsigned(">", bits, _WORD(form.largest)), builder.or_(odd, sign), word)
    return builder.bitcast(word, ir.FloatType())


def _rounding(form: _Format) -> Any:
    @intrinsic
    def rounded(typing, x):
        """The bits of a float32 in 8 bits."""
        return types.uint8(types.float32), lambda context, builder, signature, values: _emitted(form, builder, values[0])

    return rounded


def _extending(form: _Format) -> Any:
    @intrinsic
    def extended(typing, x):
        """The float32 of 8 bits."""
        return types.float32(types.uint8), lambda context, builder, signature, values: _emitted_back(form, builder, values[0])

    return extended


_E4M3FN, _E4M3FNUZ = _Format(3, 7, 0x7E, 0x7E, 0x7F, True), _Format(3, 8, 0x7F, 0x80, 0x80, False)
_E5M2, _E5M2FNUZ = _Format(2, 15, 0x7B, 0x7C, 0x7F, True), _Format(2, 16, 0x7F, 0x80, 0x80, False)
_to_e4m3fn, _to_e4m3fnuz, _to_e5m2, _to_e5m2fnuz = map(_rounding, (_E4M3FN, _E4M3FNUZ, _E5M2, _E5M2FNUZ))
_of_e4m3fn, _of_e4m3fnuz, _of_e5m2, _of_e5m2fnuz = map(_extending, (_E4M3FN, _E4M3FNUZ, _E5M2, _E5M2FNUZ))


@Chunked
@jit_exact
def _narrow_e4m3fn(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _to_e4m3fn(x[i])


@Chunked
@jit_exact
def _narrow_e4m3fnuz(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _to_e4m3fnuz(x[i])


@Chunked
@jit_exact
def _narrow_e5m2(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _to_e5m2(x[i])


@Chunked
@jit_exact
def _narrow_e5m2fnuz(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _to_e5m2fnuz(x[i])


@Chunked
@jit_exact
def _widen_e4m3fn(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _of_e4m3fn(x[i])


@Chunked
@jit_exact
def _widen_e4m3fnuz(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _of_e4m3fnuz(x[i])


@Chunked
@jit_exact
def _widen_e5m2(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _of_e5m2(x[i])


@Chunked
@jit_exact
def _widen_e5m2fnuz(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _of_e5m2fnuz(x[i])


_LOOPS = {"float8_e4m3fn": (_narrow_e4m3fn, _widen_e4m3fn), "float8_e4m3fnuz": (_narrow_e4m3fnuz, _widen_e4m3fnuz),
          "float8_e5m2": (_narrow_e5m2, _widen_e5m2), "float8_e5m2fnuz": (_narrow_e5m2fnuz, _widen_e5m2fnuz)}  # fmt: skip


def narrow(x: Array, format: str) -> Array:
    """The bits of a float32 array in `format`, in row-major order."""
    y = result(None, x.shape, np.uint8)
    _LOOPS[format][0].run(x.ravel(), y.ravel(), fresh=True)
    return y


def widen(x: Array, format: str) -> Array:
    """The float32 of the bits of `format`, in row-major order."""
    y = result(None, x.shape, np.float32)
    _LOOPS[format][1].run(x.ravel(), y.ravel(), fresh=True)
    return y
