"""Graphs of CUDA: what a stream was asked to do, captured once and launched again, with memory from a pool of its own.

In a capture nothing runs. What waits for the device, or copies from or to the host, is refused by CuPy or CUDA. Random numbers
come from seeds that lie on the device (`Draws`), of which each launch gets new ones.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import cupy
import numpy as np
from lucid_kernels.cuda.matmul import blas, products
from lucid_kernels.cuda.random.random import Stored
from lucid_kernels.cuda.runtime import device_tables, launch

from .. import versions


class Pool(cupy.cuda.MemoryPool):  # type: ignore[misc]
    """Memory that graphs share, with the workspace of their products: no two of them are launched at once."""

    def __init__(self) -> None:
        super().__init__()
        self.workspace = blas.Workspace()


def prepare() -> None:
    """What must not happen in a capture for the first time: the error flag, and that cuBLAS loads its kernels."""
    launch.make_flag()
    _multiply_once(cupy.cuda.runtime.getDevice())


@functools.cache
def _multiply_once(device: int) -> None:
    with cupy.cuda.Stream.null:  # that which will be captured needs no workspace of its own
        one = cupy.ones((1, 1), np.float32)
        products.matmul(one, one)


def copy_into(target: Any, source: Any) -> None:
    """Copy an array to one of the same layout without gaps."""
    if source.nbytes:
        target.data.copy_from_device_async(source.data, source.nbytes)


def own_copy(array: Any) -> Any:
    """A copy of an array without gaps, of the same layout."""
    copy = cupy.ndarray(array.shape, array.dtype, strides=array.strides, memptr=cupy.cuda.alloc(array.nbytes))
    copy_into(copy, array)
    return copy


class Static:
    """An array that a graph writes at each launch, which may be handed out: whether somebody still holds it can be asked."""

    __slots__ = ("_counts", "array")

    def __init__(self, array: Any) -> None:
        self.array = array
        self._counts = (0, 0, 0)

    def settle(self) -> None:
        """Take it that nobody holds the array now but this object and the graph."""
        array = self.array
        data = array.data
        # A view with strides of its own has no `.base`, but it holds the memory.
        self._counts = getrefcount(array), getrefcount(data), getrefcount(data.mem)

    def is_free(self, holders: int) -> bool:
        """Whether nobody holds the array, or its memory, but for so many tensors that are known."""
        array = self.array
        data = array.data
        counts = self._counts
        return (getrefcount(array) - holders == counts[0] and getrefcount(data) == counts[1]
                and getrefcount(data.mem) == counts[2])


class Draws:
    """Seeds and offsets of draws in device memory. Each launch brings the offsets to where the next one mostly begins."""

    def __init__(self, steps: Sequence[int]) -> None:
        """`steps`: by how much `advance` lets each offset grow, as it does from launch to launch if nobody else draws."""
        self._steps = steps
        self._array = cupy.zeros(2 * len(steps), np.int64)
        self._growth = cupy.array([number for step in steps for number in (0, step)], np.int64)
        self._there: list[tuple[int, int]] | None = None
        self.advance()  # what is captured is compiled before

    def seed(self, number: int) -> int:
        """The seed with which a captured kernel reads pair `number`; its offset is added to the one there."""
        return Stored(self._array.data.ptr + 16 * number)

    def advance(self) -> None:
        """Let the offsets grow; captured behind what reads them."""
        cupy.add(self._array, self._growth, out=self._array)

    def store(self, pairs: list[tuple[int, int]]) -> None:
        """Let these be the pairs in the current stream for the launch that follows."""
        if pairs != self._there:
            device_tables.store(self._array, np.array(pairs, np.uint64).view(np.int64).ravel().tolist())
        self._there = [(seed, offset + step) for (seed, offset), step in zip(pairs, self._steps, strict=True)]


class Graph:
    """One graph, captured between `begin` and `end` in a stream of its own or `stream`, with memory of `pool`, a `Pool`."""

    def __init__(self, pool: Any = None, stream: Any = None) -> None:
        self.pool = Pool() if pool is None else pool
        self._stream = cupy.cuda.Stream(non_blocking=True) if stream is None else stream
        self._graph: Any = None
        self._entered: list[Any] = []
        self._kept: list[Any] = []  # arrays that were made for it, out of its pool

    def begin(self) -> None:
        """Capture what is asked for from now on. Raises CuPy's errors.

        What was asked for before is waited for: its memory may be free again, and tables are written there at once, in another
        stream (`device_tables.store_while_capturing`).
        """
        current = cupy.cuda.get_current_stream()
        if not (current.ptr and current.is_capturing()):
            current.synchronize()
        allocator = cupy.cuda.using_allocator(self.pool.malloc)
        self._entered = [self._stream, allocator]
        self._stream.__enter__()
        allocator.__enter__()
        try:
            blas.begin_capture(self._stream.ptr, self.pool.workspace)
            # Relaxed: a pool may have to ask the driver for memory.
            self._stream.begin_capture(cupy.cuda.runtime.streamCaptureModeRelaxed)
        except BaseException:
            self._leave()
            raise
        device_tables.kept[self._stream.ptr] = self._kept

    def end(self) -> None:
        """Make the graph. Raises CUDA's error if the capture was spoilt."""
        try:
            self._graph = self._stream.end_capture()
        finally:
            self._leave()

    def abandon(self) -> None:
        """End a capture that has failed."""
        try:
            self._stream.end_capture()
        except (RuntimeError, cupy.cuda.runtime.CUDARuntimeError):
            pass
        finally:
            self._leave()

    def _leave(self) -> None:
        device_tables.kept.pop(self._stream.ptr, None)
        blas.end_capture(self._stream.ptr)
        for context in reversed(self._entered):
            context.__exit__(None, None, None)
        self._entered = []

    @property
    def is_captured(self) -> bool:
        """Whether there is a graph to launch."""
        return self._graph is not None

    def launch(self) -> None:
        """Do in the current stream what was captured. Index errors are raised where the host waits next."""
        self._graph.launch(cupy.cuda.get_current_stream())
        versions.all_written()
        launch.error_flag()

    def drawn(self) -> str:
        """The graph for Graphviz, as CUDA writes it."""
        return str(self._graph.debug_dot_str(0))

    def reset(self) -> None:
        """Let go of the graph."""
        self._graph = None
        self._kept = []
