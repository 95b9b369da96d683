"""Conversions between float32 and float16, by the processor's own instructions, and bfloat16; NumPy's take 8 to 20 times as long.

Of whole arrays, and of single numbers in the loops of formulas (`fused.py`), which so read and write half-precision numbers
without an array of float32.

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
from ._intrinsic import intrinsic
from ._layout import Array, result

_config: Any = config
_FEATURES = _config.CPU_FEATURES  # what Numba is told to compile for, or None: this processor
_F16C = llvmlite.binding.get_host_cpu_features().get("f16c", False) if _FEATURES is None else "+f16c" in _FEATURES
AVAILABLE = _F16C or platform.machine().lower() in ("aarch64", "arm64")

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_WORD = ir.IntType(32)


def converts(dtype: Any) -> bool:
    """Whether numbers of `dtype`, float16 or bfloat16, are converted here."""
    return dtype == _BFLOAT16 or AVAILABLE


@intrinsic
def rounded(typing, x):
    """The bits of a float32 rounded to float16."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), emit


@intrinsic
def extended(typing, x):
    """The float32 of the bits of a float16.

    Its last 13 bits are 0, which LLVM does not know: masked, it is no float16 any more. Else LLVM computes what is rounded to
    float16 behind, such as `floor` and `maximum`, in float16: one number at a time, 18 times as long.
    """

    def emit(context, builder, signature, arguments):
        word = builder.bitcast(builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType()), _WORD)
        return builder.bitcast(builder.and_(word, _WORD(0xFFFFE000)), ir.FloatType())

    return types.float32(types.uint16), emit


@intrinsic
def rounded_to_bfloat16(typing, x):
    """The bits of a float32 rounded to bfloat16, their upper half; NaN stays NaN. (Numba would compute in 64 bits.)"""

    def emit(context, builder, signature, arguments):
        word = builder.bitcast(arguments[0], _WORD)
        upper = builder.lshr(word, _WORD(16))
        nearest = builder.add(builder.add(word, _WORD(0x7FFF)), builder.and_(upper, _WORD(1)))
        missing = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        bits = builder.select(missing, builder.or_(upper, _WORD(0x40)), builder.lshr(nearest, _WORD(16)))
        return builder.trunc(bits, ir.IntType(16))

    return types.uint16(types.float32), emit


@intrinsic
def extended_from_bfloat16(typing, x):
    """The float32 of the bits of a bfloat16."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(builder.shl(builder.zext(arguments[0], _WORD), _WORD(16)), ir.FloatType())

    return types.float32(types.uint16), emit


@Chunked
@jit_exact
def _narrow(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = rounded(x[i])


@Chunked
@jit_exact
def _widen(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = extended(x[i])


@Chunked
@jit_exact
def _narrow_to_bfloat16(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = rounded_to_bfloat16(x[i])


@Chunked
@jit_exact
def _widen_bfloat16(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = extended_from_bfloat16(x[i])


def loop_to_widen(dtype: Any) -> Any:
    """The loop, for kernels, that writes the float32 of the bits of numbers of `dtype`."""
    return (_widen_bfloat16 if dtype == _BFLOAT16 else _widen).serial


def narrow(x: Array, dtype: Any = np.float16) -> Array:
    """A float32 array as `dtype`, float16 or bfloat16, in row-major order."""
    y = result(None, x.shape, np.uint16)
    (_narrow_to_bfloat16 if dtype == _BFLOAT16 else _narrow).run(x.ravel(), y.ravel(), fresh=True)
    return y.view(dtype)


def widen(x: Array) -> Array:
    """A float16 or bfloat16 array as float32, in row-major order."""
    y = result(None, x.shape, np.float32)
    (_widen_bfloat16 if x.dtype == _BFLOAT16 else _widen).run(x.ravel().view(np.uint16), y.ravel(), fresh=True)
    return y
