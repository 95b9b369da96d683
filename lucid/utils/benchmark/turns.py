"""`in_turn`: which of several calls is faster, measured so that the answer can be believed."""
from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lucid_kernels.measuring.rounds import Pace, Round
from lucid_kernels.measuring.rounds import in_turn as rounds_in_turn
from lucid_kernels.measuring.timing import DISTURBED
from lucid_kernels.measuring.verdicts import FASTER, SAME, SLOWER, TOLERANCE, UNDECIDED, median_interval, verdict

from ... import backends
from .measurement import select_unit

__all__ = ["FASTER", "SAME", "SLOWER", "UNDECIDED", "Side", "Turns", "in_turn"]

#: Eight rounds, and up to 32 while a comparison is undecided. The interval has the median with a probability of 99 %: it is
#: looked at up to four times.
_ROUNDS, _MOST, _CONFIDENCE = 8, 32, 0.99


@dataclass(frozen=True)
class Side:
    """One of the calls: its times in seconds round by round, and the first call's time over its own.

    >>> from lucid.utils.benchmark import in_turn
    >>> turns = in_turn({"ours": lambda: lucid.ones(9).sum(), "theirs": lambda: sum([1.0] * 9)}, seconds=0.001)
    >>> [side.name for side in turns.sides]
    ['ours', 'theirs']
    """

    name: str
    times: tuple[float, ...]
    ratio: float
    low: float
    high: float
    verdict: str | None  # on the first call, compared with this one; None for itself

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.times)


@dataclass(frozen=True)
class Turns:
    """What `in_turn` has found. `floor` is the least time in which the machine moves the bytes or does the arithmetic.

    >>> from lucid.utils.benchmark import in_turn
    >>> turns = in_turn({"ours": lambda: lucid.ones(9).sum(), "theirs": lambda: sum([1.0] * 9)}, seconds=0.001)
    >>> type(turns).__name__, turns.floor
    ('Turns', None)
    """

    sides: tuple[Side, ...]
    floor: float | None
    disturbed: bool

    def __getitem__(self, name: str) -> Side:
        return next(side for side in self.sides if side.name == name)

    def __str__(self) -> str:
        unit, scale = select_unit(min(side.median for side in self.sides))
        first = self.sides[0].name
        width = max(len(side.name) for side in self.sides)
        lines = [f"{'':{width}}  {'time':>12}  {'of the least':>12}  {first}'s time over it"]
        for side in self.sides:
            share = f"{self.floor / side.median:.0%}" if self.floor else ""
            text = f"{side.name:{width}}  {side.median / scale:9.3g} {unit}  {share:>12}"
            if side.verdict is not None:
                text += f"  {side.ratio:.3f} [{side.low:.3f}, {side.high:.3f}] {first} is {side.verdict}"
            lines.append(text.rstrip())
        if self.disturbed:
            lines.append("other processes used the processor meanwhile: measure again before you believe it")
        return "\n".join(lines)


def in_turn(calls: Mapping[str, Callable[[], Any]], *, device: str = "cpu", seconds: float = 0.03, tolerance: float = TOLERANCE,
            bytes: int = 0, flops: int = 0, pace: Pace | None = None) -> Turns:
    """Time `calls` in turn, a block of `seconds` each, and say of the first whether it is FASTER, SLOWER or the SAME as
    each other.

    What slows the machine down then slows all alike; a round during which other processes used the processor is repeated, for a
    while. The verdicts are on the ratio round by round: SAME within `tolerance`, UNDECIDED where the interval of its median says
    neither. `bytes` that are moved, and `flops`, give the floor: the least time in which this machine does as much.

    Raises RuntimeError on the simulator, whose times say nothing about a GPU.

    >>> from lucid.utils.benchmark import in_turn
    >>> turns = in_turn({"ours": lambda: lucid.ones(9).sum(), "theirs": lambda: sum([1.0] * 9)}, seconds=0.001)
    >>> turns.sides[1].verdict in ("FASTER", "SLOWER", "SAME", "UNDECIDED")
    True
    """
    if not calls:
        raise ValueError("in_turn: there is nothing to time")
    kind = device.partition(":")[0].replace("cuda", "gpu")
    if kind == "gpu":
        from ...backends.gpu_probe import simulated

        if simulated():
            raise RuntimeError("the simulator's times say nothing about a GPU: benchmark on a machine with one, or on the CPU")
    names = list(calls)
    pace = pace or Pace(_ROUNDS, _MOST, seconds, 20 * seconds)

    def is_open(rounds: list[Round]) -> bool:
        return any(_verdict(rounds, names[0], other, tolerance)[3] == UNDECIDED for other in names[1:])

    ceilings = _ceilings(kind) if bytes or flops else None
    rounds = rounds_in_turn(calls, backends.synchronize if kind == "gpu" else _nothing, pace, kind, is_open,
                            lambda: None if ceilings is None else ceilings.floor(bytes, "triad", flops, seconds / 3))
    floors = [done.floor for done in rounds if done.floor is not None]
    sides = []
    for name in names:
        ratio, low, high, word = _verdict(rounds, names[0], name, tolerance)
        sides.append(Side(name, tuple(done.times[name] for done in rounds), ratio, low, high, None if name == names[0] else word))
    return Turns(tuple(sides), statistics.median(floors) if floors else None, any(done.others >= DISTURBED for done in rounds))


def _nothing() -> None:
    pass


def _ceilings(kind: str) -> Any:
    if kind == "gpu":
        from lucid_kernels.measuring.gpu_roofline import GpuRoofline

        return GpuRoofline()
    from lucid_kernels.measuring.roofline import Roofline

    return Roofline()


def _verdict(rounds: list[Round], first: str, other: str, tolerance: float) -> tuple[float, float, float, str]:
    ratios = [done.times[first] / done.times[other] for done in rounds]
    low, high = median_interval(ratios, _CONFIDENCE)
    return statistics.median(ratios), low, high, verdict(low, high, tolerance)
