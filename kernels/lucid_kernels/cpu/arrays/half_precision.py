"""Conversions between float32 and float16, by the processor's own instructions, and bfloat16; NumPy's take 8 to 20 times as long.

Of whole arrays, and of single elements in the loops of formulas (`elementwise/fused.py`), which so read and write half precision
without an array of float32.

Processors without instructions for float16 would need a library that compiled code does not have: there NumPy converts.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable
from typing import Any, overload

import llvmlite.binding
import ml_dtypes
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config

from ..runtime import tuning
from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit_exact
from .layout import HALVES, Array, Kernel, deliver, outputs, result
from .loops import Chunked

_config: Any = config
_FEATURES = _config.CPU_FEATURES  # what Numba is told to compile for, or None: this processor
_F16C = llvmlite.binding.get_host_cpu_features().get("f16c", False) if _FEATURES is None else "+f16c" in _FEATURES
AVAILABLE = _F16C or platform.machine().lower() in ("aarch64", "arm64")

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_WORD = ir.IntType(32)


def converts(dtype: Any) -> bool:
    """Whether `dtype`, float16 or bfloat16, is converted here."""
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
    """The loop, for kernels, that writes the float32 of the bits of `dtype`."""
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


@overload
def upcast_half(function: Kernel) -> Kernel: ...


@overload
def upcast_half(*, results: tuple[int | None, ...]) -> Callable[[Kernel], Kernel]: ...


def upcast_half(function: Any = None, *, results: tuple[int | None, ...] | None = None) -> Any:
    """Give a float32 kernel float16 and bfloat16: half arguments become float32, results are rounded once.

    By default every result has the dtype of the first half argument. `results` names for each result the argument
    whose dtype it takes (the first half argument where that one is `None`); a `None` entry stays as computed:
    `@upcast_half(results=(0, None, None))` for `layer_norm`, whose mean and rstd stay float32.
    """
    if function is None:
        return functools.partial(_upcast_half, results=results)
    return _upcast_half(function, results=None)


def _upcast_half(function: Callable[..., Any], results: tuple[int | None, ...] | None) -> Callable[..., Any]:
    @functools.wraps(function)
    def kernel(*arrays: Array | None, out: Any = None, **attributes: Any) -> Any:
        for array in arrays:
            # The item size is read four times as fast as the dtype; int16 arguments take the slow path.
            if array is not None and array.itemsize == 2:
                return _run_upcast(function, results, arrays, out, attributes)
        return function(*arrays, out=out, **attributes)

    return kernel


def _run_upcast(
    function: Callable[..., Any],
    results: tuple[int | None, ...] | None,
    arrays: tuple[Array | None, ...],
    out: Any,
    attributes: dict[str, Any],
) -> Any:
    halves = [array.dtype for array in arrays if array is not None and array.dtype in HALVES]
    if not halves:
        return function(*arrays, out=out, **attributes)
    wide = [widened(a) if a is not None and a.dtype in HALVES else a for a in arrays]
    computed = function(*wide, **attributes)
    if not isinstance(computed, tuple):
        return round_to(computed, halves[0], out)
    if results is None:
        dtypes: list[Any] = [halves[0]] * len(computed)
    else:
        dtypes = [None if index is None else getattr(arrays[index], "dtype", halves[0]) for index in results]
    return tuple(map(round_to, computed, dtypes, outputs(out, len(computed))))


def round_to(computed: Array | None, dtype: Any, out: Array | None) -> Array | None:
    """Round to `dtype` (as it is where `dtype` is None), into `out` where that is given; None stays None."""
    if computed is None:
        return None
    if dtype in HALVES and computed.dtype == np.float32 and computed.size >= tuning.HALVES_CONVERTED_FROM:
        from . import half_precision

        if half_precision.converts(dtype):
            return deliver(out, half_precision.narrow(computed, dtype))
    return deliver(out, computed if dtype is None else computed.astype(dtype, copy=False))


def widened(array: Array) -> Array:
    """Half precision as float32."""
    if array.size >= tuning.HALVES_CONVERTED_FROM:
        from . import half_precision

        if half_precision.converts(array.dtype):
            return half_precision.widen(array)
    return array.astype(np.float32)
