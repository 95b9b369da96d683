"""Conversions between float32 and float16 by the processor's own instructions; NumPy's take 10 to 20 times as long.

Processors without them would need a library that compiled code does not have: there NumPy converts.
"""

from __future__ import annotations

import platform
from typing import Any

import llvmlite.binding
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
AVAILABLE = not _config.DISABLE_JIT and (_F16C or platform.machine().lower() in ("aarch64", "arm64"))


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


def narrow(x: Array) -> Array:
    """A float32 array as float16, in row-major order."""
    y = result(None, x.shape, np.uint16)
    _narrow.run(x.ravel(), y.ravel(), fresh=True)
    return y.view(np.float16)


def widen(x: Array) -> Array:
    """A float16 array as float32, in row-major order."""
    y = result(None, x.shape, np.float32)
    _widen.run(x.ravel().view(np.uint16), y.ravel(), fresh=True)
    return y
