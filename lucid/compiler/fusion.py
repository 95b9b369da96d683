"""Elementwise operations of a plan as one kernel of the formula engine, where each of them rounds as it does alone.

An operation joins an earlier one of the same shape: it moves to it over what neither writes in place nor is called as it is.
What such a kernel computes and nobody else reads is never written to memory.

On a CPU arrays of at least LARGE elements are computed so: two operations of as many take 0.6 of the time of one by one, three
0.4, and of half as many 1.1 to 1.2 times as long and 0.9. There sums and means of all elements of what such a kernel computes are
part of it too, and those of its rows, in the order in which they are taken alone.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from lucid_kernels.expression import Node, Program, computed_as, constant

from ..backends.common.elementwise import ARITHMETIC
from ..backends.common.elementwise import program as formula
from ..backends.cpu.reduction.sums import length_of_rows
from ..backends.elementwise import ROWS, activations
from ..backends.sizes import TOTALS_FUSED_FROM
from .recorder import Recorder
from .symbols import Event, Symbol, Use, is_pure, uses

_MOST_ARRAYS, _MOST_STEPS = 24, 64  # of a kernel: so many arrays it can have, and of more steps it takes long to compile
_MOST_TOTALS = 3  # whose blocks are in the cache together
_BOOL = np.dtype(np.bool_)
_EXACT = frozenset("add sub mul div neg abs relu relu_grad square reciprocal eq ne lt le gt ge where masked_fill cast fused"
                   .split())
#: What rounds to half precision. Of that: those that are computed in float32 and rounded once.
_ROUNDED = {np.dtype(np.float16): "as_float16", np.dtype(ml_dtypes.bfloat16): "as_bfloat16"}
_IN_HALVES = frozenset("add sub mul div neg abs relu square eq ne lt le gt ge where masked_fill cast".split())
_STORED_NUMBERS = frozenset(("where", "masked_fill"))
#: Of bools alone.
_OF_TRUTHS = frozenset(("logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "where", "cast"))
#: On a CPU: those that are rounded once, and those whose loops call the same functions.
_ON_CPU = _EXACT | {"sqrt", "rsqrt", "tanh", "sigmoid"}
#: On a GPU: those that are rounded once, and those that are compiled of their formulas too, without joining products and sums.
_ON_GPU = _EXACT | {name for name, row in ROWS.items() if row.formula and not name.startswith("bitwise") and (
    row in activations.ROWS or not (row.family or row.cuda))}
#: Of these the ones whose kernels compute in float32 and round to half precision once.
_IN_HALVES_ON_GPU = _IN_HALVES | {row.name for row in activations.ROWS if row.family}


class _Group:
    """Operations of one shape, and what they have computed, by symbols."""

    def __init__(self, shape: tuple[int, ...], kind: type) -> None:
        self.shape, self.kind = shape, kind
        self.events: list[Event] = []
        self.inputs: dict[Symbol, Node] = {}
        self.values: dict[Symbol, Node] = {}
        self.totals: list[Event] = []  # sums and means of values
        self.length = 0  # of the rows that they are of; 0 if they are of all elements
        self.steps = 0

    def takes(self, event: Event, program: Program) -> bool:
        """Whether there is room for an operation, and on a CPU, where a call costs little, something that both read."""
        uses = [operand.symbol for operand in event[3] if isinstance(operand, Use)]
        new = [symbol for symbol in uses if symbol not in self.inputs and symbol not in self.values]
        together = event[2] is not np.ndarray or len(new) < len(uses)
        return (together and self.kind is event[2] and self.steps + len(program.steps) <= _MOST_STEPS
                and len(self.inputs) + len(new) + len(self.values) + len(event[6]) <= _MOST_ARRAYS)

    def add(self, event: Event, program: Program, dtypes: dict[Symbol, Any]) -> None:
        """Compute `event` too."""
        dtype = _floating(event, dtypes)
        operands = []
        for operand in event[3]:
            if not isinstance(operand, Use):
                operands.append(constant(operand, dtype))
                continue
            node = self.values.get(operand.symbol) or self.inputs.get(operand.symbol)
            if node is None:
                node = self.inputs[operand.symbol] = Node("input", dtypes[operand.symbol], value=len(self.inputs))
            operands.append(node)
        for symbol, node in zip(event[6], _placed(program, operands), strict=True):
            kept = dtypes[symbol]
            self.values[symbol] = Node(_ROUNDED[kept], kept, (node,)) if kept in _ROUNDED else node
        self.events.append(event)
        self.steps += len(program.steps)

    def takes_total(self, event: Event, length: int) -> bool:
        """Whether the sum of what is computed here, of rows of this length, can be taken with the others."""
        return event[3][0].symbol in self.values and len(self.totals) < _MOST_TOTALS and (
            not self.totals or length == self.length)

    def event(self, read: set[Symbol], slots: Sequence[Any]) -> Event:
        """One kernel for all, whose results are those that are `read` elsewhere."""
        outputs = [symbol for symbol in self.values if symbol in read]
        summed = [event[3][0].symbol for event in self.totals]
        attributes: dict[str, Any] = {"program": Program([self.values[symbol] for symbol in (*outputs, *summed)])}
        if summed:  # what each is divided by, and its shape
            attributes["totals"] = tuple([((self.length or math.prod(self.shape)) if event[1] == "mean" else 1,
                                           slots[event[6][0][1]][1]) for event in self.totals])
            attributes["length"] = self.length
        outputs += [event[6][0] for event in self.totals]
        return ("kernel", "fused", self.kind, [Use((symbol,)) for symbol in self.inputs], attributes, None, outputs,
                len(outputs) > 1, False)


def _placed(program: Program, operands: Sequence[Node]) -> list[Node]:
    """The results of a program of `operands`."""
    nodes = {f"x{place}": operands[number] for place, number in enumerate(program.inputs)}
    for place, dtype in enumerate(program.input_dtypes):
        node = nodes[f"x{place}"]
        nodes[f"x{place}"] = node if computed_as(node.dtype) == dtype else Node("cast", dtype, (node,))
    nodes |= {f"k{place}": Node("constant", dtype, value=value)
              for place, (value, dtype) in enumerate(zip(program.constants, program.constant_dtypes, strict=True))}
    for step in program.steps:
        nodes[step.name] = Node(step.operation, step.dtype, tuple([nodes[name] for name in step.operands]))
    return [nodes[name] for name in program.outputs]


def _floating(event: Event, dtypes: dict[Symbol, Any]) -> Any:
    """The floating dtype of the operands of an operation; bool if they have none."""
    found = {dtypes[operand.symbol] for operand in event[3] if isinstance(operand, Use)}
    return next((dtype for dtype in found if dtype != _BOOL), _BOOL)


def _program(event: Event, recorder: Recorder, number: int) -> Program | None:
    """The formula of an operation that may join others; None for anything else."""
    _, name, kind, operands, attributes, _, outputs, _, _ = event
    if name not in (_ON_CPU if kind is np.ndarray else _ON_GPU) and name not in _OF_TRUTHS:
        return None
    dtypes = recorder.dense.get(number)
    if any(isinstance(operand, Use) and operand.symbol[0] == "number" for operand in operands):
        return None
    if dtypes is None or not all(_is_new(output, operands, recorder) for output in outputs):
        return None
    results = [recorder.slots[output[1]] for output in outputs if output is not None]
    (_, shape, kept), *others = results
    if any(other != shape for _, other, _ in others):
        return None
    if name == "fused":
        program: Program = attributes["program"]
        return None if program.half_inputs or program.rounds or None in operands else program
    floating = {dtype for dtype in dtypes if dtype is not None and dtype != _BOOL}
    if len(floating) > 1 or not all(map(_is_floating, floating)) or (not floating and name not in _OF_TRUTHS):
        return None
    dtype = floating.pop() if floating else _BOOL
    if (dtype in _ROUNDED or kept in _ROUNDED) and not _rounds_once(name, kind, dtype, kept):
        return None
    numbers = [operand for operand in operands if not isinstance(operand, Use)]
    if not all(value.__class__ in (int, float) and _suits(value, dtype) for value in numbers):
        return None
    as_given = name in _STORED_NUMBERS or (kind is not np.ndarray and name in ARITHMETIC)  # not rounded before the operation
    if dtype in _ROUNDED and not as_given and any(float(dtype.type(value)) != value for value in numbers):
        return None
    if any(isinstance(value, Use) for value in attributes.values()):
        return None
    if name in ("where", "masked_fill"):
        found: Program | None = _of_choice(name, dtype)
    elif name == "cast":
        found = Program([Node("cast", kept, (Node("input", dtype, value=0),))]) if _is_floating(kept) else None
    else:
        row, given = ROWS[name], len(operands)
        if row.number and not isinstance(operands[-1], Use):  # which the formula is written for
            given, attributes = given - 1, {row.number: operands[-1]}
        found = formula(row, dtype, (True,) * given, tuple(attributes.items()))
    return found if found is not None and found.dtypes[0] == kept else None


def _of_choice(name: str, dtype: Any) -> Program:
    """Operations that move bits."""
    x, y = (Node("input", dtype, value=number) for number in ((1, 2) if name == "where" else (0, 2)))
    mask = Node("input", _BOOL, value=0 if name == "where" else 1)
    return Program([Node("where", dtype, (mask, x, y) if name == "where" else (mask, y, x))])


def _length_of_total(event: Event, recorder: Recorder) -> int | None:
    """Of how many elements an operation takes a sum or a mean on a CPU that may be part of what computes them: those of a row, 0
    if all; None if it may not.
    """
    _, name, kind, operands, attributes, _, outputs, _, _ = event
    if name not in ("sum", "mean") or kind is not np.ndarray or "out" in attributes or (
            attributes.get("dtype") is not None or not isinstance(operands[0], Use) or operands[0].symbol[0] != "slot"):
        return None
    _, shape, dtype = recorder.slots[operands[0].symbol[1]]
    if math.prod(shape) < TOTALS_FUSED_FROM or dtype.char not in "fd" or not _is_new(outputs[0], operands, recorder):
        return None
    return length_of_rows(shape, attributes.get("axis"))


def _is_floating(dtype: Any) -> bool:
    return dtype.char in "fd" or dtype in _ROUNDED


def _rounds_once(name: str, kind: type, dtype: Any, kept: Any) -> bool:
    """Whether an operation from or to half precision is computed in float32 and rounded once, as in a kernel of several."""
    if name not in (_IN_HALVES if kind is np.ndarray else _IN_HALVES_ON_GPU) or "d" in (dtype.char, kept.char):
        return False
    if kind is not np.ndarray:
        return True
    from lucid_kernels.cpu.arrays.half_precision import converts

    return all(each not in _ROUNDED or converts(each) for each in (dtype, kept))


def _suits(value: float, dtype: Any) -> bool:
    return dtype != _BOOL and abs(value) <= min(float(ml_dtypes.finfo(dtype).max), 2.0 ** 53)  # type: ignore[no-untyped-call]


def _is_new(output: Symbol | None, operands: Sequence[Any], recorder: Recorder) -> bool:
    """Whether a result is an array with memory of its own."""
    return output is not None and output[0] == "slot" and recorder.owners[output[1]] == output[1] and not any(
        isinstance(operand, Use) and operand.symbol == output for operand in operands)


def fused(recorder: Recorder, source: Sequence[Event], lines: Sequence[Any], fixed: set[int]
          ) -> tuple[list[Event], dict[int, list[Event]]] | None:
    """The events of `source`, with one kernel in the place of each group, and what each stands for; None if there is none.
    `lines` are those of the function, which say who reads what. Nothing moves over the events in `fixed`, by identity, and those
    operations stay alone.
    """
    alone = {id(recorder.events[number]) for number in recorder.dropped if number < len(recorder.events)} | fixed
    # Numbers come first, so that what reads them may join what is before them.
    first = [event for event in source if event[0] == "constant" and event[1].size == 1 and id(event) not in alone]
    order: list[Event | _Group] = [*first]
    maker: dict[Symbol, int] = {event[2]: place for place, event in enumerate(first)}  # where in `order` arrays are computed
    there = set(map(id, first))
    dtypes: dict[Symbol, Any] = {}
    barrier = 0  # before which nothing moves
    numbers = {id(event): number for number, event in enumerate(recorder.events)}
    for event in source:
        if id(event) in there:
            continue
        number = numbers[id(event)]
        length = _length_of_total(event, recorder) if event[0] == "kernel" and id(event) not in alone else None
        if length is not None:
            made = maker.get(event[3][0].symbol, -1)
            group = order[made] if made >= barrier else None
            if isinstance(group, _Group) and group.takes_total(event, length):
                group.totals.append(event)
                group.length = length
                maker[event[6][0]] = made
                continue
        program = _program(event, recorder, number) if event[0] == "kernel" and id(event) not in alone else None
        if program is None:
            if id(event) in fixed or not is_pure(event):
                barrier = len(order) + 1
            if event[0] == "kernel":
                maker.update((symbol, len(order)) for symbol in event[6] if symbol is not None)
            elif event[0] == "constant":
                maker[event[2]] = len(order)
            elif event[0] == "host" and event[4] is not None:
                maker[event[4]] = len(order)
            order.append(event)
            continue
        for operand, dtype in zip(event[3], recorder.dense[number], strict=True):
            if isinstance(operand, Use):
                dtypes[operand.symbol] = dtype
        dtypes.update((symbol, recorder.slots[symbol[1]][2]) for symbol in event[6])
        shape = recorder.slots[event[6][0][1]][1]
        least = barrier
        for symbol in uses(event[3]):
            place = maker.get(symbol)
            if place is not None:
                group = order[place]
                inside = isinstance(group, _Group) and group.shape == shape and symbol in group.values  # and no sum
                least = max(least, place + (not inside))
        found = next((place for place in range(least, len(order)) if isinstance(order[place], _Group)
                      and order[place].shape == shape and order[place].takes(event, program)), None)  # type: ignore[union-attr]
        if found is None:
            found = len(order)
            order.append(_Group(shape, event[2]))
        joined: Any = order[found]
        joined.add(event, program, dtypes)
        maker.update((symbol, found) for symbol in event[6])
    groups = [group for group in order if isinstance(group, _Group) and len(group.events) + len(group.totals) > 1]
    if not groups:
        return None
    home = {id(event): group for group in groups for event in (*group.events, *group.totals)}
    read: dict[int, set[Symbol]] = {id(group): set() for group in groups}
    for line in lines:
        for symbol in line.symbols:
            group = home.get(id(line.event))
            for other in groups if group is None else [each for each in groups if each is not group]:
                if symbol in other.values:
                    read[id(other)].add(symbol)
    events: list[Event] = []
    found_groups: dict[int, list[Event]] = {}
    for each in order:
        if not isinstance(each, _Group):
            events.append(each)
        elif id(each) not in read:
            events.append(each.events[0])
        elif read[id(each)] or each.totals:
            events.append(each.event(read[id(each)], recorder.slots))
            found_groups[id(events[-1])] = [*each.events, *each.totals]
    return events, found_groups
