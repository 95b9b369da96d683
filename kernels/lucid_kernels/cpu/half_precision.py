"""Conversions between float32 and float16, by the processor's own instructions, and bfloat16; NumPy's take 8 to 20 times as long.

Processors without instructions for float16 would need a library that compiled code does not have: there NumPy converts.
"""

from __future__ import annotations

import platform
from typing import Any

import llvmlite.binding
import ml_dtypes
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config

from ._chunked import Chunked
from ._compile import jit_exact
from ._layout import Array, result
from ._microkernels import _intrinsic

_config: Any = config
_FEATURES = _config.CPU_FEATURES  # what Numba is told to compile for, or None: this processor
_F16C = llvmlite.binding.get_host_cpu_features().get("f16c", False) if _FEATURES is None else "+f16c" in _FEATURES
AVAILABLE = _F16C or platform.machine().lower() in ("aarch64", "arm64")


_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def converts(dtype: Any) -> bool:
    """Whether numbers of `dtype`, float16 or bfloat16, are converted here."""
    return dtype == _BFLOAT16 or AVAILABLE


@_intrinsic
def _rounded(typing, x):
    """The bits of a float32 rounded to float16."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), emit


@_intrinsic
def _extended(typing, x):
    """The float32 of the bits of a float16."""

    def emit(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), emit


@Chunked
@jit_exact
def _narrow(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _rounded(x[i])


@Chunked
@jit_exact
def _widen(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _extended(x[i])


@Chunked
@jit_exact
def _narrow_bits(x: Any, y: Any) -> None:
    """The bits of float32 rounded to those of bfloat16, their upper halves; NaN stays NaN."""
    for i in range(y.shape[0]):
        word = x[i]
        odd = (word >> np.uint32(16)) & np.uint32(1)
        rounded = (word + np.uint32(0x7FFF) + odd) >> np.uint32(16)
        missing = (word & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
        y[i] = np.uint16((word >> np.uint32(16)) | np.uint32(0x40)) if missing else np.uint16(rounded)


@Chunked
@jit_exact
def _widen_bits(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = np.uint32(x[i]) << np.uint32(16)


def narrow(x: Array, dtype: Any = np.float16) -> Array:
    """A float32 array as `dtype`, float16 or bfloat16, in row-major order."""
    y = result(None, x.shape, np.uint16)
    if dtype == _BFLOAT16:
        _narrow_bits.run(x.ravel().view(np.uint32), y.ravel(), fresh=True)
        return y.view(_BFLOAT16)
    _narrow.run(x.ravel(), y.ravel(), fresh=True)
    return y.view(np.float16)


def widen(x: Array) -> Array:
    """A float16 or bfloat16 array as float32, in row-major order."""
    given = x.ravel().view(np.uint16)
    if x.dtype == _BFLOAT16:
        y = result(None, x.shape, np.uint32)
        _widen_bits.run(given, y.ravel(), fresh=True)
        return y.view(np.float32)
    y = result(None, x.shape, np.float32)
    _widen.run(given, y.ravel(), fresh=True)
    return y
