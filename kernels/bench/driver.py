"""Runs the sides in lock-step: every case is prepared on all of them, then they take turns, a block each.

What slows the machine down then slows all sides alike, so the ratio of a round is worth more than that of two medians. A
round during which other processes used the CPU is replaced by another, as long as the case has patience for it. A case whose
rounds leave open whether it meets its target gets more of them. Every round also times the floor of the case (`roofline.py`).
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from lucid_kernels.measuring.rounds import Pace, Round, collect
from lucid_kernels.measuring.timing import DISTURBED
from lucid_kernels.measuring.verdicts import median_interval, quartiles

from bench.case import SIDES
from bench.environment import child_environment


class WorkerFailed(Exception):
    """A worker process ended before the run did, or a family could not go on."""


class Remote:
    """A worker process of one side."""

    def __init__(self, side: str, device: str, quick: bool) -> None:
        command = [sys.executable, "-m", "bench.worker", side, "--device", device, *(["--quick"] if quick else [])]
        self.side = side
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=child_environment(side))

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a command and wait for the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self.process.stdin.flush()
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as error:
            raise WorkerFailed(f"the process of {self.side} ended") from error
        if "failed" in answer:
            raise WorkerFailed(f"{self.side}: {answer['failed']}")
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Driver:
    """A run over families."""

    def __init__(self, device: str = "cpu", quick: bool = False, sides: Sequence[str] | None = None, pace: Pace | None = None,
                 errors: bool = True) -> None:
        """All `sides` that are there, unless they are given; without `errors` nothing is computed in float64."""
        sides = sides or [side for side in SIDES if side != "torch" or importlib.util.find_spec("torch")]
        self.pace = pace or Pace.of(quick)
        self.errors = errors
        self.remotes = [Remote(side, device, quick) for side in sides]
        self.rounds = self.disturbed = 0
        self.ceilings: dict[str, list[float]] = {}
        self.facts: dict[str, Any] = {}  # what our side said of the last case

    @property
    def sides(self) -> list[str]:
        """The sides that take part."""
        return [remote.side for remote in self.remotes]

    def run(self, family: str, skipped: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        """The result of each case of `family`, one after the other; those that are `skipped` have none."""
        usual, brief = self.pace, [remote.ask("open", family=family, skipped=list(skipped))["brief"] for remote in self.remotes]
        self.pace = usual.brief() if any(brief) else usual
        try:
            yield from self._cases(family, skipped)
        finally:
            self.pace = usual

    def _cases(self, family: str, skipped: Sequence[str]) -> Iterator[dict[str, Any]]:
        for name, value in self.remotes[0].ask("ceilings", seconds=self.pace.seconds).items():
            self.ceilings.setdefault(name, []).append(value)
        while True:
            # One at a time: it may compile.
            facts = {remote.side: remote.ask("next", errors=self.errors) for remote in self.remotes}
            if facts["ours"].get("end"):
                return
            if facts["ours"]["name"] in skipped:
                continue
            yield self._result(family, facts)

    def device_seconds(self) -> float | None:
        """The seconds of our side on the device, for the case whose result came last."""
        seconds: float | None = self.remotes[0].ask("device")["seconds"]
        return seconds

    def _result(self, family: str, facts: dict[str, dict[str, Any]]) -> dict[str, Any]:
        ours = facts["ours"]
        self.facts = ours
        failures = [f"{side}: {fact['failure']}" for side, fact in facts.items() if fact["failure"]]
        result: dict[str, Any] = {"family": family, "name": ours["name"], "target": ours["target"], "missing": ours["missing"],
                                  "failure": "; ".join(failures), "notes": ours["notes"]}
        rounds = self._measure([remote for remote in self.remotes if facts[remote.side]["available"]], ours["target"])
        result["others"] = max((done.others for done in rounds), default=0.0)
        result["undisturbed"] = result["others"] < DISTURBED
        for side in self.sides:
            values = [done.times[side] / ours["operations"] for done in rounds if side in done.times]
            if not values:
                continue
            lower, median, upper = quartiles(values)
            result[side] = {"median": median, "lower": lower, "upper": upper, "error": facts[side].get("error"),
                            "first_call": facts[side]["first_call"], "variant": facts[side]["variant"], "times": values,
                            "fastest": min(done.fastest[side] for done in rounds) / ours["operations"]}
        median = result["ours"]["median"] if "ours" in result else None
        floors = [done.floor / ours["operations"] for done in rounds if done.floor is not None]
        floor = statistics.median(floors) if floors else None
        for name, amount in (("gigabytes_per_second", ours["bytes"]), ("gigaflops", ours["flops"])):
            result[name] = amount / ours["operations"] / median / 1e9 if amount and median else None
        result["floor"] = floor
        result["floor_share"] = floor / median if floor and median else None
        for side in ("torch", "numpy"):
            ratios = paired_ratios(result, side)
            result[f"ratio_to_{side}"] = statistics.median(ratios) if ratios else None
        both = "ours" in result and "torch" in result
        result["ratio_at_best"] = result["ours"]["fastest"] / result["torch"]["fastest"] if both else None
        return result

    def _measure(self, active: Sequence[Remote], target: float | None = None) -> list[Round]:
        """As many undisturbed rounds as the pace asks for; when patience ends, the least disturbed ones fill up.

        While the interval of the median ratio to PyTorch contains `target` there are more, up to the most of the pace.
        """
        def turn(number: int) -> Round:
            done = self._round(active, number)
            self.rounds += 1
            self.disturbed += done.disturbed
            return done

        return collect(turn, self.pace, lambda rounds: _open(rounds, target)) if active else []

    def _round(self, active: Sequence[Remote], turn: int) -> Round:
        """A block of each side, and one of the floor."""
        done = Round()
        for remote in active if turn % 2 == 0 else reversed(active):  # nobody is always the one after the pause
            orientation = remote.side == "numpy"  # slow, and nobody's target
            block = remote.ask("block", seconds=self.pace.seconds / (3 if orientation else 1))
            done.times[remote.side], done.fastest[remote.side] = block["seconds"], block["fastest"]
            if not orientation:
                done.others = max(done.others, block["others"])
        done.floor = self.remotes[0].ask("floor", seconds=self.pace.seconds / 3)["seconds"]
        return done

    def roofline(self) -> dict[str, float]:
        """The medians of the machine's ceilings over the run."""
        return {name: statistics.median(values) for name, values in self.ceilings.items()}

    def about(self) -> dict[str, Any]:
        """The versions and threads of every side."""
        return {remote.side: remote.ask("about") for remote in self.remotes}

    def close(self) -> None:
        """End the workers."""
        for remote in self.remotes:
            remote.close()


def _open(rounds: Sequence[Round], target: float | None) -> bool:
    """Whether the rounds leave open on which side of `target` the ratio to PyTorch is."""
    ratios = [done.times["ours"] / done.times["torch"] for done in rounds if {"ours", "torch"} <= done.times.keys()]
    if target is None or not ratios:
        return False
    low, high = median_interval(ratios)
    return low <= target <= high


def paired_ratios(result: dict[str, Any], side: str) -> list[float]:
    """Our time over that of `side`, round by round."""
    if "ours" not in result or side not in result:
        return []
    return [mine / theirs for mine, theirs in zip(result["ours"]["times"], result[side]["times"])]
