"""Rounds: every side is timed in turn, a block each, so that what slows the machine down slows all alike.

The ratio of a round is worth more than that of two medians. A round during which other processes used the CPU is replaced by
another, as long as there is patience for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .timing import DISTURBED, measure_block


@dataclass(frozen=True)
class Pace:
    """How long to measure."""

    rounds: int
    most: int  # rounds of a case whose first ones leave open whether it meets its target
    seconds: float  # a block
    patience: float  # seconds spent at most on the disturbed rounds of a case, beyond those that it needs anyway

    @classmethod
    def of(cls, quick: bool) -> Pace:
        """The pace of a full or a quick run. With six rounds, `--compare` may leave out five of 36 quotients on each side."""
        return cls(2, 2, 0.02, 0.1) if quick else cls(6, 24, 0.06, 0.6)

    def brief(self) -> Pace:
        """The pace of a family of a thousand cases that take microseconds each: none takes more time than in a quick run."""
        return Pace(min(self.rounds, 4), min(self.most, 4), min(self.seconds, 0.01), min(self.patience, 0.05))


@dataclass
class Round:
    """One turn of every side: the median and the shortest times of a call, the floor, and the most cores that others used."""

    times: dict[str, float] = field(default_factory=dict)
    fastest: dict[str, float] = field(default_factory=dict)
    floor: float | None = None
    others: float = 0.0

    @property
    def disturbed(self) -> bool:
        """Whether other processes used so much that the round does not count."""
        return self.others >= DISTURBED


def collect(turn: Callable[[int], Round], pace: Pace, is_open: Callable[[list[Round]], bool]) -> list[Round]:
    """As many undisturbed rounds as the pace asks for; when patience ends, the least disturbed ones fill up.

    `turn` makes round number so and so. While `is_open` says that the rounds leave a question open there are more, up to the most
    of the pace.
    """
    rounds: list[Round] = []
    wanted, patience = pace.rounds, pace.patience
    while True:
        while sum(not done.disturbed for done in rounds) < wanted and (len(rounds) < wanted or patience > 0):
            start = time.perf_counter()
            rounds.append(turn(len(rounds)))
            if rounds[-1].disturbed:
                patience -= time.perf_counter() - start
        best = sorted(range(len(rounds)), key=lambda index: max(rounds[index].others, DISTURBED))[:wanted]
        kept = [rounds[index] for index in sorted(best)]
        if wanted >= pace.most or not is_open(kept):
            return kept
        wanted += pace.rounds


def in_turn(calls: Mapping[str, Callable[[], Any]], synchronize: Callable[[], None], pace: Pace, device: str,
            is_open: Callable[[list[Round]], bool], floor: Callable[[], float | None] = lambda: None) -> list[Round]:
    """Rounds of calls in this process. `synchronize` waits for the device; `floor` is measured in each round, too."""
    def turn(number: int) -> Round:
        done = Round()
        for name in calls if number % 2 == 0 else reversed(list(calls)):  # nobody is always the one after the pause
            block = measure_block(calls[name], synchronize, pace.seconds, device)
            done.times[name], done.fastest[name] = block["seconds"], block["fastest"]
            done.others = max(done.others, block["others"])
        done.floor = floor()
        return done

    return collect(turn, pace, is_open)
