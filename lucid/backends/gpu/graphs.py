"""Graphs of CUDA: what a stream was asked to do, captured once and launched again, with memory from a pool of its own.

In a capture nothing runs. What waits for the device, or copies from or to the host, is refused by CuPy or CUDA. Random numbers
come from seeds that lie on the device (`Draws`), of which each launch gets new ones.
"""
from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import cupy
import numpy as np
from lucid_kernels.cuda.matmul import products
from lucid_kernels.cuda.random.random import Stored
from lucid_kernels.cuda.runtime import launch, words

from .. import versions


def make_pool() -> Any:
    """Memory that graphs share."""
    return cupy.cuda.MemoryPool()


def prepare() -> None:
    """What must not happen in a capture for the first time: the error flag, and cuBLAS's workspace."""
    launch.make_flag()
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
        self._counts = self._held()

    def _held(self) -> tuple[int, int, int]:
        # A view with strides of its own has no `.base`, but it holds the memory.
        return getrefcount(self.array), getrefcount(self.array.data), getrefcount(self.array.data.mem)

    def is_free(self, holders: int) -> bool:
        """Whether nobody holds the array, or its memory, but for so many tensors that are known."""
        array, data, memory = self._counts
        return self._held() == (array + holders, data, memory)


class Draws:
    """Seeds and offsets of draws in device memory."""

    def __init__(self, count: int) -> None:
        self._array = cupy.zeros(2 * count, np.int64)
        self._old: list[int] = []

    def seed(self, number: int) -> int:
        """The seed with which a captured kernel reads pair `number`; its offset is added to the one there."""
        return Stored(self._array.data.ptr + 16 * number)

    def store(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Let these be the pairs from here on in the current stream."""
        new: list[int] = np.array(pairs, np.uint64).view(np.int64).ravel().tolist()
        words.store(self._array, new, self._old)
        self._old = new


class Graph:
    """One graph, captured between `begin` and `end` in a stream of its own or `stream`, with memory of `pool`."""

    def __init__(self, pool: Any = None, stream: Any = None) -> None:
        self.pool = make_pool() if pool is None else pool
        self._stream = cupy.cuda.Stream(non_blocking=True) if stream is None else stream
        self._graph: Any = None
        self._entered: list[Any] = []
        self._kept: list[Any] = []  # arrays that were made for it, out of its pool

    def begin(self) -> None:
        """Capture what is asked for from now on. Raises CuPy's errors."""
        allocator = cupy.cuda.using_allocator(self.pool.malloc)
        self._entered = [self._stream, allocator]
        self._stream.__enter__()
        allocator.__enter__()
        try:
            # Relaxed: a pool may have to ask the driver for memory.
            self._stream.begin_capture(cupy.cuda.runtime.streamCaptureModeRelaxed)
        except BaseException:
            self._leave()
            raise
        words.kept[self._stream.ptr] = self._kept

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
        words.kept.pop(self._stream.ptr, None)
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
