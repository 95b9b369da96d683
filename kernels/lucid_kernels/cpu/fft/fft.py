"""Fourier transforms along the last dimension, of lengths that are products of 4 and powers of 2, 3 and 5.

A row goes through steps of radix 8, or 4, then of 5 and 3, that stay in registers (`microkernels.py`), between two
buffers in the L1 cache; threads share the rows. Real numbers are taken as half as many complex ones. NumPy's pocketfft uses no
vectors, and converts single precision to double and back unless it scales.
"""
from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

from ..arrays.layout import Array, contiguous
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel
from ..simd.address import address_of
from ..simd.aligned import aligned_empty
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.pointer import moved, pointer
from .microkernels import combine_halves, make_first, make_last, make_middle

_FORWARD, _INVERSE, _TO_HALF, _TO_WHOLE, _FROM_HALF = range(5)
# Complex numbers of one iteration of a parallel loop: 8 us and more. A thread that sleeps takes three times as long to come.
_SHARE = 1 << 13

_TURN = 8 * np.arctan(np.longdouble(1))
# By the bytes of a real number.
_REAL: dict[int, np.dtype[Any]] = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}
_COMPLEX: dict[int, np.dtype[Any]] = {4: np.dtype(np.complex64), 8: np.dtype(np.complex128)}

_first_eight, _first = (make_first(8, most, True) for most in (8, VECTOR_BYTES))
# Of lengths that are no powers of 2, and of 32.
_first_four_of_any, _first_eight_of_any = (make_first(8, most, False) for most in (4, 8))
_first_of_four = make_first(4, 8, False)
_middle_four_of_eight, _middle_four = (make_middle(4, most) for most in (8, VECTOR_BYTES))
_middle_eight_of_eight, _middle_eight = (make_middle(8, most) for most in (8, VECTOR_BYTES))
_last_four_of_eight, _last_four = (make_last(4, most) for most in (8, VECTOR_BYTES))
_last_eight_of_eight, _last_eight = (make_last(8, most) for most in (8, VECTOR_BYTES))
# Behind a first step of radix 4, of which 4 are neighbours, and all others: these steps are few.
_middle_two, _middle_three, _middle_five = (make_middle(radix, 8) for radix in (2, 3, 5))
_middle_three_of_four, _middle_five_of_four = (make_middle(radix, 4) for radix in (3, 5))
_last_three, _last_five = (make_last(radix, 8) for radix in (3, 5))


def _radices(size: int) -> list[int]:
    """The radix of each step: 8 as long as it goes, but 4 twice instead of 8 and 2, then 5 and 3."""
    found: list[int] = []
    rest = size
    for radix in (8, 4, 2, 5, 3):
        while rest % radix == 0:
            if radix == 8 and found and rest % 16 == 0 and rest % 32:
                break
            found.append(radix)
            rest //= radix
    return found


@functools.lru_cache(maxsize=64)
def _plan(size: int, itemsize: int, real: bool) -> tuple[Array, Array]:
    """The radices of the steps of a transform of `size` complex numbers, and what they multiply by, one step after the
    other, in their order.

    For a `real` one, what `combine_halves` needs comes behind.
    """
    def turns(values: Array, n: int) -> Array:
        """With angles more exact than float64, whose errors would be three times those of the sums."""
        return np.exp(-1j * (_TURN / n * (values % n))).astype(np.complex128)

    def apart(values: Array) -> Array:
        return np.stack([values.real, values.imag], -2).ravel()

    first, *others = radices = _radices(size)
    n = size // first
    steps = [apart(turns(np.arange(1, first)[:, None] * np.arange(n), size))]
    for radix in others[:-1]:
        steps.append(turns(np.arange(n // radix)[:, None] * np.arange(1, radix), n).ravel().view(np.float64))
        n //= radix
    if real:
        steps.append(apart(-1j * turns(np.arange(size // 2), 2 * size)))
    return np.array(radices), np.concatenate(steps).astype(_REAL[itemsize])


@jit_exact
def _transform(source, target, room, factors, radices, size, sign, scale, like):
    """One row; a `sign` of -1 gives the inverse. The factors behind those of the steps."""
    lanes, s = VECTOR_BYTES // like.itemsize, radices[0]
    m = size // 4 if s == 4 else size // 8  # dividing by what is not a constant takes a tenth of the time of 64 elements
    here, there = room, moved(room, 2 * size)
    if s == 4:
        _first_of_four(source, here, factors, size, sign)
    elif m % lanes == 0:
        _first(source, here, factors, size, sign)
    elif m == 8:
        _first_eight(source, here, factors, size, sign)
    elif m > 8:
        _first_eight_of_any(source, here, factors, size, sign)
    else:
        _first_four_of_any(source, here, factors, size, sign)
    factors = moved(factors, 2 * (s - 1) * m)
    for step in range(1, radices.shape[0] - 1):
        radix = radices[step]
        if radix == 8:
            m //= 8
            if s >= lanes:
                _middle_eight(here, there, factors, size, s, m)
            else:
                _middle_eight_of_eight(here, there, factors, size, s, m)
        elif radix == 4:
            m //= 4
            if s >= lanes:
                _middle_four(here, there, factors, size, s, m)
            else:
                _middle_four_of_eight(here, there, factors, size, s, m)
        elif radix == 5:
            m //= 5
            if s >= 8:
                _middle_five(here, there, factors, size, s, m)
            else:
                _middle_five_of_four(here, there, factors, size, s, m)
        elif radix == 3:
            m //= 3
            if s >= 8:
                _middle_three(here, there, factors, size, s, m)
            else:
                _middle_three_of_four(here, there, factors, size, s, m)
        else:
            m //= 2
            _middle_two(here, there, factors, size, s, m)
        factors, s = moved(factors, 2 * (radix - 1) * m), s * radix
        here, there = there, here
    if m == 5:
        _last_five(here, target, size, scale, sign * scale)
    elif m == 3:
        _last_three(here, target, size, scale, sign * scale)
    elif m == 4:
        if s >= lanes:
            _last_four(here, target, size, scale, sign * scale)
        else:
            _last_four_of_eight(here, target, size, scale, sign * scale)
    elif s >= lanes:
        _last_eight(here, target, size, scale, sign * scale)
    else:
        _last_eight_of_eight(here, target, size, scale, sign * scale)
    return factors


@jit_exact
def _to_half(source, target, room, factors, radices, size, scale, weight, like):
    """One row of 2 `size` real numbers: `size` + 1 complex ones, those within times `weight`."""
    one, half = like.dtype.type(1), like.dtype.type(0.5)
    buffer = moved(room, 4 * size)
    rest = _transform(source, buffer, room, factors, radices, size, one, one, like)
    z, y = carray(buffer, (2 * size + 2,)), carray(target, (2 * size + 2,))
    z[2 * size], z[2 * size + 1] = z[0], z[1]
    combine_halves(buffer, target, rest, size, half * scale * weight, one)
    y[size], y[size + 1] = z[size] * scale * weight, -z[size + 1] * scale * weight
    y[0], y[1] = (z[0] + z[1]) * scale, 0
    y[2 * size], y[2 * size + 1] = (z[0] - z[1]) * scale, 0


@jit_exact
def _to_whole(source, target, room, factors, radices, size, scale, like):
    """`_to_half`, and the conjugates of its elements in the other half."""
    _to_half(source, target, room, factors, radices, size, scale, like.dtype.type(1), like)
    y, n = carray(target, (4 * size,)), 2 * size
    for k in range(1, size):
        y[2 * (n - k)] = y[2 * k]
        y[2 * (n - k) + 1] = -y[2 * k + 1]


@jit_exact
def _from_half(source, target, room, factors, radices, size, scale, weight, like):
    """The inverse of `_to_half`, but for what a transform there and back multiplies by."""
    one, two = like.dtype.type(1), like.dtype.type(2)
    buffer = moved(room, 4 * size)
    combine_halves(source, buffer, moved(factors, like.shape[0] - size), size, weight, -one)
    x, z = carray(source, (2 * size + 2,)), carray(buffer, (2 * size + 2,))
    z[size], z[size + 1] = two * x[size] * weight, -two * x[size + 1] * weight
    z[0], z[1] = x[0] + x[2 * size], x[0] - x[2 * size]
    _transform(buffer, target, room, factors, radices, size, -one, scale, like)


@jit_exact
def _rows_per_task(rows, size):
    """The rows of one iteration of a parallel loop, the same for all but the last."""
    tasks = max(1, rows * size // _SHARE)
    return (rows + tasks - 1) // tasks


@jit_parallel
def _transform_rows(kind: int, source: int, target: int, rows: int, size: int, scale: float, weight: float,
                    radices: Any, factors: Any) -> None:
    """`rows` rows, one behind the other at an address, of `size` complex numbers or twice as many real ones."""
    each = _rows_per_task(rows, size)
    for task in numba.prange((rows + each - 1) // each):
        room = aligned_empty(6 * size + 2, factors)
        space, table = pointer(factors, room.ctypes.data), pointer(factors, factors.ctypes.data)
        x, y = pointer(factors, source), pointer(factors, target)
        width, half = 2 * size, 2 * size + 2
        number = factors.dtype.type
        for row in range(task * each, min(rows, (task + 1) * each)):
            if kind == _TO_HALF:
                _to_half(moved(x, row * width), moved(y, row * half), space, table, radices, size, number(scale), number(weight),
                         factors)
            elif kind == _TO_WHOLE:
                _to_whole(moved(x, row * width), moved(y, 2 * row * width), space, table, radices, size, number(scale), factors)
            elif kind == _FROM_HALF:
                _from_half(moved(x, row * half), moved(y, row * width), space, table, radices, size, number(scale),
                           number(weight), factors)
            else:
                sign = number(1 if kind == _FORWARD else -1)
                _transform(moved(x, row * width), moved(y, row * width), space, table, radices, size, sign, number(scale),
                           factors)


@jit_exact
def _multiply(x, window, product, count):
    a, b, y = carray(x, (count,)), carray(window, (count,)), carray(product, (count,))
    for i in range(count):
        y[i] = a[i] * b[i]


@jit_parallel
def _transform_windows(source: int, length: int, step: int, count: int, window: int, target: int, rows: int, size: int,
                       scale: float, radices: Any, factors: Any) -> None:
    """`count` windows, `step` apart, of each of the signals of `length` at an address, times those at another one."""
    each = _rows_per_task(rows, size)
    for task in numba.prange((rows + each - 1) // each):
        room = aligned_empty(8 * size + 2, factors)
        product, table = pointer(factors, room.ctypes.data), pointer(factors, factors.ctypes.data)
        space, number = moved(product, 2 * size), factors.dtype.type
        for row in range(task * each, min(rows, (task + 1) * each)):
            x = moved(pointer(factors, source), row // count * length + row % count * step)
            _multiply(x, pointer(factors, window), product, 2 * size)
            y = moved(pointer(factors, target), row * (2 * size + 2))
            _to_half(product, y, space, table, radices, size, number(scale), number(1), factors)


def transform(x: Array, *, forward: bool, scale: float) -> Array:
    """The transforms, times `scale`, of complex numbers along the last dimension, or the inverse without 1/n.

    For products of 4 and powers of 2, 3 and 5 from 32 to 4096; complex64 or complex128, any strides.
    """
    x, n = contiguous(x), x.shape[-1]
    y = empty(x.shape, x.dtype)
    kind = _FORWARD if forward else _INVERSE
    _transform_rows(kind, address_of(x), address_of(y), x.size // n, n, scale, 1.0, *_plan(n, x.itemsize // 2, False))
    return y


def transform_to_half(x: Array, *, scale: float, weight: float) -> Array:
    """The first n / 2 + 1 elements of the transforms of real numbers along the last dimension, times `scale`; those that stand
    for two of the transform also times `weight`.

    For lengths of twice those of `transform`; float32 or float64, any strides.
    """
    x, n = contiguous(x), x.shape[-1]
    size, item = n // 2, x.itemsize
    y = empty((*x.shape[:-1], size + 1), _COMPLEX[item])
    _transform_rows(_TO_HALF, address_of(x), address_of(y), x.size // n, size, scale, weight, *_plan(size, item, True))
    return y


def transform_to_whole(x: Array, *, scale: float) -> Array:
    """`transform_to_half` with all elements of the transforms."""
    x, n = contiguous(x), x.shape[-1]
    item = x.itemsize
    y = empty(x.shape, _COMPLEX[item])
    _transform_rows(_TO_WHOLE, address_of(x), address_of(y), x.size // n, n // 2, scale, 1.0, *_plan(n // 2, item, True))
    return y


def transform_from_half(x: Array, *, length: int, scale: float, weight: float) -> Array:
    """The inverse without 1/n of `transform_to_half`, times `scale`: `length` real numbers of length / 2 + 1 complex ones.

    Those that stand for two are multiplied by `weight` before; the imaginary parts of the first and the last do not count.
    """
    x, size = contiguous(x), length // 2
    item = x.itemsize // 2
    y = empty((*x.shape[:-1], length), _REAL[item])
    _transform_rows(_FROM_HALF, address_of(x), address_of(y), y.size // length, size, scale, weight, *_plan(size, item, True))
    return y


def transform_windows(x: Array, window: Array, *, step: int, scale: float) -> Array:
    """`transform_to_half` of all parts, `step` apart, of signals (batch, time), times `window` (n,): (batch, parts, n / 2 + 1).

    Copies of the parts stay in the cache: half of the time of all of them at once, for 1000 of 256 samples.
    """
    x, window, (batch, length), n = contiguous(x), contiguous(window), x.shape, window.shape[0]
    size, count, item = n // 2, (length - n) // step + 1, x.itemsize
    y = empty((batch, count, size + 1), _COMPLEX[item])
    _transform_windows(address_of(x), length, step, count, address_of(window), address_of(y), batch * count, size, scale,
                       *_plan(size, item, True))
    return y
