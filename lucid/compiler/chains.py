"""Small kernels of a plan in a row, which are loops of NumPy's: one compiled function calls the loops, and NumPy none of them."""
from __future__ import annotations

import functools
from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.cpu import chains
from .graphs import LETTERS, Line
from .lifetimes import Lifetimes
from .recorder import Recorder
from .symbols import Symbol, Use

ALIGN = 64  # bytes
_FEWEST = 2  # kernels: a chain takes as long as one to two of NumPy's calls, and some for each result


def with_chains(lines: Sequence[Line], names: dict[str, Any], recorder: Recorder, most: int
                ) -> tuple[list[Line], Lifetimes, int] | None:
    """The lines of a plan, with one in the place of each such row of kernels, whose functions get into `names`; how long arrays
    live then, and the bytes between them. None if there is no row, or none with which at most `most` bytes are in use.

    All that a chain reads and returns is there while it runs. Where that takes more, its row is parted.
    """
    recipes = {id(recorder.events[number]): recipe for number, recipe in recorder.recipes.items()}
    runs: list[list[Line]] = []
    previous = None
    for line in lines:
        found = line.kind == "kernel" and id(line.event) in recipes and _is_own(line, recorder)
        if found and previous is not None:
            previous.append(line)
        elif found:
            previous = [line]
            runs.append(previous)
        else:
            previous = None
    runs = [run for run in runs if len(run) >= _FEWEST]
    make = chains.kernels() if runs else None
    if make is None:
        return None
    users: dict[Symbol, list[Line]] = {}
    for line in lines:
        for symbol in {*line.symbols}:
            users.setdefault(symbol, []).append(line)
    while runs:
        rows = [_Row(run, users, recorder) for run in runs]
        inside = {id(line): row for row in rows for line in row.run}
        joined = [line if row is None else row.line for line in lines for row in (inside.get(id(line)),)
                  if row is None or row.run[0] is line]
        lifetimes, size = Lifetimes(joined, recorder), max(row.bytes for row in rows)
        if lifetimes.peak + size <= most:
            memory = make.workspace(size)
            for number, row in enumerate(rows):
                row.enter(f"chain{number}", names, recipes, make, memory)
            return joined, lifetimes, size
        large = {id(line) for line, live in zip(joined, lifetimes.bytes, strict=True) if live + size > most}
        parted = [row for row in rows if id(row.line) in large]
        if not parted:  # while other kernels run the memory between is too much
            parted = [max(rows, key=lambda row: row.bytes)]
        runs = [part for row in rows for half in (len(row.run) // 2,)
                for part in ((row.run[:half], row.run[half:]) if row in parted else (row.run,)) if len(part) >= _FEWEST]
    return None


def _is_own(line: Line, recorder: Recorder) -> bool:
    """Whether the results of a kernel are arrays of this plan, each with memory of its own: new ones, or an operand."""
    return all(output is None or (output[0] == "slot" and recorder.owners[output[1]] == output[1]) for output in line.event[6]
               ) and all(symbol[0] != "number" for symbol in line.symbols)


def _new(line: Line) -> list[Symbol]:
    """The results of a kernel that are new."""
    operands = [operand.symbol for operand in line.event[3] if isinstance(operand, Use)]
    return [output for output in line.event[6] if output is not None and output not in operands]


def _variable(symbol: Symbol) -> str:
    return f"{LETTERS[symbol[0]]}{symbol[1]}"


class _Row:
    """Kernels that become one line: what they read and return, and where in memory of so many `bytes` lies what stays inside."""

    def __init__(self, run: list[Line], users: dict[Symbol, list[Line]], recorder: Recorder) -> None:
        self.run = run
        self._recorder = recorder
        inside = {id(line) for line in run}
        made = dict.fromkeys(output for line in run for output in _new(line))
        named = dict.fromkeys(symbol for line in run for symbol in line.symbols)
        self.inputs = [symbol for symbol in named if symbol not in made]
        self.outputs = [symbol for symbol in made if any(id(line) not in inside for line in users[symbol])]
        self._laid_out([symbol for symbol in made if symbol not in self.outputs])
        self.line = Line("chain", "", [*self.inputs, *self.outputs], ("chain", [line.event[1] for line in run]))

    def _laid_out(self, symbols: Sequence[Symbol]) -> None:
        """Find where what stays inside begins: at the first place where nothing else lies as long as it lives."""
        first: dict[Symbol, int] = {}
        last: dict[Symbol, int] = {}
        for number, line in enumerate(self.run):
            for symbol in (*line.symbols, *filter(None, line.event[6])):
                first.setdefault(symbol, number)
                last[symbol] = number
        self.starts: dict[Symbol, int] = {}
        self.bytes = 0
        there: list[tuple[int, int, int]] = []  # begin, end and last step of what lives
        for symbol in symbols:  # in the order in which they are made
            start, size = 0, self._size(symbol)
            there = [piece for piece in there if piece[2] >= first[symbol]]
            for begin, end, _ in there:
                if start + size <= begin:
                    break
                start = max(start, end)
            self.starts[symbol] = start
            insort(there, (start, start + size, last[symbol]))
            self.bytes = max(self.bytes, start + size)

    def _size(self, symbol: Symbol) -> int:
        return -(-self._recorder.slots[symbol[1]][0] // ALIGN) * ALIGN

    def enter(self, name: str, names: dict[str, Any], recipes: dict[int, Any], make: Any, memory: Any) -> None:
        """Make the function, with `memory` for what stays inside, and the line that calls it."""
        slots = self._recorder.slots
        constants = tuple([np.asarray(operand, slots[line.event[6][0][1]][2]) for line in self.run for operand in line.event[3]
                           if operand.__class__ in (int, float)])  # only of kernels with one result
        first = len(self.inputs) + len(constants)
        place = {symbol: number for number, symbol in enumerate(self.inputs)}
        place |= {symbol: first + number for number, symbol in enumerate((*self.outputs, *self.starts))}
        steps: list[Any] = []
        constant = iter(range(len(self.inputs), first))
        for line in self.run:
            symbols = [*[operand.symbol if isinstance(operand, Use) else operand for operand in line.event[3]], *line.event[6]]
            steps += recipes[id(line.event)](make, [0 if symbol is None else next(constant) if symbol.__class__ in (int, float)
                                                    else place[symbol] for symbol in symbols])
        chain = make.Chain(steps, first, [slots[symbol[1]][1:] for symbol in self.outputs], [*self.starts.values()], memory)
        names[name] = _function(chain, constants, _one_by_one(self.run, self.inputs, self.outputs, names))
        targets = f"{''.join(_variable(symbol) + ', ' for symbol in self.outputs)} = " if self.outputs else ""  # none in place
        self.line.text = f"{targets}{name}({', '.join(map(_variable, self.inputs))})"


def _function(chain: Any, constants: tuple[Any, ...], one_by_one: Callable[..., Any]) -> Callable[..., Any]:
    """The chain, and the kernels themselves where an array has gaps."""
    def chained(*arrays: Any) -> Any:
        found = chain(*arrays, *constants)
        return one_by_one(*arrays) if found is None else found

    return chained


def _one_by_one(run: Sequence[Line], inputs: Sequence[Symbol], outputs: Sequence[Symbol], names: dict[str, Any]
                ) -> Callable[..., Any]:
    """The kernels of a chain as a function, which is compiled when it is called: rarely."""
    @functools.cache
    def compiled() -> Callable[..., Any]:
        lines = [f"def kernels({', '.join(map(_variable, inputs))}):", *[f" {line.text}" for line in run],
                 f" return [{', '.join(map(_variable, outputs))}]"]
        scope = dict(names)
        exec(compile("\n".join(lines), "<lucid.compile>", "exec"), scope)
        found: Callable[..., Any] = scope["kernels"]
        return found

    return lambda *arrays: compiled()(*arrays)
