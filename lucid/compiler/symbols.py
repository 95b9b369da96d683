"""The places of arrays in a recording, and what its events do with them."""
from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

Symbol = tuple[str, int]
Event = tuple[Any, ...]


class Use(tuple[Symbol]):
    """The place of an array among the operands and attributes of a kernel call: ``Use((symbol,))``."""

    __slots__ = ()
    symbol = property(itemgetter(0))


class Known(Use):
    """The place of a tensor, which a step gets as it is, among the arguments and what the function sees."""

    __slots__ = ()


def is_pure(event: tuple[Any, ...]) -> bool:
    """Whether an event writes nothing that was there before, so that others may move over it."""
    if event[0] != "kernel":
        return event[0] in ("draw", "redraw", "constant", "grad")
    if event[1] in ("check_bounds", "check_nonzero"):
        return True
    return "out" not in event[4] and any(output is not None for output in event[6]) and all(
        output is None or (output[0] == "slot" and output not in set(uses(event[3]))) for output in event[6])


def uses(value: Any) -> Iterator[Symbol]:
    """The symbols in the operands or attributes of a kernel."""
    if isinstance(value, Use):
        yield value.symbol
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from uses(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from uses(item)
