"""Floating-point numbers of 8 bits: their values, and the rounding of float32 to them as PyTorch does it on a CPU.

Beyond the largest number float8_e4m3fn saturates, also at infinity, and keeps the sign of NaN; float8_e5m2 becomes infinite, and
the two of one zero NaN. float8_e8m0fnu is a power of two: it has no sign, and zero becomes the smallest one.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import _dtypes
from ..sizes import MANY

Array = Any
FLOAT8 = frozenset(dtype for dtype in _dtypes.STORED if dtype.itemsize == 1)


@functools.cache
def values(dtype: np.dtype) -> np.ndarray:
    """The float32 of each of the 256 bit patterns."""
    found: np.ndarray = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    if dtype.name.endswith("fnuz"):
        found[128] = np.nan  # the only NaN, which has no sign
    found.flags.writeable = False
    return found


def extended(bits: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The float32 of bits of `dtype`, in row-major order."""
    if bits.size >= MANY and dtype != _dtypes.float8_e8m0fnu:
        from lucid_kernels.cpu.elementwise import float8 as kernels

        return kernels.widen(bits, dtype.name)
    return np.asarray(np.take(values(dtype), bits))


def rounded(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The bits of float32 numbers as `dtype`, in row-major order."""
    bits: np.ndarray
    if x.size >= MANY and dtype != _dtypes.float8_e8m0fnu:
        from lucid_kernels.cpu.elementwise import float8 as kernels

        return kernels.narrow(x, dtype.name)
    with np.errstate(all="ignore"):
        if dtype == _dtypes.float8_e8m0fnu:
            bits = np.asarray(np.abs(x)).astype(dtype).view(np.uint8)
            bits[x == 0] = 0
            return bits
        bits = x.astype(dtype, order="C").view(np.uint8)
    if dtype == _dtypes.float8_e4m3fn:
        bits -= ((bits & 0x7F) == 0x7F) & ~np.isnan(x)
    elif dtype == _dtypes.float8_e5m2:
        bits |= (bits & 0x7F) > 0x7C  # NaN has one pattern
    return bits
