"""Padding and its gradient, once for NumPy and CuPy: `table(xp, new, copy)`. Many rows are padded by a CPU kernel.

Along a dimension the result has up to three parts: what was there, and what is before and after it, which is made of some of the
elements that were there. A part of the result is one of these along each dimension.
"""
from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..cpu.bits import BITS, as_bits
from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]
Pads = tuple[tuple[int, int], ...]
# Elements: the ends of rows that are shorter take longer to write than all of a result that stays in the cache.
_SHORT_ROW, _IN_CACHE = 256, 1 << 21
# Elements of a result, and its rows, from which on the kernel takes 0.5 to 0.9 of the time of pieces.
_MANY, _MANY_ROWS = 1 << 15, 64


class Part(NamedTuple):
    """Where a part lies along a dimension of the result, and the elements that it is made of: None for a constant."""

    target: slice
    source: slice | None


def _parts(length: int, before: int, after: int, mode: str) -> list[Part]:
    """The parts along a dimension of `length` elements, what was there first."""
    first: slice | None
    last: slice | None
    if mode == "constant":
        first = last = None
    elif mode == "replicate":
        first, last = slice(0, 1), slice(length - 1, length)
    elif mode == "circular":
        first, last = slice(length - before, length), slice(0, after)
    else:
        end = length - 2 - after
        first, last = slice(before, 0, -1), slice(length - 2, None if end < 0 else end, -1)
    parts = [Part(slice(before, before + length), slice(0, length))]
    if before:
        parts.append(Part(slice(0, before), first))
    if after:
        parts.append(Part(slice(before + length, before + length + after), last))
    return parts


@functools.lru_cache(maxsize=256)  # 10 us for the nine parts of a plane
def _pieces(lengths: tuple[int, ...], pads: Pads, mode: str) -> tuple[Any, list[tuple[Any, Any]]]:
    """Of dimensions of these `lengths`: the index of the input in the result, and those of the other parts with those of what
    they are made of in the input, None for constants.
    """
    pieces = list[tuple[Any, Any]]()
    given = zip(lengths, pads, strict=True)
    for parts in itertools.product(*(_parts(length, before, after, mode) for length, (before, after) in given)):
        constant = any(part.source is None for part in parts)
        pieces.append(((..., *(part.target for part in parts)), None if constant else (..., *(part.source for part in parts))))
    return pieces[0][0], pieces[1:]


def _sources(length: int, before: int, after: int, mode: str) -> np.ndarray:
    """The element along a dimension that each one of the result repeats, -1 for a constant."""
    sources = np.full(before + length + after, -1)
    for part in _parts(length, before, after, mode):
        if part.source is not None:
            sources[part.target] = np.arange(length)[part.source]
    return sources


def pad_rows(x: np.ndarray, y: np.ndarray, value: Any, pads: Pads, mode: str) -> bool:
    """Whether a kernel has written all of `pad`'s result `y`: one with many rows."""
    bits = BITS.get(x.itemsize)
    if y.size < _MANY or y.size < _MANY_ROWS * y.shape[-1] or bits is None or not x.flags.c_contiguous:
        return False
    from lucid_kernels.cpu.movement import pad as kernels  # compiles with Numba: imported with the first many rows

    lead = x.ndim - len(pads)
    *outer, (before, after) = pads
    rows = np.zeros(1, np.int64)
    for length, pad in zip(x.shape[lead:-1], outer, strict=True):
        sources = _sources(length, *pad, mode)
        rows = np.where((rows[:, None] < 0) | (sources < 0), -1, rows[:, None] * length + sources).ravel()
    columns = np.delete(_sources(x.shape[-1], before, after, mode), slice(before, before + x.shape[-1]))
    source, target = (as_bits(array, bits).reshape(math.prod(x.shape[:lead]), -1, array.shape[-1]) for array in (x, y))
    kernels.pad(source, target, rows, columns, before, np.asarray(value, x.dtype).view(bits))
    return True


def table(xp: Any, new: Kernel, copy: Kernel) -> dict[str, Kernel]:
    """`pad` and its gradient on `xp` (numpy or cupy); `new(shape, dtype)` is an array, `copy(target, source)` fills one."""

    def pad(x: Array, fill: Array | None, *, pads: Pads, mode: str) -> Array:
        """x with the numbers of elements `pads`, before and after, around its last dimensions; constants are `fill`, or 0."""
        lead = x.ndim - len(pads)
        y = new((*x.shape[:lead], *(n + sum(pad) for n, pad in zip(x.shape[lead:], pads, strict=True))), x.dtype)
        inside, pieces = _pieces(x.shape[lead:], pads, mode)
        value = 0 if fill is None else fill
        if xp is np and pads and pad_rows(x, y, value, pads, mode):
            return y
        if mode == "constant" and pads and any(pads[-1]) and y.shape[-1] <= _SHORT_ROW and y.size <= _IN_CACHE:
            y[...] = value
            copy(y[inside], x)
            return y
        copy(y[inside], x)
        for target, source in pieces:
            y[target] = x[source] if source else value
        return y

    def pad_grad(g: Array, *, pads: Pads, mode: str) -> Array:
        """Gradient of `pad` for its input."""
        lead, dtype = g.ndim - len(pads), g.dtype
        if mode != "constant":
            g = wide(g)
        dx = new((*g.shape[:lead], *(n - sum(pad) for n, pad in zip(g.shape[lead:], pads, strict=True))), g.dtype)
        inside, pieces = _pieces(dx.shape[lead:], pads, mode)
        copy(dx, g[inside])
        for target, source in pieces:
            if source:
                part, share = dx[source], g[target]
                repeated = tuple(axis for axis in range(g.ndim) if part.shape[axis] < share.shape[axis])
                part += share.sum(repeated, keepdims=True) if repeated else share
        return dx.astype(dtype) if dtype in HALVES else dx

    return {"pad": pad, "pad_grad": pad_grad}
