"""How long the arrays of a plan live, and how much memory they take: each from the line that makes it to its last use."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graphs import Line
from .recorder import Recorder
from .symbols import Symbol


class Lifetimes:
    """`ends` has the arrays that are let go after each line; `bytes` what is in use while it runs, and `peak` the most of that.

    A view takes no memory of its own, and keeps that of its array. What arguments, parameters and buffers have is not counted.
    """

    def __init__(self, lines: Sequence[Line], recorder: Recorder) -> None:
        first: dict[Symbol, int] = {}
        last: dict[Symbol, int] = {}
        for number, line in enumerate(lines):
            for symbol in line.symbols:
                if symbol[0] == "slot":
                    first.setdefault(symbol, number)
                    last[symbol] = number
        self.ends: dict[int, list[int]] = {}
        for symbol, number in last.items():
            self.ends.setdefault(number, []).append(symbol[1])
        self.names = [line.event[1] if line.kind == "kernel" else line.kind for line in lines]
        #: (line, last line, bytes) of each piece of memory.
        self.pieces: list[tuple[int, int, int]] = []
        held: dict[int, int] = {}  # pieces by their arrays, and until when a view needs them
        for (_, slot), number in last.items():
            owner = recorder.owners[slot]
            if owner is not None:
                held[owner] = max(held.get(owner, 0), number)
        change = [0] * (len(lines) + 1)
        for owner, until in held.items():
            begin, size = first.get(("slot", owner), until), recorder.slots[owner][0]
            self.pieces.append((begin, until, size))
            change[begin] += size
            change[until + 1] -= size
        self.bytes: list[int] = []
        live = 0
        for number in range(len(lines)):
            live += change[number]
            self.bytes.append(live)
        self.peak = max(self.bytes, default=0)

    def plot(self, axes: Any = None) -> Any:
        """Draw the bytes in use from line to line, and each piece of memory; returns matplotlib's axes."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(figsize=(10, 4))
        height = 0.0
        for begin, until, size in sorted(self.pieces):
            axes.barh(height + size / 2, until + 1 - begin, size, begin, color="C0", alpha=0.4, edgecolor="C0", linewidth=0.3)
            height += size
        axes.step(range(len(self.bytes)), self.bytes, where="post", color="C1", label=f"in use, at most {self.peak:,} bytes")
        axes.set_xlabel("kernels, in the order in which they run")
        axes.set_ylabel("bytes")
        axes.legend()
        return axes
