"""Shapes, parts of tensors, indices, and tensors made of nothing."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .errors import ExportError
from .graph import Graph, emits
from .runs import Length
from .tracing import Event, Ref

_END = sys.maxsize


def transposed(g: Graph, name: str, axes: Any) -> str:
    """A value with its axes in another order."""
    return g.node("Transpose", name, perm=list(axes))


def sliced(g: Graph, name: str, axis: int, start: Any, stop: Any, step: int = 1) -> str:
    """A part of a value along an axis."""
    return g.node("Slice", name, g.ints([start]), g.ints([stop]), g.ints([axis]), g.ints([step]))


def reshaped(g: Graph, name: str, shape: Any) -> str:
    """A value in another shape; one length that is not known otherwise is what is left."""
    entries = list(shape)
    unknown = []
    for place, entry in enumerate(entries):
        if isinstance(entry, Length):
            try:
                g.length(entry, exact=True)
            except ExportError:
                unknown.append(place)
    if len(unknown) == 1:
        entries[unknown[0]] = -1
    return g.node("Reshape", name, g.ints(entries, exact=True), allowzero=int(0 in entries))


@emits("reshape", "Reshape")
def _reshape(g: Graph, event: Event) -> list[str]:
    return [reshaped(g, g.name(event.operands[0]), event.attributes["shape"])]


@emits("broadcast_to", "Expand")
def _broadcast_to(g: Graph, event: Event) -> list[str]:
    return [g.node("Expand", g.name(event.operands[0]), g.ints(event.attributes["shape"]))]


@emits("transpose", "Transpose")
def _transpose(g: Graph, event: Event) -> list[str]:
    return [transposed(g, g.name(event.operands[0]), event.attributes["axes"])]


@emits("concatenate", "Concat")
def _concatenate(g: Graph, event: Event) -> list[str]:
    return [g.node("Concat", *map(g.name, event.operands), axis=event.attributes["axis"])]


@emits("stack", "Unsqueeze, Concat")
def _stack(g: Graph, event: Event) -> list[str]:
    axis = event.attributes["axis"]
    return [g.node("Concat", *[g.node("Unsqueeze", g.name(operand), g.ints([axis])) for operand in event.operands], axis=axis)]


@emits("split", "Slice")
def _split(g: Graph, event: Event) -> list[str]:
    boundaries = [0, *event.attributes["boundaries"], _END]
    return [sliced(g, g.name(event.operands[0]), event.attributes["axis"], start, stop)
            for start, stop in zip(boundaries, boundaries[1:], strict=False)]


@emits("unbind", "Gather")
def _unbind(g: Graph, event: Event) -> list[str]:
    return [g.node("Gather", g.name(event.operands[0]), g.constant(place, np.int64), axis=event.attributes["axis"])
            for place in range(len(event.results))]


@emits("getitem", "Slice, Gather, Squeeze, Unsqueeze")
def _getitem(g: Graph, event: Event) -> list[str]:
    operand, index = event.operands[0], event.attributes["index"]
    index = index if isinstance(index, tuple) else (index,)
    name, rank = g.name(operand), len(g.shape(operand))
    given = sum(entry is not None and entry is not Ellipsis for entry in index)
    arrays = [entry for entry in index if isinstance(entry, Ref)]
    if len(arrays) > 1 or any(g.dtype(entry).kind == "b" for entry in arrays):
        raise ExportError(f"{g.line}: an index of several tensors, or a mask, cannot be exported; write lucid.where or gather()")
    if arrays and any(entry is None or isinstance(entry, (int, Length)) for entry in index):
        raise ExportError(f"{g.line}: an index of a tensor beside numbers cannot be exported; write it in two steps")
    axis, removed, added, result_axis = 0, [], [], 0
    for entry in index:
        if entry is Ellipsis:
            axis += rank - given
            result_axis += rank - given
        elif entry is None:
            added.append(result_axis)
            result_axis += 1
        elif isinstance(entry, Ref):
            name = g.node("Gather", name, g.name(entry), axis=axis)
            axis += rank_of(g, entry)
        elif isinstance(entry, slice):
            step = 1 if entry.step is None else entry.step
            if (entry.start, entry.stop, step) != (None, None, 1):
                name = sliced(g, name, axis, 0 if entry.start is None else entry.start,
                              _END if entry.stop is None else entry.stop, step)
            axis += 1
            result_axis += 1
        else:
            stop = _END if entry == -1 else entry + 1 if isinstance(entry, int) else Length(tuple(n + 1 for n in entry.runs))
            name = sliced(g, name, axis, entry, stop)
            removed.append(axis)
            axis += 1
    if removed:
        name = g.node("Squeeze", name, g.ints(removed))
    return [g.node("Unsqueeze", name, g.ints(added)) if added else name]


@emits("pad", "Pad")
def _pad(g: Graph, event: Event) -> list[str]:
    operand, value = event.operands
    pads, mode = event.attributes["pads"], event.attributes["mode"]
    rank = len(g.shape(operand))
    axes = list(range(rank - len(pads), rank))
    amounts = [before for before, _ in pads] + [after for _, after in pads]
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    name = g.name(operand)
    if mode == "circular":  # `wrap` of opset 19 is missing in runtimes
        for axis, (before, after) in zip(axes, pads, strict=True):
            g.static([before, after], "circular padding")
            first = [sliced(g, name, axis, -before, _END)] if before else []
            last = [sliced(g, name, axis, 0, after)] if after else []
            name = g.node("Concat", *first, name, *last, axis=axis)
        return [name]
    if mode not in modes:
        raise ExportError(f"{g.line}: padding with mode={mode!r} cannot be exported")
    fill = None
    if mode == "constant" and value is not None:
        fill = g.name(value, g.dtype(operand))
        fill = g.cast(fill, g.dtype(operand)) if isinstance(value, Ref) and g.dtype(value) != g.dtype(operand) else fill
    return [g.node("Pad", name, g.ints(amounts), fill, g.ints(axes), mode=modes[mode])]


@emits("flip", "Slice")
def _flip(g: Graph, event: Event) -> list[str]:
    name = g.name(event.operands[0])
    axes = event.attributes["axis"]
    for axis in axes if isinstance(axes, tuple) else (axes,):
        name = sliced(g, name, axis, -1, -_END, -1)
    return [name]


@emits("roll", "Slice, Concat")
def _roll(g: Graph, event: Event) -> list[str]:
    name = g.name(event.operands[0])
    shape = g.shape(event.operands[0])
    for shift, axis in zip(event.attributes["shift"], event.attributes["axis"], strict=True):
        amount = g.static([shift], "the shift")[0]
        if not isinstance(shape[axis], Length) and shape[axis]:
            amount %= shape[axis]
        if amount:
            name = g.node("Concat", sliced(g, name, axis, -amount, _END), sliced(g, name, axis, 0, -amount), axis=axis)
    return [name]


@emits("tril triu", "Trilu")
def _trilu(g: Graph, event: Event) -> list[str]:
    operand = event.operands[0]
    name, wanted = g.name(operand), g.dtype(operand)
    if wanted.kind == "b":  # missing in runtimes
        name = g.cast(name, np.int64)
    name = g.node("Trilu", name, g.name(event.attributes["k"], np.int64), upper=int(event.kernel == "triu"))
    return [g.cast(name, wanted) if wanted.kind == "b" else name]


@emits("windows", "Gather")
def _windows(g: Graph, event: Event) -> list[str]:
    operand, (dim, size, step) = event.operands[0], (event.attributes[key] for key in ("dim", "size", "step"))
    count = g.static([g.values[event.results[0]].shape[dim]], "the number of windows")[0]  # type: ignore[index]
    places = np.arange(count)[:, None] * step + np.arange(size)
    name = g.node("Gather", g.name(operand), g.constant(places, np.int64), axis=dim)
    rank = len(g.shape(operand)) + 1
    return [transposed(g, name, [axis for axis in range(rank) if axis != dim + 1] + [dim + 1])]


@emits("embedding index_select", "Gather")
def _gather_rows(g: Graph, event: Event) -> list[str]:
    return [g.node("Gather", g.name(event.operands[0]), g.name(event.operands[1]), axis=event.attributes.get("axis", 0))]


@emits("gather take_along_axis", "GatherElements")
def _gather(g: Graph, event: Event) -> list[str]:
    return [g.node("GatherElements", g.name(event.operands[0]), g.name(event.operands[1]), axis=event.attributes["axis"])]


@emits("scatter", "ScatterElements")
def _scatter(g: Graph, event: Event) -> list[str]:
    operand, index, source = event.operands
    name = g.name(source, g.dtype(operand))
    if not isinstance(source, Ref):
        name = g.node("Expand", name, g.node("Shape", g.name(index)))
    elif g.shape(source) != g.shape(index):
        name = g.node("Slice", name, g.constant([0] * len(g.shape(index)), np.int64), g.node("Shape", g.name(index)))
    reduction = "add" if event.attributes.get("accumulate") else "none"
    return [g.node("ScatterElements", g.name(operand), g.name(index), name, axis=event.attributes["axis"], reduction=reduction)]


@emits("check_bounds check_nonzero", "none: runtimes check indices and divisors themselves")
def _check_bounds(g: Graph, event: Event) -> list[None]:
    return [None]


@emits("full", "Expand")
def _full(g: Graph, event: Event) -> list[str]:
    dtype = g.values[event.results[0]].dtype  # type: ignore[index]
    return [g.node("Expand", g.name(event.attributes["fill_value"], dtype), g.ints(event.attributes["shape"]))]


@emits("fill", "Expand")
def _fill(g: Graph, event: Event) -> list[str]:
    operand, value = event.operands[0], event.attributes["value"]
    if isinstance(value, Ref) and g.dtype(value) != g.dtype(operand):
        raise ExportError(f"{g.line}: 'fill' with a tensor of another dtype cannot be exported")
    g.name(operand)
    return [g.node("Expand", g.name(value, g.dtype(operand)), g.ints(g.shape(operand)))]


@emits("bag_sums bag_lengths", "Gather, ReduceSum")
def _bags(g: Graph, event: Event) -> list[str]:
    """Of bags of one length: those of a matrix of indices."""
    offsets = event.operands[-1] if event.kernel == "bag_lengths" else event.operands[2]
    steps = g.producers.get(offsets.value)
    if steps is None or steps.kernel != "arange" or steps.attributes["start"] != 0 or any(
            operand is not None for operand in event.operands[3:]):
        raise ExportError(f"{g.line}: bags of several lengths, weights or a padding index cannot be exported")
    length = g.static([steps.attributes["step"]], "the length of bags")[0]
    g.asked.add(offsets.value)
    if event.kernel == "bag_lengths":
        shape = g.values[event.results[0]].shape  # type: ignore[index]
        dtype = g.values[event.results[0]].dtype  # type: ignore[index]
        return [g.node("Expand", g.constant(length, dtype), g.ints(shape))]
    weight, indices = (g.name(operand) for operand in event.operands[:2])
    rows = g.node("Gather", weight, g.node("Reshape", indices, g.ints([-1, length])), axis=0)
    return [g.node("ReduceSum", rows, g.ints([1]), keepdims=0)]


@emits("arange", "Range")
def _arange(g: Graph, event: Event) -> list[str]:
    dtype = np.dtype(event.attributes["dtype"] or np.int64)
    wide = dtype if dtype.kind == "f" and dtype.itemsize >= 4 else np.dtype(np.int64)
    name = g.node("Range", *[g.name(event.attributes[key], wide) for key in ("start", "stop", "step")])
    return [name if wide == dtype else g.cast(name, dtype)]


def rank_of(g: Graph, operand: Any) -> int:
    """The number of dimensions of an array."""
    return len(g.shape(operand))
