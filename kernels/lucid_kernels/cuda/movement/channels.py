"""Arrays (N, C, *) that are contiguous, or have their channels last in memory: kernels read and write either as it lies."""
from __future__ import annotations

from typing import Any

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch


class Order:
    """The order in memory of an array (N, C, *): row-major, or with the channels last. Others count as row-major.

    With `last` it is the latter, however x lies: of one pixel a row-major array may be both.
    """

    def __init__(self, x: Any, last: bool = False) -> None:
        axes = (0, *range(2, x.ndim), 1)
        self.last = last or (not x.flags.c_contiguous and bool(x.transpose(axes).flags.c_contiguous))
        self._axes = axes if self.last else None
        self._back = tuple(map(axes.index, range(x.ndim)))

    def inner(self, array: Any) -> Any:
        """`array` as a C-contiguous one in this order; a copy where it lies otherwise. None stays None."""
        if array is None:
            return None
        return copies.contiguous(array if self._axes is None else array.transpose(self._axes))

    def result(self, out: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """The C-contiguous array that a kernel writes for a result of this `shape`, into `out` where that lies so."""
        if self._axes is None:
            return launch.result(out, shape, dtype)
        return launch.result(None if out is None else out.transpose(self._axes), [shape[axis] for axis in self._axes], dtype)

    def deliver(self, array: Any, out: Any) -> Any:
        """`launch.deliver` of what `result` gave."""
        if self._axes is None or array is None:
            return array if array is None else launch.deliver(array, out)
        array = array.transpose(self._back)
        return out if out is not None and out.data.ptr == array.data.ptr else launch.deliver(array, out)
