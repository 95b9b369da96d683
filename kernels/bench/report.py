"""What a run prints: a line for each case, and the table of the targets."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

#: An error may be so many times PyTorch's.
ALLOWED = 2.0
LAST_BIT = 2.0**-23  # of a float32 near 1


def header(sides: Sequence[str]) -> str:
    """The heading of the lines."""
    columns = [f"{'microseconds a call':<46}", f"{'ours':>11}"]
    for side in sides:
        if side != "ours":
            columns += [f"{side:>11}", f"{'ratio':>6}"]
    errors = "largest error, ours / torch" if "torch" in sides else "largest error"
    return " ".join([*columns, f"{'ours':>13}", "floor", errors])


def row(result: dict[str, Any], sides: Sequence[str]) -> str:
    """One line: times, ratios, speed, the share of the floor in our time, errors."""
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
    columns = [f"{result['name']:<46}", microseconds("ours")]
    for side in sides:
        if side != "ours":
            columns += [microseconds(side), ratio(side)]
    errors = [f"{result[side]['error']:.0e}" for side in ("ours", "torch") if result.get(side, {}).get("error") is not None]
    line = " ".join([*columns, f"{speed:>13}", percent(result["floor_share"]), " / ".join(errors)]).rstrip()
    if result.get("notes"):
        line = f"{line}  {result['notes']}"
    if result["missing"] or result["failure"]:
        return f"{line}  {status(result)}"
    return line if result["undisturbed"] else f"{line}  (disturbed)"


def percent(share: float | None) -> str:
    """A share in five characters."""
    return f"{share:>5.0%}" if share is not None else f"{'-':>5}"


def status(result: dict[str, Any]) -> str:
    """Whether the case met its target.

    Disturbances hurt PyTorch more: its pinned threads wait for each other. So a disturbed case is 'unclear' unless the ratio
    of the shortest calls says the same as the median.
    """
    if result["failure"]:
        return f"FAILED: {result['failure']}"
    if result["missing"]:
        return f"missing: {result['missing']}"
    if result["ratio_to_torch"] is None:
        return "no ratio: PyTorch is not installed"
    if result["target"] is None:
        return ""
    outcomes = {"met" if result[name] <= result["target"] else "missed"
                for name in ("ratio_to_torch", *(() if result["undisturbed"] else ("ratio_at_best",)))}
    return outcomes.pop() if len(outcomes) == 1 else "unclear"


def inaccuracy(result: dict[str, Any]) -> str:
    """What to say of an error of more than ALLOWED times PyTorch's; nothing where it is about the last bit."""
    ours, torch = (result.get(side, {}).get("error") for side in ("ours", "torch"))
    if ours is None or torch is None or ours <= max(ALLOWED * torch, LAST_BIT):
        return ""
    return f"  error {ours / torch:.1f} times PyTorch's" if torch else "  error where PyTorch has none"


def unreachable(result: dict[str, Any]) -> str:
    """What to say of a missed target that the floor itself misses on this machine; nothing where there is room."""
    if status(result) != "missed" or result["floor_share"] is None:
        return ""
    least = result["floor_share"] * result["ratio_to_torch"]
    return f"  the floor is {least:.2f} of PyTorch's time" if least > result["target"] else ""


def target_table(results: Sequence[dict[str, Any]]) -> list[str]:
    """The cases that have a target: ratio, target, the share of our time that the floor is, and the outcome.

    'at best' is the ratio of the shortest calls of all rounds: what to look at where other processes disturbed the medians.
    """
    chosen = [result for result in results if result["target"] is not None]
    if not chosen:
        return []
    width = max(len(result["name"]) for result in chosen)
    lines = ["", f"{'target':<{width}}  {'ratio':>5} {'at best':>7} {'at most':>7} {'floor':>5}"]
    for result in chosen:
        measured = [f"{value:>{columns}.2f}" if value is not None else f"{'-':>{columns}}"
                    for value, columns in ((result["ratio_to_torch"], 5), (result["ratio_at_best"], 7))]
        mark = unreachable(result) + inaccuracy(result) + ("" if result["undisturbed"] else "  (disturbed)")
        lines.append(f"{result['name']:<{width}}  {' '.join(measured)} {result['target']:>7.2f} "
                     f"{percent(result['floor_share'])}  {status(result)}{mark}")
    for family in dict.fromkeys(result["family"] for result in chosen if "family" in result):
        ratios = [result["ratio_to_torch"] for result in chosen if result.get("family") == family and result["ratio_to_torch"]]
        if len(ratios) > 1:
            lines.append(f"{family}: geometric mean {statistics.geometric_mean(ratios):.2f} of {len(ratios)} cases")
    words = [status(result).split(":")[0] for result in chosen]
    lines.append(", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)))
    return lines
