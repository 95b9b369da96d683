"""Numbers from gamma distributions of rate 1, by rejection: Marsaglia & Tsang, "A simple method for generating gamma
variables", 2000.

Element i has the counter ``offset + i``, one block of four words for the factor that shapes below 1 take, and the blocks of its
attempts, which the third word of the counter numbers from 1 on. An attempt takes a normal number of 53 and 32 bits, and a
uniform one of 32 bits. Up to the exponential function of small shapes the arithmetic is that of a GPU, bit for bit.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, result
from ..runtime.jit import jit_parallel, jit_strict
from ..runtime.tuning import FEW_SLOW_ELEMENTS as _PIECE
from .random import _bits53, _box_muller64, _log64, _round, _uint64

_ATTEMPTS = 200  # of which one in twenty fails
_WEYL0, _WEYL1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_SHIFT32, _LOW5 = np.uint64(32), np.int64(21)


@jit_strict
def _block(counter: Any, attempt: Any, seed: Any) -> Any:
    """The four words of a counter's block `attempt`."""
    c0, c1, c2, c3 = np.uint32(counter), np.uint32(counter >> _SHIFT32), np.uint32(attempt), np.uint32(0)
    k0, k1 = np.uint32(seed), np.uint32(seed >> _SHIFT32)
    for _ in range(10):
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
        k0, k1 = np.uint32(k0 + _WEYL0), np.uint32(k1 + _WEYL1)
    return c0, c1, c2, c3


@jit_strict
def _cube_root(d: Any, counter: Any, seed: Any) -> Any:
    """The root v of an accepted number ``d * v^3``."""
    c = 1.0 / np.sqrt(9.0 * d)
    for attempt in range(1, _ATTEMPTS):
        w0, w1, w2, w3 = _block(counter, attempt, seed)
        normal, _ = _box_muller64(_bits53(w0, w1), np.int64(w2) << _LOW5)
        v = 1.0 + c * normal
        if v > 0.0:
            square, unit = normal * normal, (np.float64(w3) + 0.5) * 2.0**-32
            cube = v * v * v
            # The first condition is the second's squeeze, without logarithms.
            if unit < 1.0 - 0.0331 * (square * square) or _log64(unit) < 0.5 * square + d * ((1.0 - cube) + _log64(cube)):
                return v
    return 1.0


@jit_strict
def _number(shape: Any, counter: Any, seed: Any, log: Any) -> Any:
    if not (shape >= 0.0 and shape < np.inf):
        return shape if shape > 0.0 else np.nan
    small = shape < 1.0
    d = (shape + 1.0 if small else shape) - 1.0 / 3.0
    v = _cube_root(d, counter, seed)
    exponent = 0.0
    if small:
        w0, w1, _, _ = _block(counter, 0, seed)
        exponent = _log64((np.float64(_bits53(w0, w1)) + 0.5) * 2.0**-53) / shape
    if log:
        return _log64(d) + 3.0 * _log64(v) + exponent
    cube = d * (v * v * v)
    return cube * np.exp(exponent) if small else cube


@jit_parallel
def _numbers(shape: Any, y: Any, seed: Any, offset: Any, log: Any, least: float) -> None:
    for i in numba.prange((y.shape[0] + _PIECE - 1) // _PIECE):
        for j in range(i * _PIECE, min(y.shape[0], (i + 1) * _PIECE)):
            number = _number(np.float64(shape[j]), np.uint64(offset + np.uint64(j)), seed, log)
            y[j] = least if number < least else number


@upcast_half
def random_gamma(shape: Array, *, seed: int, offset: int, log: bool = False, out: Array | None = None) -> Array:
    """A number from the gamma distribution of each `shape`, or its logarithm, which does not underflow; NaN for negative shapes.

    Numbers are at least the smallest normal one of their dtype.
    """
    y = result(out, shape.shape, shape.dtype)
    least = -np.inf if log else float(np.finfo(y.dtype).tiny)
    _numbers(contiguous(shape).reshape(-1), y.reshape(-1), _uint64(seed), _uint64(offset), log, least)
    return deliver(out, y)
