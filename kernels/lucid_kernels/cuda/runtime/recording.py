"""What a call of a kernel's launcher does on the device: its launches, products and new arrays, for a plan that repeats them.

`launch` and `matmul.products` tell the recorder of this thread. What CuPy's own functions launch is not seen. Where they make an
array that a kernel reads or that is returned, the array is unknown, and there is no plan; where they write into a known one, the
launcher says so by `unrepeatable`. On the simulator all that happens is counted, and a launcher that has forgotten it fails.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_local = threading.local()
recorders: list[Recorder] = []  # those at work, of all threads


class Recorder:
    """The record of one call."""

    def __init__(self) -> None:
        #: (kernel, grid, block, arguments, bytes of shared memory) of launches; (None, arguments) of products.
        self.steps: list[tuple[Any, ...]] = []
        self.arrays: list[Any] = []  # new ones, which the record keeps: their memory is not given out again meanwhile
        self.flag: Any = None  # the error flag, where a kernel has it
        self.moving: list[tuple[str, Any]] = []  # arguments that differ in each call, by the name of the attribute
        self.repeatable = True

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


class Given(float):
    """A number among the arguments of a call that is recorded, which a plan may repeat with other ones."""

    place = 0  # among the pointers of the plan

    @classmethod
    def at(cls, place: int, value: float) -> Given:
        """`value`, which a plan has at `place`."""
        given = cls(value)
        given.place = place
        return given


class Slot(np.float64):
    """A `Given` number as the argument of a kernel."""

    place = 0


def number(value: float) -> np.float64:
    """A number as the argument of a kernel, known again if it is `Given`."""
    if value.__class__ is not Given:
        return np.float64(value)
    slot = Slot(value)
    slot.place = value.place
    return slot


def flagged(flag: Any) -> Any:
    """`flag`, the error flag, which a kernel of the call gets."""
    recorder = current()
    if recorder is not None:
        recorder.flag = flag
    return flag


def moving(name: str, number: Any) -> Any:
    """`number`, the argument of a kernel that is the attribute `name` of the call, in 64 bits."""
    recorder = current()
    if recorder is not None:
        recorder.moving.append((name, number))
    return number


def multiplied(*arguments: int) -> None:
    """Note a product: the arguments of cuBLAS's function."""
    recorder = current()
    if recorder is not None:
        recorder.steps.append((None, arguments))


def unrepeatable() -> None:
    """The call does something that launches of kernels do not repeat: CuPy writes into an array that was there already."""
    recorder = current()
    if recorder is not None:
        recorder.repeatable = False


Forget = Callable[[], None]
#: Called when kernels or what chooses them changes: plans made before are no longer right.
forgetting: list[Forget] = []


def forget() -> None:
    """Forget all plans. Whoever changes a setting that chooses kernels calls this."""
    for callback in forgetting:
        callback()
