"""Philox random numbers and dropout: see `random.cu`. The numbers are those of `lucid_kernels.cpu.random`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, recording
from lucid_kernels.uniform_range import uniform_range


class Stored(int):
    """The address of a seed and an offset in device memory, as the seed of a launch that is captured."""

    __slots__ = ()


def as_uint64(number: int) -> np.uint64:
    if number.__class__ is Stored:
        raise NotImplementedError("random numbers of this kind cannot be captured: their kernel takes the seed from the host")
    return np.uint64(int(number) & 0xFFFFFFFFFFFFFFFF)


def _fill(name: str, kind: Any, y: Any, seed: int, offset: int, *parameters: Any) -> None:
    """Run a kernel that makes all elements of `y`; a thread makes those of one Philox block of four 32-bit words."""
    if y.size:
        stored = seed.__class__ is Stored
        blocks = launch.ceil_div(y.size, 4 if y.dtype.itemsize == 4 or name == "dropout" else 2)
        launch.kernel("random", f"{name}<{launch.ctype(kind)}{', true' if stored else ''}>")(
            *launch.grid_1d(blocks),
            (*parameters, recording.moving("seed", as_uint64(int(seed))), recording.moving("offset", as_uint64(offset)),
             np.int64(blocks), np.int64(y.size)),
        )


def random_uniform(
    *, shape: Sequence[int], dtype: Any, seed: int, offset: int, low: float = 0.0, high: float = 1.0, out: Any = None
) -> Any:
    """Uniform samples in [low, high), of any floating dtype; all are `low` if the dtype has no number between them."""
    dtype = np.dtype(dtype)
    span, start, top, step, least = uniform_range(dtype, low, high)
    half = dtype.itemsize == 2
    y = launch.result(None if half else out, shape, np.dtype(np.float32) if half else dtype)
    _fill("random_uniform", y.dtype, y, seed, offset, y, span, start, top)
    if half:
        y = (cupy.maximum(cupy.floor(y / step) * step, least) if step else y).astype(dtype)
    return launch.deliver(y, out)


def random_exponential(*, shape: Sequence[int], dtype: Any, seed: int, offset: int, out: Any = None) -> Any:
    """Samples above 0 from the exponential distribution of rate 1, in float32 or float64."""
    y = launch.result(out, shape, np.dtype(dtype))
    _fill("random_exponential", y.dtype, y, seed, offset, y)
    return launch.deliver(y, out)


def random_normal(*, shape: Sequence[int], dtype: Any, seed: int, offset: int, out: Any = None) -> Any:
    """Samples from the standard normal distribution, of any floating dtype."""
    dtype = np.dtype(dtype)
    half = dtype.itemsize == 2
    y = launch.result(None if half else out, shape, np.dtype(np.float32) if half else dtype)
    _fill("random_normal", y.dtype, y, seed, offset, y)
    return launch.deliver(y.astype(dtype) if half else y, out)


def random_integers(
    *, shape: Sequence[int], dtype: Any, low: int, high: int, seed: int, offset: int, out: Any = None
) -> Any:
    """Integers in [low, high), computed as int64 and converted to `dtype`."""
    wide, dtype = np.dtype(np.int64), np.dtype(dtype)
    y = launch.result(out if dtype == wide else None, shape, wide)
    _fill("random_integers", wide, y, seed, offset, y, np.int64(low), as_uint64(high - low))
    return launch.deliver(y if dtype == wide else y.astype(dtype), out)


def threshold_and_scale(p: float) -> tuple[np.uint32, float]:
    """From which random word on dropout keeps an element, and what it multiplies that by."""
    # At p = 1, 2^32 is no 32-bit threshold: everything stays, times 0.
    return (np.uint32(0), 0.0) if p == 1 else (np.uint32(int(p * 4294967296.0)), 1.0 / (1.0 - p))


def dropout(x: Any, *, p: float, seed: int, offset: int, out: Any = None) -> Any:
    """`x / (1 - p)` where the random word is at least `p * 2^32`, else `x * 0`. The gradient is `dropout(g, ...)`."""
    y = launch.result(out, x.shape, x.dtype)
    threshold, scale = threshold_and_scale(p)
    wide = np.float64 if x.dtype == np.float64 else np.float32
    _fill("dropout", x.dtype, y, seed, offset, copies.contiguous(x), y, threshold, wide(scale))
    return launch.deliver(y, out)
