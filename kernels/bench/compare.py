"""Compares two result files: FASTER, SLOWER, SAME or UNDECIDED for each row, with a confidence interval.

Rows are matched by family, case and side. Two quantities are compared. The *ratio* of our time to PyTorch's, round by round,
is what counts where both files have it: it hardly depends on the load and the speed of the machine. The *raw* times of every
side are shown too; those of PyTorch and NumPy say whether the machine itself, or their version, has changed.

`lucid_kernels.measuring.verdicts` says how a change is estimated, and what the words mean.

The samples of a file are the rounds of one run, which share what the machine did meanwhile. Between two runs that other
processes disturbed, more can change than the interval says: repeat them before believing a verdict.
"""

from __future__ import annotations

import json
import math
import pathlib
from dataclasses import dataclass
from typing import Any

from lucid_kernels.measuring.verdicts import CONFIDENCE, FASTER, SAME, SLOWER, TOLERANCE, UNDECIDED, change, verdict

from bench.case import SIDES
from bench.driver import paired_ratios

FORMAT = 2  # of the result files; the first had no samples


class CannotCompare(Exception):
    """The files have nothing in common, or come from different machines."""


@dataclass(frozen=True)
class Row:
    """One comparison of a side of a case."""

    family: str
    name: str
    side: str
    quantity: str  # 'ratio' (ours to PyTorch) or 'raw' (time)
    change: float
    low: float
    high: float
    verdict: str
    counts: bool  # for the exit status: our ratio, or our time where there is no ratio
    disturbed: bool  # by other processes, in one of the runs

    def __str__(self) -> str:
        interval = f"[{self.low:.3f}, {self.high:.3f}]" if math.isfinite(self.high) else "[too few samples]"
        mark = ("" if self.counts else "  (for orientation)") + ("  (disturbed)" if self.disturbed else "")
        return f"{self.name:<46} {self.side:<5} {self.quantity:<5} {self.change:>7.3f} {interval:<18} {self.verdict}{mark}"


def load(path: pathlib.Path) -> dict[str, Any]:
    """A result file. Raises CannotCompare if it is not one that can be compared."""
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CannotCompare(f"{path}: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CannotCompare(f"{path} is not a result file of format {FORMAT}: save one with --save")
    return document


def _samples(document: dict[str, Any]) -> dict[tuple[str, str, str, str], list[float]]:
    samples: dict[tuple[str, str, str, str], list[float]] = {}
    for result in document["results"]:
        for side in SIDES:
            key = (result["family"], result["name"], side)
            if "times" not in result.get(side, {}):
                continue
            if (*key, "raw") in samples:
                raise CannotCompare(f"two rows are called {' / '.join(key)}")
            samples[*key, "raw"] = result[side]["times"]
            if side == "ours" and (ratios := paired_ratios(result, "torch")):
                samples[*key, "ratio"] = ratios
    return samples


def _machine(about: dict[str, Any]) -> str:
    """The machine of an environment: its GPU where that was measured, its CPU, and the instructions that libraries may use."""
    only = f" ({about['instructions']} only)" if about.get("instructions") else ""
    gpu = f"{about['gpu']}, " if "gpu" in about else ""
    return f"{gpu}{about.get('cpu')} with {about.get('cpus')} CPUs{only}"


def compare(old: dict[str, Any], new: dict[str, Any], *, tolerance: float = TOLERANCE, confidence: float = CONFIDENCE,
            across_machines: bool = False) -> list[Row]:
    """The rows that both documents have.

    Raises CannotCompare if there is none, or if the machines or devices differ or one run was quick (machines may differ with
    `across_machines`: then the ratios say something, the raw times nothing).
    """
    if old["device"] != new["device"]:
        raise CannotCompare(f"the old results are from the device {old['device']}, the new ones from {new['device']}")
    if old["quick"] != new["quick"]:
        raise CannotCompare("one of the files is from a --quick run, which has smaller arrays under the same names")
    one, other = (_machine(document["environment"]) for document in (old, new))
    if one != other and not across_machines:
        raise CannotCompare(f"the old results are from {one}, the new ones from {other}: pass --across-machines to compare them "
                            "all the same")
    before, after = _samples(old), _samples(new)
    disturbed = {(result["family"], result["name"]) for document in (old, new) for result in document["results"]
                 if not result["undisturbed"]}
    rows = []
    for key in sorted(before.keys() & after.keys(), key=list(after).index):
        family, name, side, quantity = key
        has_ratio = all((family, name, side, "ratio") in samples for samples in (before, after))
        estimate, low, high = change(before[key], after[key], confidence)
        rows.append(Row(family, name, side, quantity, estimate, low, high, verdict(low, high, tolerance),
                        side == "ours" and (quantity == "ratio" or not has_ratio), (family, name) in disturbed))
    if not rows:
        raise CannotCompare("no row of one file is in the other: they hold different families, cases or sides")
    return rows


def summary(rows: list[Row]) -> str:
    """How many rows got each verdict."""
    verdicts = [row.verdict for row in rows if row.counts]
    return f"{len(verdicts)} rows: " + ", ".join(f"{verdicts.count(word)} {word}" for word in (FASTER, SLOWER, SAME, UNDECIDED))


def main(old: pathlib.Path, new: pathlib.Path, tolerance: float, across_machines: bool) -> int:
    """Print the comparison. 0 if nothing is SLOWER, 1 if something is, 2 if there is nothing to compare."""
    try:
        rows = compare(load(old), load(new), tolerance=tolerance, across_machines=across_machines)
    except CannotCompare as error:
        print(f"cannot compare: {error}")
        return 2
    print(f"{'new / old':<46} {'side':<5} {'what':<5} {'change':>7} {f'{CONFIDENCE:.0%} interval':<18}")
    for row in rows:
        print(row)
    print(summary(rows))
    return int(any(row.counts and row.verdict == SLOWER for row in rows))
