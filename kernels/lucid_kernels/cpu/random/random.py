"""Random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).

Block `q` of four 32-bit words is philox(counter=(lo, hi, 0, 0), key=(seed low, seed high)), where hi:lo is
`q + offset` modulo 2^64. Element `i` of a result depends on `(seed, offset, i)` only, bit for bit the same on a CPU
and on a GPU: integer operations, and below only IEEE `*`, `+`, `sqrt`, `/` and fma, in the order written here.

With `w0..w3` the words of a block, `word(i)` the word `i % 4` of block `i // 4`, and for 64-bit results of element `i`
`(a, b)` the words `2 * (i % 2)` and `2 * (i % 2) + 1` of block `i // 2`:

- uniform float32:   min(unit * span + low, top), see `uniform_range.py`; unit = (word(i) >> 8) * 2^-24
- uniform float64:   the same with unit = bits53(a, b) * 2^-53, where bits53(a, b) = (a >> 5) * 2^26 + (b >> 6)
- uniform float16, bfloat16: the float32 number cut to a multiple of a power of two, of 2^-11 and 2^-8 in [0, 1)
- exponential float32: exponential(word(i)); float64: exponential(bits53(a, b))
- integers in [low, high):  low + (((a * 2^32 + b) * (high - low)) >> 64), the product taken in 128 bits
- normal float32:    elements 4q, 4q+1 are box_muller(w0, w1) of block q, elements 4q+2, 4q+3 are box_muller(w2, w3)
- normal float64:    elements 2q, 2q+1 are box_muller(bits53(w0, w1), bits53(w2, w3)) of block q
- normal float16, bfloat16: the float32 number, rounded
- dropout:           element i stays where word(i) >= floor(p * 2^32)

box_muller(m, v), the first the cosine half and the second the sine half (float32 | float64):

    u = fma(real(m), 2^-32, 2^-33)                    |  fma(real(m), 2^-53, 2^-54)              in (0, 1]
    radius = sqrt(-2 * log(u)),                           see `_log32`, `_log64`
    t = v + 2^29 modulo 2^32, quadrant = t >> 30      |  t = v + 2^50 modulo 2^53, quadrant = t >> 51
    d = (t & (2^30 - 1)) - 2^29                       |  d = (t & (2^51 - 1)) - 2^50
    x = real(2 * d + 1) * (pi * 2^-32)                |  real(2 * d + 1) * (pi * 2^-53)          in (-pi/4, pi/4)
    s, c = sine and cosine of x,                          see `_sine_cosine32`, `_sine_cosine64`
    quadrant 0: (c, s)   1: (-s, c)   2: (-c, -s)   3: (s, -c)
    result: (radius * first, radius * second)

exponential(m) is -log(u) with u = 2^e (1 + f) as above, but where e = 0 the complement gives f, as u is near 1 there and
the result must not be 0: f = -fma(real(2^32 - 1 - m), 2^-32, 2^-33) | -fma(real(2^53 - 1 - m), 2^-53, 2^-54).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucid_kernels.uniform_range import uniform_range

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, result
from ..arrays.loops import compile_source
from ..math.basic import bits, fma, from_bits
from ..runtime.jit import jit_strict

# Blocks made at once: their words (16 KiB) and the samples made of them stay in the first-level cache.
BLOCKS = 1024

_MULTIPLIER0 = np.uint64(0xD2511F53)
_MULTIPLIER1 = np.uint64(0xCD9E8D57)
_WEYL0 = np.uint32(0x9E3779B9)
_WEYL1 = np.uint32(0xBB67AE85)
_SHIFT32 = np.uint64(32)


@jit_strict
def _round(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """One of the ten rounds; all arguments and results are uint32."""
    product0 = np.uint64(c0) * _MULTIPLIER0
    product1 = np.uint64(c2) * _MULTIPLIER1
    high0 = np.uint32(product0 >> _SHIFT32)
    high1 = np.uint32(product1 >> _SHIFT32)
    return np.uint32(high1 ^ c1 ^ k0), np.uint32(product1), np.uint32(high0 ^ c3 ^ k1), np.uint32(product0)


@jit_strict
def _words(chunk: int, count: int, seed: Any, offset: Any) -> Any:
    """The first `count` blocks of a chunk as four uint32 arrays, one for each word."""
    w0 = np.empty(count, np.uint32)
    w1 = np.empty(count, np.uint32)
    w2 = np.empty(count, np.uint32)
    w3 = np.empty(count, np.uint32)
    first = np.uint64(offset + np.uint64(chunk * BLOCKS))
    for i in range(count):
        counter = np.uint64(first + np.uint64(i))
        c0 = np.uint32(counter)
        c1 = np.uint32(counter >> _SHIFT32)
        c2 = np.uint32(0)
        c3 = np.uint32(0)
        k0 = np.uint32(seed)
        k1 = np.uint32(seed >> _SHIFT32)
        # A function of ten rounds is too large for LLVM to inline: the loop over i would be scalar and take 5.8 times
        # as long.
        for _ in range(10):
            c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
            k0 = np.uint32(k0 + _WEYL0)
            k1 = np.uint32(k1 + _WEYL1)
        w0[i] = c0
        w1[i] = c1
        w2[i] = c2
        w3[i] = c3
    return w0, w1, w2, w3


@jit_strict
def _copy(source: Any, target: Any) -> None:
    for i in range(target.shape[0]):
        target[i] = source[i]


# --- float32 pieces. A constant is float32: a Python literal would make the arithmetic float64. ---

_ONE = np.float32(1.0)
_HALF = np.float32(0.5)
_TWO_POW_M24 = np.float32(2.0**-24)
_TWO_POW_M32 = np.float32(2.0**-32)
_TWO_POW_M33 = np.float32(2.0**-33)
_ANGLE32 = np.float32(math.pi * 2.0**-32)
_SQRT_HALF_BITS32 = np.int32(0x3F3504F3)
_ONE_MINUS_SQRT_HALF_BITS32 = np.int32(0x3F800000 - 0x3F3504F3)
_MANTISSA32 = np.int32(0x007FFFFF)
_LN2_HIGH32 = np.float32(0.693359375)
_LN2_LOW32 = np.float32(-2.12194440e-4)
# Cephes logf, sinf, cosf.
LOG32 = tuple(
    np.float32(c)
    for c in (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip
SINE32 = tuple(np.float32(c) for c in (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1))
COSINE32 = tuple(np.float32(c) for c in (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2))


@jit_strict
def _split32(u: Any) -> Any:
    """e and f of a normal float32 u = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)."""
    shifted = np.int32(bits(u) + _ONE_MINUS_SQRT_HALF_BITS32)
    e = np.float32(np.int32(np.int32(shifted >> np.int32(23)) - np.int32(127)))
    return e, from_bits(np.int32(np.int32(shifted & _MANTISSA32) + _SQRT_HALF_BITS32)) - _ONE


@jit_strict
def _log_split32(e: Any, f: Any) -> Any:
    """log(2^e (1 + f))."""
    z = f * f
    p = fma(LOG32[0], f, LOG32[1])
    p = fma(p, f, LOG32[2])
    p = fma(p, f, LOG32[3])
    p = fma(p, f, LOG32[4])
    p = fma(p, f, LOG32[5])
    p = fma(p, f, LOG32[6])
    p = fma(p, f, LOG32[7])
    p = fma(p, f, LOG32[8])
    y = (p * f) * z
    y = fma(e, _LN2_LOW32, y)
    y = fma(-_HALF, z, y)
    return fma(e, _LN2_HIGH32, f + y)


@jit_strict
def _log32(u: Any) -> Any:
    """log(u) for a normal float32 u <= 1."""
    e, f = _split32(u)
    return _log_split32(e, f)


@jit_strict
def _exponential32(m: Any) -> Any:
    e, f = _split32(fma(np.float32(m), _TWO_POW_M32, _TWO_POW_M33))
    rest = fma(np.float32(np.uint32(m ^ np.uint32(0xFFFFFFFF))), _TWO_POW_M32, _TWO_POW_M33)
    return -_log_split32(e, f if e != 0 else -rest)


@jit_strict
def _sine_cosine32(x: Any) -> Any:
    z = x * x
    p = fma(SINE32[0], z, SINE32[1])
    p = fma(p, z, SINE32[2])
    sine = fma(p * z, x, x)
    q = fma(COSINE32[0], z, COSINE32[1])
    q = fma(q, z, COSINE32[2])
    cosine = fma(q * z, z, fma(-_HALF, z, _ONE))
    return sine, cosine


@jit_strict
def _box_muller32(m: Any, v: Any) -> Any:
    u = fma(np.float32(m), _TWO_POW_M32, _TWO_POW_M33)
    radius = np.sqrt(np.float32(-2.0) * _log32(u))
    t = np.uint32(v + np.uint32(1 << 29))
    quadrant = np.uint32(t >> np.uint32(30))
    d = np.int32(np.int32(t & np.uint32((1 << 30) - 1)) - np.int32(1 << 29))
    x = np.float32(np.int32(np.int32(d + d) + np.int32(1))) * _ANGLE32
    sine, cosine = _sine_cosine32(x)
    odd = np.uint32(quadrant & np.uint32(1)) != 0
    first = sine if odd else cosine
    second = cosine if odd else sine
    first = -first if np.uint32(np.uint32(quadrant + np.uint32(1)) & np.uint32(2)) != 0 else first
    second = -second if np.uint32(quadrant & np.uint32(2)) != 0 else second
    return radius * first, radius * second


# --- float64 pieces ---

_TWO_POW_M53 = 2.0**-53
_TWO_POW_M54 = 2.0**-54
_ANGLE64 = math.pi * 2.0**-53
_SQRT_HALF_BITS64 = np.int64(0x3FE6A09E667F3BCD)
_ONE_MINUS_SQRT_HALF_BITS64 = np.int64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_MANTISSA64 = np.int64(0x000FFFFFFFFFFFFF)
_LN2_HIGH64 = 6.93147180369123816490e-01
_LN2_LOW64 = 1.90821492927058770002e-10
# fdlibm e_log.c, k_sin.c, k_cos.c, highest power first.
LOG64 = (
    1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
    2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01,
)  # fmt: skip
SINE64 = (
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
    -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
)  # fmt: skip
COSINE64 = (
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
    2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
)  # fmt: skip


@jit_strict
def _split64(u: Any) -> Any:
    """What `_split32` does, for a float64 u in [2^-54, 1]."""
    shifted = bits(u) + _ONE_MINUS_SQRT_HALF_BITS64
    e = np.float64((shifted >> 52) - 1023)
    return e, from_bits((shifted & _MANTISSA64) + _SQRT_HALF_BITS64) - 1.0


@jit_strict
def _log_split64(e: Any, f: Any) -> Any:
    s = f / (2.0 + f)
    z = s * s
    p = fma(LOG64[0], z, LOG64[1])
    p = fma(p, z, LOG64[2])
    p = fma(p, z, LOG64[3])
    p = fma(p, z, LOG64[4])
    p = fma(p, z, LOG64[5])
    p = fma(p, z, LOG64[6])
    r = p * z
    h = (0.5 * f) * f
    y = fma(s, h + r, e * _LN2_LOW64)
    return fma(e, _LN2_HIGH64, f - (h - y))


@jit_strict
def _log64(u: Any) -> Any:
    e, f = _split64(u)
    return _log_split64(e, f)


@jit_strict
def _exponential64(m: Any) -> Any:
    e, f = _split64(fma(np.float64(m), _TWO_POW_M53, _TWO_POW_M54))
    rest = fma(np.float64(((1 << 53) - 1) - m), _TWO_POW_M53, _TWO_POW_M54)
    return -_log_split64(e, f if e != 0 else -rest)


@jit_strict
def _sine_cosine64(x: Any) -> Any:
    z = x * x
    p = fma(SINE64[0], z, SINE64[1])
    p = fma(p, z, SINE64[2])
    p = fma(p, z, SINE64[3])
    p = fma(p, z, SINE64[4])
    p = fma(p, z, SINE64[5])
    sine = fma(p * z, x, x)
    q = fma(COSINE64[0], z, COSINE64[1])
    q = fma(q, z, COSINE64[2])
    q = fma(q, z, COSINE64[3])
    q = fma(q, z, COSINE64[4])
    q = fma(q, z, COSINE64[5])
    cosine = fma(q * z, z, fma(-0.5, z, 1.0))
    return sine, cosine


@jit_strict
def _bits53(a: Any, b: Any) -> Any:
    """The 27 high bits of `a` and the 26 high bits of `b`, as int64."""
    return (np.int64(a >> np.uint32(5)) << np.int64(26)) + np.int64(b >> np.uint32(6))


@jit_strict
def _box_muller64(m: Any, v: Any) -> Any:
    u = fma(np.float64(m), _TWO_POW_M53, _TWO_POW_M54)
    radius = np.sqrt(-2.0 * _log64(u))
    t = (v + (1 << 50)) & ((1 << 53) - 1)
    quadrant = t >> 51
    d = (t & ((1 << 51) - 1)) - (1 << 50)
    x = np.float64(2 * d + 1) * _ANGLE64
    sine, cosine = _sine_cosine64(x)
    odd = (quadrant & 1) != 0
    first = sine if odd else cosine
    second = cosine if odd else sine
    first = -first if ((quadrant + 1) & 2) != 0 else first
    second = -second if (quadrant & 2) != 0 else second
    return radius * first, radius * second


# --- one chunk: BLOCKS blocks of words, made into 4 * BLOCKS float32 or 2 * BLOCKS 64-bit results ---


@jit_strict
def _in_range(unit: Any, span: Any, low: Any, top: Any) -> Any:
    number = unit * span + low
    return number if number < top else top


@jit_strict
def _uniform32(y: Any, chunk: int, seed: Any, offset: Any, span: Any, low: Any, top: Any) -> None:
    target = y[4 * BLOCKS * chunk : 4 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 3) // 4
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    made = np.empty(4 * count, np.float32)
    eight = np.uint32(8)
    for i in range(count):
        made[4 * i] = _in_range(np.float32(np.int32(w0[i] >> eight)) * _TWO_POW_M24, span, low, top)
        made[4 * i + 1] = _in_range(np.float32(np.int32(w1[i] >> eight)) * _TWO_POW_M24, span, low, top)
        made[4 * i + 2] = _in_range(np.float32(np.int32(w2[i] >> eight)) * _TWO_POW_M24, span, low, top)
        made[4 * i + 3] = _in_range(np.float32(np.int32(w3[i] >> eight)) * _TWO_POW_M24, span, low, top)
    _copy(made, target)


@jit_strict
def _uniform64(y: Any, chunk: int, seed: Any, offset: Any, span: Any, low: Any, top: Any) -> None:
    target = y[2 * BLOCKS * chunk : 2 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 1) // 2
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    made = np.empty(2 * count, np.float64)
    for i in range(count):
        made[2 * i] = _in_range(np.float64(_bits53(w0[i], w1[i])) * _TWO_POW_M53, span, low, top)
        made[2 * i + 1] = _in_range(np.float64(_bits53(w2[i], w3[i])) * _TWO_POW_M53, span, low, top)
    _copy(made, target)


@jit_strict
def _exponentials32(y: Any, chunk: int, seed: Any, offset: Any) -> None:
    target = y[4 * BLOCKS * chunk : 4 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 3) // 4
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    made = np.empty(4 * count, np.float32)
    for i in range(count):
        made[4 * i] = _exponential32(w0[i])
        made[4 * i + 1] = _exponential32(w1[i])
        made[4 * i + 2] = _exponential32(w2[i])
        made[4 * i + 3] = _exponential32(w3[i])
    _copy(made, target)


@jit_strict
def _exponentials64(y: Any, chunk: int, seed: Any, offset: Any) -> None:
    target = y[2 * BLOCKS * chunk : 2 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 1) // 2
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    made = np.empty(2 * count, np.float64)
    for i in range(count):
        made[2 * i] = _exponential64(_bits53(w0[i], w1[i]))
        made[2 * i + 1] = _exponential64(_bits53(w2[i], w3[i]))
    _copy(made, target)


@jit_strict
def _normal32(y: Any, chunk: int, seed: Any, offset: Any) -> None:
    target = y[4 * BLOCKS * chunk : 4 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 3) // 4
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    made = np.empty(4 * count, np.float32)
    for i in range(count):
        made[4 * i], made[4 * i + 1] = _box_muller32(w0[i], w1[i])
        made[4 * i + 2], made[4 * i + 3] = _box_muller32(w2[i], w3[i])
    _copy(made, target)


@jit_strict
def _normal64(y: Any, chunk: int, seed: Any, offset: Any) -> None:
    target = y[2 * BLOCKS * chunk : 2 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 1) // 2
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    made = np.empty(2 * count, np.float64)
    for i in range(count):
        made[2 * i], made[2 * i + 1] = _box_muller64(_bits53(w0[i], w1[i]), _bits53(w2[i], w3[i]))
    _copy(made, target)


@jit_strict
def _scaled(a: Any, b: Any, span: Any) -> Any:
    """The high 64 bits of (a * 2^32 + b) * span: two steps of schoolbook multiplication, neither overflows."""
    low32 = np.uint64(0xFFFFFFFF)
    span_low = np.uint64(span & low32)
    span_high = np.uint64(span >> _SHIFT32)
    a64 = np.uint64(a)
    b64 = np.uint64(b)
    middle = np.uint64(a64 * span_low + ((b64 * span_low) >> _SHIFT32))
    cross = np.uint64(b64 * span_high + np.uint64(middle & low32))
    return np.uint64(a64 * span_high + (middle >> _SHIFT32) + (cross >> _SHIFT32))


@jit_strict
def _integers(y: Any, chunk: int, seed: Any, offset: Any, low: Any, span: Any) -> None:
    target = y[2 * BLOCKS * chunk : 2 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 1) // 2
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    made = np.empty(2 * count, np.int64)
    for i in range(count):
        made[2 * i] = low + np.int64(_scaled(w0[i], w1[i], span))
        made[2 * i + 1] = low + np.int64(_scaled(w2[i], w3[i], span))
    _copy(made, target)


@jit_strict
def _dropout(y: Any, chunk: int, seed: Any, offset: Any, x: Any, threshold: Any, scale: Any) -> None:
    target = y[4 * BLOCKS * chunk : 4 * BLOCKS * (chunk + 1)]
    count = (target.shape[0] + 3) // 4
    w0, w1, w2, w3 = _words(chunk, count, seed, offset)
    factor = np.empty(4 * count, y.dtype)
    zero = y.dtype.type(0)
    for i in range(count):
        factor[4 * i] = scale if w0[i] >= threshold else zero
        factor[4 * i + 1] = scale if w1[i] >= threshold else zero
        factor[4 * i + 2] = scale if w2[i] >= threshold else zero
        factor[4 * i + 3] = scale if w3[i] >= threshold else zero
    source = x[4 * BLOCKS * chunk : 4 * BLOCKS * (chunk + 1)]
    for i in range(target.shape[0]):
        # The product, not a choice: a dropped NaN or inf gives NaN, as in PyTorch.
        target[i] = source[i] * factor[i]


# --- all chunks ---


def _parallel(fill: Any) -> Any:
    """The kernel that fills all chunks."""
    given = ", ".join(list(inspect.signature(fill.py_func).parameters)[2:])
    name = f"{fill.py_func.__name__}_parallel"
    text = f"def {name}(y, count, {given}):\n    for chunk in numba.prange(count):\n        fill(y, chunk, {given})\n"
    return compile_source(text, name, __file__, {"__name__": __name__, "fill": fill})


_uniform32_parallel, _uniform64_parallel = _parallel(_uniform32), _parallel(_uniform64)
_exponentials32_parallel, _exponentials64_parallel = _parallel(_exponentials32), _parallel(_exponentials64)
_normal32_parallel, _normal64_parallel = _parallel(_normal32), _parallel(_normal64)
_integers_parallel, _dropout_parallel = _parallel(_integers), _parallel(_dropout)


_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)  # compared by identity first: a tenth of the time of the classes


def _uint64(number: int) -> np.uint64:
    return np.uint64(number & 0xFFFFFFFFFFFFFFFF)


_seed = functools.lru_cache(maxsize=16)(_uint64)  # the same one for every call


def _fill(
    kernel: Callable[..., None],
    numbers_per_block: int,
    y: Array,
    seed: int,
    offset: int,
    *parameters: Any,
) -> None:
    """Run one of the kernels above over all chunks of a contiguous array."""
    size = y.size
    if size:
        flat = y if y.ndim == 1 else y.reshape(-1)
        kernel(flat, -(-size // (numbers_per_block * BLOCKS)), _seed(seed), _uint64(offset), *parameters)


def random_uniform(
    *,
    shape: Sequence[int],
    dtype: Any,
    seed: int,
    offset: int,
    low: float = 0.0,
    high: float = 1.0,
    out: Array | None = None,
) -> Array:
    """Uniform samples in [low, high), of any floating dtype; all are `low` if the dtype has no number between them."""
    dtype = np.dtype(dtype)
    span, start, top, step, least = uniform_range(dtype, low, high)
    if dtype == _FLOAT64:
        y = result(out, tuple(shape), dtype)
        _fill(_uniform64_parallel, 2, y, seed, offset, span, start, top)
        return deliver(out, y)
    y = result(out, tuple(shape), _FLOAT32)
    _fill(_uniform32_parallel, 4, y, seed, offset, span, start, top)
    if dtype.itemsize == 2:
        cut = np.maximum(np.floor(y / step) * step, least) if step else y
        y = np.asarray(cut).astype(dtype)  # of a 0-d array, NumPy makes a scalar
    return deliver(out, y)


def random_exponential(*, shape: Sequence[int], dtype: Any, seed: int, offset: int, out: Array | None = None) -> Array:
    """Samples above 0 from the exponential distribution of rate 1, in float32 or float64."""
    dtype = np.dtype(dtype)
    y = result(out, tuple(shape), dtype)
    kernel, per_block = (_exponentials64_parallel, 2) if dtype == _FLOAT64 else (_exponentials32_parallel, 4)
    _fill(kernel, per_block, y, seed, offset)
    return deliver(out, y)


def random_normal(*, shape: Sequence[int], dtype: Any, seed: int, offset: int, out: Array | None = None) -> Array:
    """Samples from the standard normal distribution, of any floating dtype."""
    dtype = np.dtype(dtype)
    if dtype == _FLOAT64:
        y = result(out, tuple(shape), dtype)
        _fill(_normal64_parallel, 2, y, seed, offset)
    else:
        y = result(out, tuple(shape), _FLOAT32)
        _fill(_normal32_parallel, 4, y, seed, offset)
    return deliver(out, y if y.dtype is dtype else y.astype(dtype, copy=False))


def random_integers(
    *, shape: Sequence[int], dtype: Any, low: int, high: int, seed: int, offset: int, out: Array | None = None
) -> Array:
    """Integers in [low, high), computed as int64 and converted to `dtype`.

    A value is favoured by at most (high - low) / 2^64 of its probability: the price of one multiplication for each.
    """
    y = result(out, tuple(shape), np.int64)
    _fill(_integers_parallel, 2, y, seed, offset, np.int64(low), _uint64(high - low))
    return deliver(out, y.astype(dtype, copy=False))


@upcast_half
def dropout(x: Array, *, p: float, seed: int, offset: int, out: Array | None = None) -> Array:
    """`x / (1 - p)` where the random word is at least `p * 2^32`, else `x * 0`. The gradient is `dropout(g, ...)`."""
    y = result(out, x.shape, x.dtype)
    if p == 0 or p == 1:
        np.multiply(x, x.dtype.type(1 - p), out=y)
    else:
        threshold = np.uint32(int(p * 4294967296.0))
        scale = x.dtype.type(1.0 / (1.0 - p))
        flat = contiguous(x).reshape(-1)
        _fill(_dropout_parallel, 4, y, seed, offset, flat, threshold, scale)
    return deliver(out, y)
