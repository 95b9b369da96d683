"""Runs the sides in lock-step: every case is prepared on all of them, then they take turns, a block each.

What slows the machine down then slows all sides alike. A block during which other processes used the CPU is repeated, as
long as the run has time for it.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.case import SIDES
from bench.environment import child_environment
from bench.timing import DISTURBED


class WorkerFailed(Exception):
    """A worker process ended before the run did."""


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
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@dataclass
class Pace:
    """How long to measure."""

    rounds: int
    seconds: float  # a block
    patience: float  # spent at most on repeating disturbed blocks, in the whole run

    @classmethod
    def of(cls, quick: bool) -> Pace:
        """The pace of a full or a quick run."""
        return cls(2, 0.02, 5.0) if quick else cls(5, 0.06, 25.0)


class Driver:
    """A run over families."""

    def __init__(self, device: str = "cpu", quick: bool = False) -> None:
        sides = [side for side in SIDES if side != "torch" or importlib.util.find_spec("torch")]
        self.pace = Pace.of(quick)
        self.remotes = [Remote(side, device, quick) for side in sides]
        self.blocks = self.disturbed = 0

    @property
    def sides(self) -> list[str]:
        """The sides that take part."""
        return [remote.side for remote in self.remotes]

    def run(self, family: str) -> Iterator[dict[str, Any]]:
        """The result of each case of `family`, one after the other."""
        for remote in self.remotes:
            failure = remote.ask("open", family=family).get("failed")
            if failure:
                raise WorkerFailed(f"{family}, {remote.side}: {failure}")
        while True:
            facts = {remote.side: remote.ask("next") for remote in self.remotes}  # one at a time: it may compile
            failed = {side: fact["failed"] for side, fact in facts.items() if "failed" in fact}
            if failed:
                raise WorkerFailed(f"{family}: " + "; ".join(f"{side}: {text}" for side, text in failed.items()))
            if facts["ours"].get("end"):
                return
            yield self._result(family, facts)

    def _result(self, family: str, facts: dict[str, dict[str, Any]]) -> dict[str, Any]:
        ours = facts["ours"]
        active = [remote for remote in self.remotes if facts[remote.side]["available"]]
        times: dict[str, list[float]] = {remote.side: [] for remote in active}
        clean = True
        for turn in range(self.pace.rounds):
            for remote in active:
                if remote.side == "numpy" and turn >= 2:
                    continue  # much slower, and only for orientation
                seconds, undisturbed = self._block(remote)
                times[remote.side].append(seconds / ours["operations"])
                clean &= undisturbed
        result: dict[str, Any] = {"family": family, "name": ours["name"], "limit": ours["limit"], "title": ours["title"],
                                  "undisturbed": clean, "first_call": ours["first_call"]}
        for side, values in times.items():
            quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
            result[side] = {"median": quartiles[1], "lower": quartiles[0], "upper": quartiles[2],
                            "error": facts[side].get("error")}
        median = result["ours"]["median"]
        result["gigabytes_per_second"] = ours["bytes"] / median / 1e9 if ours["bytes"] else None
        result["gigaflops"] = ours["flops"] / median / 1e9 if ours["flops"] else None
        for side in ("torch", "numpy"):
            result[f"ratio_to_{side}"] = median / result[side]["median"] if side in result else None
        return result

    def _block(self, remote: Remote) -> tuple[float, bool]:
        """The time of one call in a block, and whether the block was undisturbed. The best try counts."""
        best = None
        while True:
            start = time.perf_counter()
            block = remote.ask("block", seconds=self.pace.seconds)
            if "failed" in block:
                raise WorkerFailed(f"{remote.side}: {block['failed']}")
            self.blocks += 1
            if best is None or block["others"] < best["others"]:
                best = block
            if block["others"] < DISTURBED:
                return best["seconds"], True
            self.disturbed += 1
            self.pace.patience -= time.perf_counter() - start
            if self.pace.patience < 0:
                return best["seconds"], False

    def about(self) -> dict[str, Any]:
        """The versions and threads of every side."""
        return {remote.side: remote.ask("about") for remote in self.remotes}

    def close(self) -> None:
        """End the workers."""
        for remote in self.remotes:
            remote.close()


def row(result: dict[str, Any], sides: Sequence[str]) -> str:
    """One line of the table."""
    def microseconds(side: str) -> str:
        return f"{result[side]['median'] * 1e6:>11.1f}" if side in result else f"{'-':>11}"

    def ratio(side: str) -> str:
        value = result[f"ratio_to_{side}"]
        return f"{value:>6.2f}" if value is not None else f"{'-':>6}"

    speed = ""
    if result["gigaflops"]:
        speed = f"{result['gigaflops']:.0f} GFLOP/s"
    elif result["gigabytes_per_second"]:
        speed = f"{result['gigabytes_per_second']:.1f} GB/s"
    columns = [f"{result['name']:<44}", microseconds("ours")]
    for side in sides:
        if side != "ours":
            columns += [microseconds(side), ratio(side)]
    errors = [f"{result[side]['error']:.0e}" for side in ("ours", "torch") if result.get(side, {}).get("error") is not None]
    mark = "" if result["undisturbed"] else "  (disturbed)"
    return " ".join([*columns, f"{speed:>13}", " / ".join(errors)]).rstrip() + mark


def header(sides: Sequence[str]) -> str:
    """The heading of the table."""
    columns = [f"{'microseconds a call':<44}", f"{'ours':>11}"]
    for side in sides:
        if side != "ours":
            columns += [f"{side:>11}", f"{'ratio':>6}"]
    return " ".join([*columns, f"{'ours':>13}", "largest error, ours / torch" if "torch" in sides else "largest error"])
