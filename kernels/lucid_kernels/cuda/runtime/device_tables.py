"""Tables of 64-bit words in device memory, such as the addresses of a list of arrays: see `store_words.cu`.

A table that is asked for again is there still, and only what has changed in it is written.
"""
from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections import OrderedDict
from collections.abc import Sequence
from operator import eq
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import driver, launch, plans

_WORDS = 256  # of a launch, as in the source: 2 of the 4 KiB that its arguments may have
_MOST = 256  # tables

#: Where captures under way keep arrays as long as their graphs, by the streams.
kept: dict[int, list[Any]] = {}
_tables: OrderedDict[Any, tuple[Any, list[int]]] = OrderedDict()


def table(key: Any, words: list[int]) -> Any:
    """An int64 array with these words, on the current device and for the current stream. The first one is 0, and the kernel's
    own: it is 0 again when the kernel is done.

    Tables of one `key` share their memory. While the stream is being captured a table has memory of its own: what is called
    later would change it. It is written at once, if the graph keeps it (`kept`), else by the graph each time it runs.
    """
    stream = cupy.cuda.get_current_stream()
    if stream.ptr and stream.is_capturing():
        holder = kept.get(stream.ptr)
        if holder is None:
            array = launch.empty((len(words),), np.int64)
            store(array, words)
            return array
        # What is captured may use memory of the graph's pool before: this has to be other memory.
        with cupy.cuda.using_allocator(cupy.get_default_memory_pool().malloc):
            array = launch.empty((len(words),), np.int64)
        store_while_capturing(array, words)
        holder.append(array)
        return array
    found = cupy.cuda.runtime.getDevice(), stream.ptr, len(words), key
    array, old = _tables.pop(found, (None, words))
    if array is None:
        array, old = launch.empty((len(words),), np.int64), []
        while len(_tables) >= _MOST:
            _tables.popitem(last=False)
    _tables[found] = array, words
    if old != words:
        store(array, words, old)
    return array


def store(array: Any, words: Sequence[int], old: Sequence[int] = ()) -> None:
    """Write words to an array that holds `old` already; parts that are the same are left alone."""
    begin, end = 0, len(words)
    if len(old) == end:
        same = [*map(eq, words, old)]
        begin = same.index(False) if False in same else end
        while end > begin and same[end - 1]:
            end -= 1
    for start in range(begin, end, _WORDS):
        part = words[start : min(start + _WORDS, end)]
        if part == old[start : start + len(part)]:
            continue
        kernel = launch.kernel("store_words", "store_words")
        if not plans.repeats():
            kernel((1,), (_WORDS,), (array[start:], np.int32(len(part)), struct_argument("q", part, _WORDS)))
            continue
        device = cupy.cuda.runtime.getDevice()
        with _lock:
            storing = _storing.get(device)
            if storing is None or storing.launch.kernel is not kernel:
                storing = _storing[device] = _Storing(kernel)
            storing.words[: len(part)] = [*part]
            storing.count[0] = len(part)
            storing.launch(cupy.cuda.get_current_stream().ptr, array.data.ptr + 8 * start)


class _Storing:
    """The launch that writes words, and where it reads them."""

    def __init__(self, kernel: Any) -> None:
        self.words, self.count = (ctypes.c_int64 * _WORDS)(), (ctypes.c_int32 * 1)()
        self.launch = driver.Launch(kernel, (1,), (_WORDS,), (0, self.count, self.words))


_storing: dict[int, _Storing] = {}  # by device
_lock = threading.Lock()


def store_while_capturing(array: Any, words: Sequence[int]) -> None:
    """Write words while the current stream is being captured, and wait for it."""
    with cupy.cuda.Stream(non_blocking=True) as other:
        store(array, words)
    other.synchronize()


def struct_argument(kind: str, numbers: Sequence[Any], count: int) -> Any:
    """The argument of a kernel that is a struct of one array: of `count` numbers, these and zeros, of 8 bytes of such a `kind`.

    It has no fields: NumPy would describe them for each launch, which takes it longer than all else here.
    """
    return np.frombuffer(struct.pack(f"{len(numbers)}{kind}", *numbers).ljust(8 * count, b"\0"), _bytes(8 * count))


@functools.cache
def _bytes(count: int) -> np.dtype:
    return np.dtype(f"V{count}")
