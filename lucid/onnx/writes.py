"""Writes into rectangular parts of tensors: a new tensor with other elements in that part."""
from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ExportError
from .graph import Graph, emits
from .runs import Length
from .shapes import rank_of
from .tracing import Event, Ref


def _less(length: Any, number: Any) -> Any:
    """length - number."""
    if not isinstance(length, Length):
        return length - number
    runs = number.runs if isinstance(number, Length) else (number,) * len(length.runs)
    apart = [a - b for a, b in zip(length.runs, runs, strict=True)]
    return Length(tuple(apart)) if len(set(apart)) > 1 else apart[0]


def _bounds(g: Graph, entry: Any, length: Any) -> tuple[Any, Any]:
    """How many elements lie before a part, and how many behind it."""
    if isinstance(entry, int):
        if entry < 0:
            return _less(length, -entry), -entry - 1
        return entry, _less(length, entry + 1)
    start, stop = entry.start or 0, entry.stop
    if isinstance(length, int):
        start, stop, _ = slice(start, stop).indices(length)
        return start, length - max(stop, start)
    if start < 0 or (stop is not None and stop >= 0):
        raise ExportError(f"{g.line}: a write into a part whose place depends on a dynamic length cannot be exported")
    return start, 0 if stop is None else -stop


@emits("index_put", "Pad, Where")
def _index_put(g: Graph, event: Event) -> list[str]:
    operand, value = event.operands
    index = event.attributes["index"]
    index = index if isinstance(index, tuple) else (index,)
    rank, dtype = rank_of(g, operand), g.dtype(operand)
    if any(not (entry is Ellipsis or type(entry) is int or (isinstance(entry, slice) and entry.step in (None, 1)
                and not isinstance(entry.start, Length) and not isinstance(entry.stop, Length))) for entry in index):
        raise ExportError(f"{g.line}: 'index_put' with tensors, steps or lengths cannot be exported; write lucid.where")
    given = [entry for entry in index if entry is not Ellipsis]
    place = index.index(Ellipsis) if Ellipsis in index else len(index)
    full = [*index[:place], *[slice(None)] * (rank - len(given)), *index[place + 1:]]
    bounds = [_bounds(g, entry, length) for entry, length in zip(full, g.shape(operand), strict=True)]
    part = [_less(_less(length, before), behind) for (before, behind), length in zip(bounds, g.shape(operand), strict=True)]
    wide = np.dtype(np.int32) if dtype.kind == "b" else dtype  # what runtimes have
    name = g.name(value, dtype)
    name = g.cast(name, wide) if (g.dtype(value) if isinstance(value, Ref) else dtype) != wide else name
    removed = [axis for axis, entry in enumerate(full) if type(entry) is int]
    if removed and isinstance(value, Ref):
        kept = rank - len(removed)
        name = g.node("Reshape", name, g.ints([1] * (kept - rank_of(g, value)) + [*g.shape(value)]))
        name = g.node("Unsqueeze", name, g.ints(removed))
    name = g.node("Expand", name, g.ints(part))
    pads = g.ints([before for before, _ in bounds] + [behind for _, behind in bounds])
    inside = g.node("Pad", g.node("Expand", g.constant(1, np.int32), g.ints(part)), pads, mode="constant")
    name = g.node("Pad", name, pads, mode="constant")
    before = g.name(operand) if wide == dtype else g.cast(g.name(operand), wide)
    name = g.node("Where", g.cast(inside, np.bool_), name, before)
    return [name if wide == dtype else g.cast(name, dtype)]
