"""The boxes of elements that basic indices name: whether two parts of an array overlap, and whether parts cover it."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Box = tuple[range, ...]  # the elements along each dimension

_PAIRS = 16  # so many boxes are compared with each other, where no dimension separates them


def box_of(shape: Sequence[int], index: tuple[Any, ...]) -> Box:
    """The elements of an array of `shape` that a basic index (integers, slices, None, Ellipsis) names."""
    items = [item for item in index if item is not None]
    if Ellipsis in items:
        place = items.index(Ellipsis)
        items[place:place + 1] = [slice(None)] * (len(shape) - len(items) + 1)
    items += [slice(None)] * (len(shape) - len(items))
    return tuple(range(length)[item] if item.__class__ is slice else range(length)[item:][:1]
                 for length, item in zip(shape, items, strict=True))


def overlap(boxes: Sequence[Box]) -> bool:
    """Whether an element may be in two of the boxes; False only if none is."""
    boxes = [box for box in boxes if all(map(len, box))]
    if len(boxes) < 2 or any(map(_separate, zip(*boxes, strict=True))):
        return False
    if len(boxes) > _PAIRS:
        return True
    return not all(any(_separate(sides) for sides in zip(a, b, strict=True))
                   for number, a in enumerate(boxes) for b in boxes[:number])


def _separate(sides: Sequence[range]) -> bool:
    """Whether no two of the ranges share an element, as far as their ends tell."""
    ordered = sorted(sides, key=lambda side: side.start)
    return all(a[-1] < b.start for a, b in zip(ordered[:-1], ordered[1:], strict=True))


def size_of(box: Box) -> int:
    """The number of elements of a box."""
    return math.prod(map(len, box))
