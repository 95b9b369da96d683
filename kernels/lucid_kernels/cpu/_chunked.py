"""Serial loops, and the kernels that give them pieces of large arrays on all threads.

Those kernels all look alike, so their text is written here and compiled where a loop first meets arrays of that size. Each
loop has two: `parallel` hands it chunks, which the loop writes itself, `streaming` smaller blocks, whose result it writes into
a buffer that stays in the L1 cache and goes from there past the caches (`_streaming.py`).
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from ._compile import jit_parallel
from ._layout import GRAIN, Array
from ._streaming import BLOCK, LONGEST_ROW, fence, stream, streams

_GLOBALS = {"numba": numba, "np": np, "stream": stream, "fence": fence}


def source(name: str, parameters: Sequence[str], cut: Sequence[str], results: Sequence[str], streaming: bool) -> str:
    """The Python text of a kernel that calls `loop` with its `parameters`; of those in `cut` and `results` it passes pieces.

    Pieces are `chunk` rows, which are elements in arrays of one dimension; a kernel that streams cuts chunks into blocks of
    `block` rows. The results must not overlap with what is read.
    """
    lengths = ["chunk", "block"] if streaming else ["chunk"]
    first = results[0]
    lines = [f"def {name}({', '.join([*parameters, *lengths])}):",
             f"    for c in numba.prange(({first}.shape[0] + chunk - 1) // chunk):"]  # fmt: skip
    if not streaming:
        passed = [f"{p}[c * chunk : (c + 1) * chunk]" if p in cut or p in results else p for p in parameters]
        return "\n".join([*lines, f"        loop({', '.join(passed)})"]) + "\n"
    passed = [f"{p}[start : start + count]" if p in cut else f"{p}_block[:count]" if p in results else p for p in parameters]
    lines += [f"        {y}_block = np.empty((block,) + {y}.shape[1:], {y}.dtype)" for y in results]
    lines += [f"        for start in range(c * chunk, min({first}.shape[0], (c + 1) * chunk), block):",
              f"            count = min(block, {first}.shape[0] - start)",
              f"            loop({', '.join(passed)})"]  # fmt: skip
    for y in results:
        width = f"({y}.size // {y}.shape[0])"
        lines.append(f"            stream({y}_block, 0, {y}, start * {width}, count * {width})")
    return "\n".join([*lines, "        fence()"]) + "\n"


def compile_source(text: str, name: str, scope: dict[str, Any], file: str) -> Callable[..., None]:
    """The kernel `name` in `text`, which finds its names in `scope`; the cache on disk keeps it as one of `file`."""
    scope = {**_GLOBALS, **scope}
    exec(compile(text, file, "exec"), scope)
    scope[name].__source__ = text
    return jit_parallel(scope[name])


def block_and_chunk(width: int) -> tuple[int, int]:
    """How many rows of `width` elements a kernel that streams takes for a block, and how many for a chunk, whole blocks."""
    block = max(1, BLOCK // width)
    even = 16 // math.gcd(width, 16)  # rows without a part of a vector at the end
    if even * width <= GRAIN:
        block = -(-block // even) * even
    return block, -(-GRAIN // (block * width)) * block


class Chunked:
    """A serial loop and its parallel kernels.

    The loop takes arrays of equally many rows, or flat ones, and as it is what `whole` names. It writes all of the array
    `result`, by default the last one, and may write into others.
    """

    def __init__(self, loop: Callable[..., None], whole: Sequence[str] = (), result: str | None = None) -> None:
        self.serial = loop
        self._function: Any = getattr(loop, "py_func", loop)
        code = self._function.__code__
        self._parameters = code.co_varnames[: code.co_argcount]
        self._result = result or self._parameters[-1]
        self._cut = [name for name in self._parameters if name != self._result and name not in whole]
        self._place = self._parameters.index(self._result)

    def _kernel(self, streaming: bool) -> Callable[..., None]:
        name = f"{self._function.__name__}_{'streaming' if streaming else 'parallel'}"
        scope = {"__name__": self._function.__module__, "loop": self.serial}
        text = source(name, self._parameters, self._cut, [self._result], streaming)
        return compile_source(text, name, scope, self._function.__code__.co_filename)

    @functools.cached_property
    def parallel(self) -> Callable[..., None]:
        """(*arguments of the loop, rows of a chunk)."""
        return self._kernel(streaming=False)

    @functools.cached_property
    def streaming(self) -> Callable[..., None]:
        """(*arguments of the loop, rows of a chunk, rows of a block); the result overlaps with no argument."""
        return self._kernel(streaming=True)

    def run(self, *arguments: Any, fresh: bool) -> None:
        """Apply the loop on all threads. `fresh`: the result is a new array."""
        y: Array = arguments[self._place]
        width = y.size // y.shape[0]
        moved = sum(argument.nbytes for argument in arguments if isinstance(argument, np.ndarray))
        if fresh and width <= LONGEST_ROW and streams(moved, y):
            block, chunk = block_and_chunk(width)
            self.streaming(*arguments, chunk, block)
        else:
            self.parallel(*arguments, max(1, GRAIN // width))
