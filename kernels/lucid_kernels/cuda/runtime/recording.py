"""What a call of a kernel's launcher does on the device: its launches, products and new arrays, for a plan that repeats them.

`launch` and `matmul.products` tell the recorder of this thread. What CuPy's own functions launch is not seen. Where they make an
array that a kernel reads or that is returned, the array is unknown, and there is no plan; where they write into a known one, the
launcher says so by `unrepeatable`. On the simulator all that happens is counted, and a launcher that has forgotten it fails.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_MOST = np.iinfo(np.int64).max  # what 64 bits with a sign hold
_RANGES = {kind: (int(np.iinfo(kind).min), min(int(np.iinfo(kind).max), _MOST)) for kind in "bBhHiIlLqQ"}
_local = threading.local()
recorders: list[Recorder] = []  # those at work, of all threads


class Recorder:
    """The record of one call, whose attributes `moves` differ in each."""

    def __init__(self, moves: Sequence[str] = ()) -> None:
        self.moves = moves
        #: (kernel, grid, block, arguments, bytes of shared memory) of launches; (None, arguments, function, description,
        #: attributes) of products.
        self.steps: list[tuple[Any, ...]] = []
        self.arrays: list[Any] = []  # new ones, which the record keeps: their memory is not given out again meanwhile
        self.flag: Any = None  # the error flag, where a kernel has it
        self.moving: list[tuple[str, Any]] = []  # arguments that differ in each call, by the name of the attribute
        self.repeatable = True
        self.record_next = False  # whether the next such call is to be recorded instead

    def __enter__(self) -> Recorder:
        recorders.append(self)
        _local.recorder = self
        return self

    def __exit__(self, *exception: object) -> None:
        _local.recorder = None
        recorders.remove(self)


class _Watched:
    """A kernel that is noted when it is launched."""

    def __init__(self, kernel: Any, recorder: Recorder) -> None:
        object.__setattr__(self, "_kernel", kernel)
        object.__setattr__(self, "_recorder", recorder)

    def __call__(self, grid: Any, block: Any, arguments: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        self._kernel(grid, block, arguments, shared_mem=shared_mem, stream=stream)
        self._recorder.steps.append((self._kernel, grid, block, tuple(arguments), shared_mem))
        if stream is not None:
            self._recorder.repeatable = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._kernel, name, value)


def current() -> Recorder | None:
    """The recorder of this thread, if a call is recorded."""
    return getattr(_local, "recorder", None)


def watched(kernel: Any) -> Any:
    """`kernel`, or while a call is recorded what notes its launches."""
    recorder = current()
    return kernel if recorder is None else _Watched(kernel, recorder)


def fresh(array: Any) -> Any:
    """`array`, which is new and whose elements nobody has written; a plan makes one in its place."""
    recorder = current()
    if recorder is not None:
        recorder.arrays.append(array)
    return array


class _Placed:
    place = 0  # among the pointers of the plan

    @classmethod
    def at(cls, place: int, value: Any) -> Any:
        """`value`, which a plan has at `place`."""
        placed = cls(value)  # type: ignore[call-arg]
        placed.place = place
        return placed


class Given(float, _Placed):
    """A number among the arguments of a call that is recorded, which a plan may repeat with other ones."""


class GivenInteger(int, _Placed):
    """The same of a whole number beside arrays of integers, which a plan has in 64 bits."""


class Slot(np.float64, _Placed):  # type: ignore[misc]  # a float of Python and a number of NumPy
    """A `Given` number as the argument of a kernel."""


class IntegerSlot(np.int64, _Placed):
    """A `GivenInteger` as the argument of a kernel."""


SLOTS = Slot, IntegerSlot


def number(value: float) -> np.float64:
    """A number as the argument of a kernel, known again if it is `Given`."""
    return Slot.at(value.place, value) if isinstance(value, Given) else np.float64(value)


def plain(value: Any) -> Any:
    """`value`, or the number that it is, for CuPy's functions: they take no other classes."""
    return float(value) if value.__class__ is Given else int(value) if value.__class__ is GivenInteger else value


def is_in_range(value: int, dtype: Any) -> bool:
    """Whether a plan may have `value` beside arrays of `dtype`: its 64 bits become an element of the same value."""
    low, high = _RANGES.get(dtype.char, (1, 0))
    return low <= value <= high


def whole_number(value: int) -> np.int64:
    """A whole number as the argument of a kernel, known again if it is `GivenInteger`."""
    return IntegerSlot.at(value.place, value) if isinstance(value, GivenInteger) else np.int64(value)


def flagged(flag: Any) -> Any:
    """`flag`, the error flag, which a kernel of the call gets."""
    recorder = current()
    if recorder is not None:
        recorder.flag = flag
    return flag


def moving(name: str, number: Any) -> Any:
    """`number`, the argument of a kernel that is the attribute `name` of the call, in 64 bits; of a call inside of that which is
    recorded it is a constant.
    """
    recorder = current()
    if recorder is not None and name in recorder.moves:
        recorder.moving.append((name, number))
    return number


def multiplied(function: str, arguments: tuple[int, ...], description: Any = None, attributes: tuple[tuple[int, int], ...] = ()
               ) -> None:
    """Note a product by a library's `function`. Some of its pointers may be attributes of a description, by their numbers."""
    recorder = current()
    if recorder is not None:
        recorder.steps.append((None, arguments, function, description, attributes))


def unrepeatable() -> None:
    """The call does something that launches of kernels do not repeat: CuPy writes into an array that was there already."""
    recorder = current()
    if recorder is not None:
        recorder.repeatable = False


def record_next() -> None:
    """This call does something that the next one does not: that is recorded instead."""
    recorder = current()
    if recorder is not None:
        recorder.record_next = True


Forget = Callable[[], None]
#: Called when kernels or what chooses them changes: plans made before are no longer right.
forgetting: list[Forget] = []


def forget() -> None:
    """Forget all plans. Whoever changes a setting that chooses kernels calls this."""
    for callback in forgetting:
        callback()
