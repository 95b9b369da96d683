"""How often arrays on a GPU have been written to, for what a backend makes of them and keeps.

Operations `note` an array with the counter of its memory, which writes by operations move. There are other ways to write: a graph
that is launched again may write anything (`all_written`), and so may who has got the memory by its address, by `Tensor.data`,
which is not counted, or by another library, or who has given it (`share`): of such memory nothing is kept from then on.
"""
from __future__ import annotations

import weakref
from typing import Any, Protocol

Array = Any


class Counter(Protocol):
    """Counts the writes to some memory."""

    count: int
    inference: bool


#: The types of arrays that are noted: a backend that keeps something adds its own.
kinds: set[type[Any]] = set()
#: By the identity of an array. While it is empty nobody needs to look.
noted: dict[int, tuple[weakref.ref[Array], Counter]] = {}
_shared: set[int] = set()  # addresses of memory
_launches = 0


def note(array: Array, counter: Counter) -> None:
    """Remember the counter of an array's memory as long as the array lives."""
    found = noted.get(id(array))
    if found is None or found[1] is not counter or found[0]() is not array:
        number = id(array)
        noted[number] = weakref.ref(array, lambda reference: _drop(number, reference)), counter


def _drop(number: int, reference: Any) -> None:
    found = noted.get(number)
    if found is not None and found[0] is reference:
        del noted[number]


def forget(array: Array) -> None:
    """Note nothing of an array that is written to by other means, until an operation notes it again."""
    noted.pop(id(array), None)


def share(array: Array) -> None:
    """Somebody may write to the memory of an array from now on, and nothing tells."""
    if array.__class__ in kinds:
        _shared.add(_address(array))


def all_written() -> None:
    """Any memory may have been written to."""
    global _launches
    _launches += 1


def state(array: Array) -> tuple[int, int, int] | None:
    """What is another one after a write to the array; None of one of which nothing is known."""
    found = noted.get(id(array))
    if found is None or found[0]() is not array or found[1].inference or _address(array) in _shared:
        return None
    return id(found[1]), found[1].count, _launches


def _address(array: Array) -> int:
    address: int = array.data.mem.ptr
    return address
