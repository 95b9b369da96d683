"""Several runs of a model, with other elements and other lengths, as one sequence of calls.

A number that is the same in all runs is a number; one that differs is a `Length`, which the graph computes from the shapes of
its inputs. An array that no input leads to must be the same in all runs, or be computed in the graph as it is here: so what
depends on the inputs in a way that the dispatcher does not see is noticed, and not written into the file as a constant.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from lucid_kernels.expression import Program

from .. import backends
from .errors import ExportError
from .tracing import Event, Ref, Trace, Value


@dataclasses.dataclass(frozen=True)
class Length:
    """A number that depends on lengths of the inputs: what it was in each run."""

    runs: tuple[int, ...]


@dataclasses.dataclass
class Known:
    """A value in all runs."""

    shape: tuple[Any, ...]  # of int and Length
    dtype: Any
    origin: str
    depends: bool
    name: str
    length: Length | None  # of a tensor without dimensions that was made of one
    constant: np.ndarray | None  # the elements, where all runs have the same and no input leads to them


def merge(traces: Sequence[Trace]) -> tuple[list[Known], list[Event]]:
    """The values and the calls of all runs. Raises ExportError where they are not the same calls."""
    first = traces[0]
    for place, alike in enumerate(zip(*[trace.events for trace in traces], strict=False)):
        if len({event.kernel for event in alike}) > 1:  # a formula, where there are many elements
            formulas = [formula for event, trace in zip(alike, traces, strict=True)
                        if (formula := _as_formula(event, trace)) is not None]
            if len(formulas) == len(traces):
                for formula, trace in zip(formulas, traces, strict=True):
                    trace.events[place] = formula
                continue
        if len({(event.kernel, len(event.results)) for event in alike}) > 1:
            raise _differ(alike[0], "calls " + " or ".join(sorted({f"'{event.kernel}'" for event in alike})))
    if len({len(trace.events) for trace in traces}) > 1:
        shortest = min(traces, key=lambda trace: len(trace.events))
        longest = max(traces, key=lambda trace: len(trace.events))
        raise _differ(longest.events[len(shortest.events)], "calls more operations, as a loop over positions does")
    if len({len(trace.values) for trace in traces}) > 1:
        raise ExportError("the model uses other tensors for other elements or lengths of its inputs")
    events = [_merged_event(alike) for alike in zip(*[trace.events for trace in traces], strict=True)]
    values = [_merged_value(alike) for alike in zip(*[trace.values for trace in traces], strict=True)]
    if any(trace.outputs != first.outputs for trace in traces):
        raise ExportError("the model returns other tensors for other elements or lengths of its inputs")
    return values, events


def merged(items: Sequence[Any], event: Event) -> Any:
    """One operand or attribute of all runs."""
    one = items[0]
    kind = one.__class__
    if any(item.__class__ is not kind for item in items):
        raise _differ(event, f"gets {' or '.join(sorted({repr(item) for item in items}))}")
    if kind is slice:
        return slice(*[merged([getattr(item, part) for item in items], event) for part in ("start", "stop", "step")])
    if isinstance(one, (tuple, list)):
        if len({len(item) for item in items}) > 1:
            raise _differ(event, "gets a list of another length")
        return tuple([merged(parts, event) for parts in zip(*items, strict=True)])
    if kind is dict:
        return {key: merged([item[key] for item in items], event) for key in one}
    if kind is int and any(item != one for item in items):
        return Length(tuple(items))
    if kind is Program:
        if any((item.steps, item.constants, item.inputs, item.outputs) != (one.steps, one.constants, one.inputs, one.outputs)
               for item in items):
            raise _differ(event, "computes with a number that depends on the inputs")
        return one
    if not all(item is one or item == one or (item != item and one != one) for item in items):
        raise _differ(event, f"computes with a number that depends on the inputs: {' or '.join(map(repr, items))}")
    return one


def _as_formula(event: Event, trace: Trace) -> Event | None:
    """A call of an elementwise operation as one of its formula, which large tensors take."""
    symbolic = backends.symbolic_module()
    if event.kernel == "fused" or event.kernel not in symbolic.TABLE:
        return event if event.kernel == "fused" else None
    arrays = [operand for operand in event.operands if isinstance(operand, Ref)]
    symbols = iter([symbolic.argument(place, trace.values[ref.value].dtype, bool(trace.values[ref.value].shape))
                    for place, ref in enumerate(arrays)])
    operands = [next(symbols) if isinstance(operand, Ref) else operand for operand in event.operands]
    try:
        result = symbolic.TABLE[event.kernel](*operands, **event.attributes)
    except TypeError:
        return None
    return dataclasses.replace(event, kernel="fused", operands=arrays, attributes={"program": Program([result.node])})


def _merged_event(events: Sequence[Event]) -> Event:
    first = events[0]
    return Event(first.kernel, list(merged([event.operands for event in events], first)),
                 merged([event.attributes for event in events], first), first.results, first.line)


def _merged_value(values: Sequence[Value]) -> Known:
    first = values[0]
    if any((value.origin, value.depends, len(value.shape), value.dtype)
           != (first.origin, first.depends, len(first.shape), first.dtype) for value in values):
        raise ExportError("for other elements or lengths of the inputs the model makes tensors of other dtypes or dimensions")
    shape = tuple([lengths[0] if len(set(lengths)) == 1 else Length(tuple(lengths))
                   for lengths in zip(*[value.shape for value in values], strict=True)])
    same = not first.depends and all(_equal(value.elements, first.elements) for value in values[1:])
    length = None
    if first.origin == "constant" and not same and not shape and all(float(v.elements) == int(v.elements) for v in values):
        length = Length(tuple([int(value.elements) for value in values]))
    elif first.origin == "constant" and not same:
        raise ExportError("the model makes a tensor, of shape " + " or ".join(sorted({str(value.shape) for value in values}))
                          + ", outside of lucid's operations, and its elements depend on those of the inputs or on their lengths")
    return Known(shape, first.dtype, first.origin, first.depends, first.name, length, first.elements if same else None)


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or (a.shape == b.shape and a.tobytes() == b.tobytes())


def _differ(event: Event, what: str) -> ExportError:
    return ExportError(f"{event.line}: for other elements or lengths of the inputs the model {what} ('{event.kernel}'): a graph "
                       "always does the same. If it is a length, leave it out of the dynamic ones")
