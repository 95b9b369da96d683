"""Functions for use inside Numba kernels, written so that LLVM vectorises the loops that call them.

Numba's own `exp` and `tanh` are calls to libm, one element at a time; polynomials in the loop are 5 to 15 times as fast.
Each public function takes a float32 or a float64 and keeps its type. NaN stays NaN, infinities get their limits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload

from ..runtime.intrinsic import intrinsic
from ..runtime.jit import EXACT, jit_exact
from .vector import Registers, vector_function

_OPTIONS: Any = {"fastmath": EXACT, "error_model": "numpy"}


def real_intrinsic(name: str, arity: int) -> Any:
    """An LLVM floating-point intrinsic of `arity` arguments of one type, as a function for jitted code."""

    def typed(*arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            real = context.get_value_type(signature.return_type)
            function = builder.module.declare_intrinsic(name, [real], ir.FunctionType(real, [real] * arity))
            return builder.call(function, values)

        return arguments[0](*arguments), generate

    return typed


@intrinsic
def fma(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """`x * y + z`, rounded once, whatever the flags of the caller."""
    return real_intrinsic("llvm.fma", 3)(x, y, z)


@intrinsic
def maximum(typing_context: Any, x: Any, y: Any) -> Any:
    """The larger one, NaN if either is NaN. Unlike `max` or a comparison this keeps a reduction loop vectorised."""
    return real_intrinsic("llvm.maximum", 2)(x, y)


@intrinsic
def bits(typing_context: Any, x: Any) -> Any:
    """The bit pattern of a float32 (float64) as int32 (int64)."""
    integer = types.int32 if x == types.float32 else types.int64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], context.get_value_type(signature.return_type))

    return integer(x), generate


@intrinsic
def from_bits(typing_context: Any, x: Any) -> Any:
    """The float32 (float64) that has the bit pattern of an int32 (int64)."""
    real = types.float32 if x == types.int32 else types.float64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], context.get_value_type(signature.return_type))

    return real(x), generate


# exp: x = n ln2 + r, |r| <= ln2 / 2. Adding and subtracting 1.5 * 2^23 (2^52) rounds to an integer and leaves that
# integer in the low bits; a conversion instruction would be undefined for NaN. 2^n is multiplied in two halves, so
# that results below the normal numbers and above the finite ones come out right (softmax needs exp(-inf) == 0).
_LOG2_E32 = np.float32(1.44269504088896341)
_LN2_HIGH32 = np.float32(0.693359375)
_LN2_LOW32 = np.float32(-2.12194440e-4)
ROUND32 = np.float32(12582912.0)
ROUND32_BITS = np.int32(0x4B400000)
_EXP_MIN32 = np.float32(-104.0)
_EXP_MAX32 = np.float32(89.0)
ZERO32 = np.float32(0.0)
ONE32 = np.float32(1.0)
HALF32 = np.float32(0.5)
# exp(r) = 1 + r + r^2 P(r), P fitted to 3e-9 of the result for |r| <= ln2 / 2.
_E4, _E3, _E2, _E1, _E0 = (np.float32(c) for c in (1.38145e-3, 8.36878e-3, 4.166839e-2, 1.666652e-1, 4.9999993e-1))
EXPONENT_SHIFT32 = np.int32(23)
_EXPONENT_ONE32 = np.int32(1 << 23)
_BIAS32 = np.int32(127)
_HALVE32 = np.int32(1)


@jit_exact
def _exp_reduced32(r: Any) -> Any:
    """exp(r) for |r| <= ln2 / 2."""
    p = (((_E4 * r + _E3) * r + _E2) * r + _E1) * r + _E0
    return (p * r + ONE32) * r + ONE32


@jit_exact
def _scaled32(p: Any, shifted: Any) -> Any:
    """p * 2^n, where `shifted` is n + 1.5 * 2^23."""
    k = np.int32(bits(shifted) - ROUND32_BITS)
    half = np.int32(k >> _HALVE32)
    low = from_bits(np.int32(np.int32(half + _BIAS32) << EXPONENT_SHIFT32))
    high = from_bits(np.int32(np.int32(np.int32(k - half) + _BIAS32) << EXPONENT_SHIFT32))
    return p * low * high


@jit_exact
def _exp32(x: Any) -> Any:
    x = max(x, _EXP_MIN32)
    x = min(x, _EXP_MAX32)
    shifted = x * _LOG2_E32 + ROUND32
    n = shifted - ROUND32
    r = x - n * _LN2_HIGH32
    r = r - n * _LN2_LOW32
    return _scaled32(_exp_reduced32(r), shifted)


# exp for arguments that are not positive, as softmax has them. 2^n is made as 2^(n + 64), always a normal number, times 2^-64:
# five operations less than the two halves of `_exp32`, which have to reach the largest numbers too.
_SMALLEST32 = np.float32(-104.0)
_SHIFTED_BIAS32 = np.int32((127 + 64) << 23)
_UNSHIFT32 = np.float32(2.0**-64)


@jit_exact
def _exp_nonpositive32(x: Any) -> Any:
    shifted = x * _LOG2_E32 + ROUND32
    n = shifted - ROUND32
    r = x - n * _LN2_HIGH32
    r = r - n * _LN2_LOW32
    p = _exp_reduced32(r)
    scale = from_bits(np.int32(np.int32(bits(shifted) << EXPONENT_SHIFT32) + _SHIFTED_BIAS32))
    return ZERO32 if x < _SMALLEST32 else p * scale * _UNSHIFT32


# 2 to the power x: no product splits n ln2 off, and what is left is exact; a third less arithmetic than exp. 1 + r P(r) was
# fitted to 2e-9 of 2^r for |r| <= 1/2. The constant that rounds n adds the bias of the exponent to it. Results below the normal
# numbers are 0.
_X6, _X5, _X4, _X3, _X2, _X1 = (
    np.float32(c)
    for c in (1.5353362e-4, 1.33988739e-3, 9.61843692e-3, 5.55033237e-2, 2.40226477e-1, 6.93147182e-1)
)  # fmt: skip
_SMALLEST_EXPONENT32 = np.float32(-126.0)
_ROUND_BIASED_EXPONENT32 = np.float32(12582912.0 + 127.0)


@jit_exact
def _exp2_nonpositive32(x: Any) -> Any:
    shifted = x + _ROUND_BIASED_EXPONENT32
    r = x - (shifted - _ROUND_BIASED_EXPONENT32)
    p = (((((_X6 * r + _X5) * r + _X4) * r + _X3) * r + _X2) * r + _X1) * r + ONE32
    return ZERO32 if x < _SMALLEST_EXPONENT32 else p * from_bits(np.int32(bits(shifted) << EXPONENT_SHIFT32))


# The same for all x: 2^n is multiplied in two halves, as in `_exp32`.
_EXPONENT_MIN32, _EXPONENT_MAX32 = np.float32(-151.0), np.float32(129.0)


@jit_exact
def exp2_32(x: Any) -> Any:
    """2 to the power x, a float32; at most 1 ulp off."""
    x = max(x, _EXPONENT_MIN32)
    x = min(x, _EXPONENT_MAX32)
    shifted = x + ROUND32
    r = x - (shifted - ROUND32)
    p = (((((_X6 * r + _X5) * r + _X4) * r + _X3) * r + _X2) * r + _X1) * r + ONE32
    return _scaled32(p, shifted)


# exp(r) - 1 = r + r^2 P(r), P fitted to 2.5e-10 of it for |r| <= ln2 / 2. 2^n expm1(r) + (2^n - 1), with what is rounded off r;
# both halved, as 2^128 is infinite. At most 0.9 ulp from the exact value, 1.2 at 17; in float64, rounded once, it took 2.3 times
# as long.
_EXPM1_MIN32 = np.float32(-20.0)
_HALF_BIAS32 = np.int32(126)
_M5, _M4, _M3, _M2, _M1, _M0 = (
    np.float32(c) for c in (1.98459020e-4, 1.39409269e-3, 8.33338965e-3, 4.16663587e-2, 1.66666657e-1, 5e-1)
)


@jit_exact
def expm1_32(x: Any) -> Any:
    """exp(x) - 1, a float32."""
    within = min(max(x, _EXPM1_MIN32), _EXP_MAX32)
    shifted = within * _LOG2_E32 + ROUND32
    n = shifted - ROUND32
    high = within - n * _LN2_HIGH32
    r = high - n * _LN2_LOW32
    p = fma(fma(fma(fma(fma(_M5, r, _M4), r, _M3), r, _M2), r, _M1), r, _M0)
    small = fma(r * r, p, (high - r) - n * _LN2_LOW32)
    half = from_bits(np.int32(np.int32(bits(shifted) - ROUND32_BITS + _HALF_BIAS32) << EXPONENT_SHIFT32))
    near = r + small
    value = fma(half, near, half - HALF32) + half * (small - (near - r))
    value = near if n == ZERO32 else value + value
    return value if abs(x) > ZERO32 else x


# Cephes exp.c: exp(r) = 1 + 2 r P(r^2) / (Q(r^2) - r P(r^2)).
LOG2_E64 = 1.4426950408889634
LN2_HIGH64 = 6.93145751953125e-1
LN2_LOW64 = 1.42860682030941723212e-6
ROUND64 = 6755399441055744.0
ROUND64_BITS = np.int64(0x4338000000000000)


@jit_exact
def exp_reduced64(r: Any) -> Any:
    """exp(r) for |r| <= ln2 / 2."""
    s = r * r
    p = r * ((1.26177193074810590878e-4 * s + 3.02994407707441961300e-2) * s + 9.99999999999999999910e-1)
    q = ((3.00198505138664455042e-6 * s + 2.52448340349684104192e-3) * s + 2.27265548208155028766e-1) * s + 2.0
    return 1.0 + 2.0 * (p / (q - p))


@jit_exact
def scaled64(p: Any, shifted: Any) -> Any:
    """p * 2^n, where `shifted` is n + 1.5 * 2^52."""
    k = bits(shifted) - ROUND64_BITS
    half = k >> 1
    return p * from_bits((half + 1023) << 52) * from_bits((k - half + 1023) << 52)


@jit_exact
def _exp64(x: Any) -> Any:
    x = max(x, -746.0)
    x = min(x, 710.0)
    shifted = x * LOG2_E64 + ROUND64
    n = shifted - ROUND64
    r = x - n * LN2_HIGH64
    r = r - n * LN2_LOW64
    return scaled64(exp_reduced64(r), shifted)


@jit_exact
def _exp2_nonpositive64(x: Any) -> Any:
    x = max(x, -1080.0)
    shifted = x + ROUND64
    return scaled64(exp_reduced64((x - (shifted - ROUND64)) * 0.6931471805599453), shifted)


# tanh, float32: x + x z P(z), z = x^2, for |x| < 1, P fitted to 5e-9; else 1 - 2 / (exp(2 |x|) + 1). At most 1 ulp from the
# exact value. One rational function for all x would be shorter, but 4 ulp off; expm1(2 |x|) / (expm1(2 |x|) + 2), in 0.6 of the
# time, 2.5 ulp. 1 - tanh(10) is lost in rounding, so 2^n is one normal number.
_T6, _T5, _T4, _T3, _T2, _T1, _T0 = (
    np.float32(c)
    for c in (
        -3.584500189e-04, 2.301357612e-03, -7.946096772e-03, 2.148665095e-02, -5.387980039e-02, 1.333234453e-01,
        -3.333329543e-01,
    )
)  # fmt: skip
_TWO32 = np.float32(2.0)
_TANH_MAX32 = np.float32(20.0)
_ONE32_BITS = np.int32(0x3F800000)


@jit_exact
def _tanh32(x: Any) -> Any:
    size = abs(x)
    z = x * x
    p = (((((_T6 * z + _T5) * z + _T4) * z + _T3) * z + _T2) * z + _T1) * z + _T0
    near = size + size * (z * p)
    double = min(size + size, _TANH_MAX32)
    shifted = double * _LOG2_E32 + ROUND32
    n = shifted - ROUND32
    r = double - n * _LN2_HIGH32
    r = r - n * _LN2_LOW32
    e = _exp_reduced32(r) * from_bits(np.int32(np.int32(bits(shifted) << EXPONENT_SHIFT32) + _ONE32_BITS))
    far = ONE32 - _TWO32 / (e + ONE32)
    return math.copysign(near if size < ONE32 else far, x)


# erf, float32: x + x P(x^2) up to _ERF_NEAR32, beyond 1 - exp(|x| Q(|x|) - |x|), P and Q fitted. At most 1 ulp from the exact
# value.
_ERF_NEAR32 = np.float32(0.927734375)
_P_ERF = tuple(np.float32(c) for c in (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1,
                                       1.28379166e-1))  # fmt: skip
_Q_ERF = tuple(np.float32(c) for c in (-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1,
                                       -6.34846687e-1, -1.28717512e-1))  # fmt: skip


@jit_exact
def erf32(x: Any) -> Any:
    """The error function of a float32."""
    size, square = abs(x), x * x
    p = fma(_P_ERF[0], square, _P_ERF[1])
    p = fma(fma(fma(fma(p, square, _P_ERF[2]), square, _P_ERF[3]), square, _P_ERF[4]), square, _P_ERF[5])
    q = fma(fma(_Q_ERF[0], size, _Q_ERF[1]), square, fma(_Q_ERF[2], size, _Q_ERF[3]))
    q = fma(fma(fma(fma(q, size, _Q_ERF[4]), size, _Q_ERF[5]), size, _Q_ERF[6]), size, -size)
    far = math.copysign(ONE32 - _exp_nonpositive32(q), x)
    return fma(p, x, x) if size <= _ERF_NEAR32 else far


_SQRT_HALF = math.sqrt(0.5)


# Beyond this |x|, exp(-x^2 / 2) is no normal number, and taken for 0.
_GAUSS_MAX32 = np.float32(13.2)
_HALF_LOG2_E32 = np.float32(0.72134752044448170)


@jit_exact
def _gauss32(x: Any) -> Any:
    """exp(-x^2 / 2). The rounding error of x^2 is put back: times 50 in the exponent it would cost 6 bits.

    As `_exp32`, but the range of the argument is known: 2^n is one normal number.
    """
    size = min(abs(x), _GAUSS_MAX32)
    square = size * size
    error = fma(size, size, -square)
    shifted = ROUND32 - square * _HALF_LOG2_E32
    n = shifted - ROUND32
    r = -HALF32 * square - n * _LN2_HIGH32
    r = r - n * _LN2_LOW32
    r = r - HALF32 * error
    p = _exp_reduced32(r)
    scale = from_bits(np.int32(np.int32(bits(shifted) << EXPONENT_SHIFT32) + _ONE32_BITS))
    return ZERO32 if size == _GAUSS_MAX32 else p * scale


# Phi(x) = 1/2 + x P(x^2) / Q(x^2), fitted to 1.7e-8 of the second term for |x| < 5.5, beyond which it is cut off at 1/2. At
# most 1.9e-7 from the exact value; PyTorch's has 2.2e-7. A small relative error below -3 as well would need exp(-x^2 / 2)
# times a rational function, which takes twice as long. Q begins with z^5: an addition is cheaper than a multiply-add.
_P5, _P4, _P3, _P2, _P1, _P0 = (
    np.float32(c)
    for c in (1.91247797e-2, 5.25558150, 1.37255926e2, 3.87937956e3, 2.79050242e4, 3.32721668e5)
)  # fmt: skip
_Q4, _Q3, _Q2, _Q1, _Q0 = (np.float32(c) for c in (6.01879270e1, 1.55179567e3, 2.36993174e4, 2.08948897e5, 8.34009578e5))
_LARGEST_SQUARE32 = np.float32(1000.0)  # so that P and Q are finite for every x


@jit_exact
def _normal_cdf32(x: Any) -> Any:
    z = min(x * x, _LARGEST_SQUARE32)
    p = ((((_P5 * z + _P4) * z + _P3) * z + _P2) * z + _P1) * z + _P0
    q = ((((z + _Q4) * z + _Q3) * z + _Q2) * z + _Q1) * z + _Q0
    signed = x * (p / q)
    return min(max(signed, -HALF32), HALF32) + HALF32


# 1 / (1 + exp(-x)), where the division is there anyway: exp(r) is (Q + r) / (Q - r), Q = r / tanh(r / 2), a polynomial in r^2
# of half the terms, fitted to 6e-10 of exp(r) for |r| <= ln2 / 2. Q - r is halved, in its exponent (a NaN stays in Q + r), so
# that 2^n is one multiplication, or inf for x below -88.7; above 86 it adds nothing. The constant that rounds n adds the bias of
# the exponent to it. At most 2.5 ulp from the exact value, as PyTorch's; with a polynomial for exp(r) it took a fifth longer.
_SIGMOID_MIN32 = np.float32(-89.4)
_SIGMOID_MAX32 = np.float32(86.0)
_ROUND_BIASED32 = np.float32(12582912.0 + 126.0)
_COTH2, _COTH1, _COTH0 = np.float32(-2.7659847e-3), np.float32(1.6666618e-1), np.float32(2.0)


@jit_exact
def _sigmoid32(x: Any) -> Any:
    x = min(max(x, _SIGMOID_MIN32), _SIGMOID_MAX32)
    shifted = _ROUND_BIASED32 - x * _LOG2_E32
    n = shifted - _ROUND_BIASED32
    r = -x - n * _LN2_HIGH32
    r = r - n * _LN2_LOW32
    square = r * r
    q = (_COTH2 * square + _COTH1) * square + _COTH0
    half = from_bits(np.int32(bits(q - r) - _EXPONENT_ONE32))
    return half / (half + (q + r) * from_bits(np.int32(bits(shifted) << EXPONENT_SHIFT32)))


# With AVX-512, x / (1 + exp(-x)), exp(-x) = 2^n exp(r), n in units of 1/32 and |r| <= ln2 / 64: the powers of 2^(1/32) lie in two
# registers, and the power of an integer is one instruction. r + r^2 / 2 misses exp(r) - 1 by 2e-7; a slope that is a little
# larger leaves a quarter of that. Two thirds of the operations: 16 MiB take 0.83 of the time. At most 4 ulp from the exact value,
# 1.7 times as far as PyTorch's.
_POWERS = np.exp2(np.arange(32) / 32)
_ROUND_TO_32ND = 1.5 * 2.0 ** (23 - 5)
_SLOPE = 1.0 + (math.log(2.0) / 64) ** 2 / 8
_SILU_MAX = 104.0  # exp of it is infinite, exp of its negative nothing beside 1


@vector_function
def silu_by_table(registers: Registers, x: Any) -> Any:
    """x sigmoid(x) of a float32, where the processor has such registers (`vector.AVAILABLE`)."""
    constant, fma, builder = registers.constant, registers.multiply_add, registers.builder
    within = registers.limited(x, _SILU_MAX)
    shifted = fma(within, constant(-_LOG2_E32), constant(_ROUND_TO_32ND))
    n = builder.fsub(shifted, constant(_ROUND_TO_32ND))
    r = fma(n, constant(-_LN2_LOW32), fma(n, constant(-_LN2_HIGH32), builder.fneg(within)))
    small = builder.fmul(r, fma(r, constant(0.5), constant(_SLOPE)))
    power = registers.look_up(_POWERS, shifted)
    exponential = registers.scaled(fma(power, small, power), n)
    return builder.fdiv(x, builder.fadd(exponential, constant(1.0)))


# tanh, float64: Cephes tanh.c, x + x z P(z) / Q(z), z = x^2, for |x| < 0.625; else as in float32. At most 1.1 ulp from the
# exact value, as libm, which takes 14 times as long.
_TANH_P64 = (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
_TANH_Q64 = (1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)
_TANH_NEAR64 = 0.625
_TANH_MAX64 = 44.0  # of 2 |x|


@jit_exact
def _tanh64(x: Any) -> Any:
    size = abs(x)
    z = x * x
    p = (_TANH_P64[0] * z + _TANH_P64[1]) * z + _TANH_P64[2]
    q = ((z + _TANH_Q64[0]) * z + _TANH_Q64[1]) * z + _TANH_Q64[2]
    near = size + size * (z * (p / q))
    double = min(size + size, _TANH_MAX64)
    shifted = double * LOG2_E64 + ROUND64
    n = shifted - ROUND64
    r = double - n * LN2_HIGH64
    r = r - n * LN2_LOW64
    far = 1.0 - 2.0 / (exp_reduced64(r) * from_bits((bits(shifted) + 1023) << 52) + 1.0)
    return math.copysign(near if size < _TANH_NEAR64 else far, x)


@jit_exact
def _sigmoid64(x: Any) -> Any:
    return 1.0 / (1.0 + _exp64(-x))


# libm where no polynomial of full precision is at hand: not vectorised.
@jit_exact
def _gauss64(x: Any) -> Any:
    return math.exp(-0.5 * x * x)


@jit_exact
def _normal_cdf64(x: Any) -> Any:
    return 0.5 * math.erfc(-x * _SQRT_HALF)


@jit_exact
def log_share(x: Any, largest: Any, logarithm: Any) -> Any:
    """The logarithm of exp(x) / sum, `logarithm` that of the sum's ratio to exp(largest).

    In this order: where sums may be reassociated, the last two would be added first and rounded at the size of x.
    """
    return (x - largest) - logarithm


def exp(x: Any) -> Any:
    """e to the power x; at most 2 ulp in float32 and in float64."""


def exp_nonpositive(x: Any) -> Any:
    """e to the power x for x <= 0 (or NaN)."""


def exp2_nonpositive(x: Any) -> Any:
    """2 to the power x for x <= 0 (or NaN); at most 1 ulp (2 in float64) off, and in float32 0 below 2^-126."""


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""


def gauss(x: Any) -> Any:
    """exp(-x^2 / 2)."""


def normal_cdf(x: Any) -> Any:
    """The standard normal distribution function Phi; in float32 at most 1.9e-7 from the exact value."""


def _by_type(function: Any, single: Any, double: Any) -> None:
    """In jitted code, `function` is `single` for a float32 and `double` for a float64."""

    def choose(x):  # no annotations: Numba compares them with those of the lambdas
        return (lambda x: single(x)) if x == types.float32 else (lambda x: double(x))

    overload(function, jit_options=_OPTIONS)(choose)


_by_type(exp, _exp32, _exp64)
_by_type(exp_nonpositive, _exp_nonpositive32, _exp64)
_by_type(exp2_nonpositive, _exp2_nonpositive32, _exp2_nonpositive64)
_by_type(tanh, _tanh32, _tanh64)
_by_type(sigmoid, _sigmoid32, _sigmoid64)
_by_type(gauss, _gauss32, _gauss64)
_by_type(normal_cdf, _normal_cdf32, _normal_cdf64)
