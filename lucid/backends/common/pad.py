"""Padding and its gradient, for NumPy and CuPy: `table(new, copy)`.

Along a dimension the result has up to three parts: what was there, and what is before and after it, which is made of some of the
elements that were there. A part of the result is one of these along each dimension.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..half_precision import HALVES, wide
from ..sizes import PAD_IN_CACHE, PAD_SHORT_ROW

Array = Any
Kernel = Callable[..., Any]
Pads = tuple[tuple[int, int], ...]


class Part(NamedTuple):
    """Where a part lies along a dimension of the result, and the elements that it is made of: None for a constant."""

    target: slice
    source: slice | None


def parts(length: int, before: int, after: int, mode: str) -> list[Part]:
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
    found = [Part(slice(before, before + length), slice(0, length))]
    if before:
        found.append(Part(slice(0, before), first))
    if after:
        found.append(Part(slice(before + length, before + length + after), last))
    return found


@functools.lru_cache(maxsize=256)  # 10 us for the nine parts of a plane
def _pieces(lengths: tuple[int, ...], pads: Pads, mode: str) -> tuple[Any, list[tuple[Any, Any]]]:
    """Of dimensions of these `lengths`: the index of the input in the result, and those of the other parts with those of what
    they are made of in the input, None for constants.
    """
    pieces = list[tuple[Any, Any]]()
    given = zip(lengths, pads, strict=True)
    for chosen in itertools.product(*(parts(length, before, after, mode) for length, (before, after) in given)):
        constant = any(part.source is None for part in chosen)
        pieces.append(((..., *(part.target for part in chosen)), None if constant else (..., *(part.source for part in chosen))))
    return pieces[0][0], pieces[1:]


def table(new: Kernel, copy: Kernel, fill_all: Kernel | None = None) -> dict[str, Kernel]:
    """`new(shape, dtype)` is an array, `copy(target, source)` fills one; ``fill_all(x, y, value, pads, mode)`` is whether all of
    the result `y` has been written at once.
    """

    def pad(x: Array, fill: Array | None, *, pads: Pads, mode: str) -> Array:
        """x with `pads` elements, before and after, around its last dimensions; constants are `fill`, or 0."""
        lead = x.ndim - len(pads)
        y = new((*x.shape[:lead], *(n + sum(pad) for n, pad in zip(x.shape[lead:], pads, strict=True))), x.dtype)
        inside, pieces = _pieces(x.shape[lead:], pads, mode)
        value = 0 if fill is None else fill
        if fill_all is not None and fill_all(x, y, value, pads, mode):
            return y
        if mode == "constant" and pads and any(pads[-1]) and y.shape[-1] <= PAD_SHORT_ROW and y.size <= PAD_IN_CACHE:
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
