"""Arrays made of parts of others, once for NumPy and CuPy: `table(new, fill, copy, add)`."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..boxes import box_of, overlap, size_of
from ..memory_format import inverse
from ..sizes import ASSEMBLE_FROM

Array = Any
Kernel = Callable[..., Any]


def table(new: Kernel, fill: Kernel, copy: Kernel, add: Kernel) -> dict[str, Kernel]:
    """`new(shape, dtype)` is an array, `fill(target, number)` and `add(target, source)` write one, `copy(targets, sources)`
    several.
    """

    def assemble(*parts: Array, shape: tuple[int, ...], indices: Sequence[Any], axes: tuple[int, ...] | None) -> Array:
        """The sum of arrays of `shape`, each zero but for one of `parts` at the basic index of the same number.

        `axes` are the dimensions of the result from the outermost in memory to the innermost; None is row-major order.
        """
        apart, full = arrangement(shape, indices)
        result = new(shape if axes is None else tuple(shape[a] for a in axes), parts[0].dtype)
        if not full:
            fill(result, 0)
        if axes is not None:
            result = result.transpose(inverse(axes))
        targets = [part_of(result, index) for index in indices]
        if apart:
            copy(targets, parts)
        else:
            for target, part in zip(targets, parts, strict=True):
                add(target, part)
        return result

    def add_at(x: Array, part: Array, *, index: Any) -> Array:
        """Add `part` to `x`, in place, at a basic index."""
        add(part_of(x, index), part)
        return x

    return {"assemble": assemble, "add_at": add_at}


def arrangement(shape: tuple[int, ...], indices: Sequence[Any]) -> tuple[bool, bool]:
    """Whether no two of the parts at `indices` overlap, and whether they are all of an array of `shape`, as far as that is worth
    finding out.
    """
    if len(indices) == 1 and math.prod(shape) < ASSEMBLE_FROM:
        return True, False
    boxes = [box_of(shape, index) for index in indices]
    apart = not overlap(boxes)
    return apart, apart and sum(map(size_of, boxes)) == math.prod(shape)


def part_of(x: Array, index: tuple[Any, ...]) -> Array:
    """A view of `x` at a basic index; without an Ellipsis an element would be none."""
    return x[index if Ellipsis in index else (*index, Ellipsis)]
