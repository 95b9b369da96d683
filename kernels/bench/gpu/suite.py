"""The project's tests on the device: as the gate those of the CUDA kernels, in memory full of NaN; later all that use it.

The gate is the tests of launch plans, beside the launchers that they repeat, and those of the kernels: every kernel and
configuration against float64, odd shapes, empty, NaN and infinity.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from bench.environment import ROOT, child_environment, cpu_count
from bench.gpu.outcomes import shortened
from bench.gpu.place import FILE, GPU, POISON, place

if TYPE_CHECKING:
    from bench.gpu.part import Time

#: Calls of pytest one after the other, what shows most first.
FOLDERS = {"gate": ("tests/backends/test_plans.py", "tests/kernels/cuda"),
           "tests": ("tests/gpu tests/backends", "tests/ops/nn tests/ops/reduction tests/ops/elementwise", "tests/optim",
                     "tests/nn", "tests/ops", "tests/autograd tests/data tests/serialization", "tests/parity tests/examples")}
#: On the simulator and on the stub a little, which shows that this works.
FEW = {"gate": ("tests/kernels/cuda/indexing/test_bounds.py",), "tests": ("tests/test_maps.py",)}
CHOICE = {"gate": "", "tests": "gpu or cuda or recycled"}  # of pytest's -k


def command(part: str, paths: str, facts: dict[str, Any]) -> list[str]:
    """A call of pytest."""
    line = [sys.executable, "-m", "pytest", "-p", "bench.gpu.outcomes", "-p", "no:cacheprovider", "-p", "no:logging",
            "-o", "addopts=", "-q", "--no-header", "--tb=short", *(path for path in paths.split() if (ROOT / path).exists())]
    if place() == GPU:
        line += ["-k", CHOICE[part]] if CHOICE[part] else []
        if facts.get("xdist"):
            line += ["-n", str(min(cpu_count(), 12)), "--dist", "load"]
    return line + (["--timeout", "60"] if facts.get("timeout") else [])


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each test that failed, as it comes, and one with the numbers of each call of pytest."""
    if not given.facts.get("pytest", True):
        raise RuntimeError("pytest is missing")
    launched: set[tuple[str, str]] = set()
    for paths in (FOLDERS if place() == GPU else FEW)[given.part]:
        if given.left() > 5:
            yield from _called(given, paths, launched)
    if given.part == "gate":
        from bench.gpu.compilation import instances

        known = instances()
        yield {"kernels": len(known), "launched": len(launched & known),
               "not_launched": sorted(" ".join(key) for key in known - launched) if place() == GPU else []}


def _called(given: Time, paths: str, launched: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "outcomes")
        path.touch()
        variables = child_environment("ours") | {FILE: str(path)} | ({POISON: "1"} if given.part == "gate" else {})
        counts: dict[str, int] = {}
        under_way: dict[str, None] = {}
        with path.open() as outcomes, pathlib.Path(folder, "output").open("w+") as output:
            process = subprocess.Popen(command(given.part, paths, given.facts), cwd=ROOT, env=variables, stdout=output,
                                       stderr=subprocess.STDOUT)
            try:
                while process.poll() is None and given.left() > 5:
                    yield from _failed(outcomes, counts, launched, under_way)
                    time.sleep(0.2)
            finally:
                complete = process.poll() is not None
                if not complete:
                    _end(process)
            yield from _failed(outcomes, counts, launched, under_way)
            output.seek(0)
            yield {"tests": paths, "counts": counts, "complete": complete, "returned": process.returncode,
                   "under_way": [] if complete else [*under_way], "output": shortened(output.read())}


def _failed(outcomes: IO[str], counts: dict[str, int], launched: set[tuple[str, str]], under_way: dict[str, None]
            ) -> Iterator[dict[str, Any]]:
    """Count the lines that are new, and give those of failures; kernels join those that were `launched`, and tests that have
    begun those `under_way` until they end.
    """
    for line in outcomes:
        row = json.loads(line)
        if "launched" in row:
            launched.update(map(tuple, row["launched"]))
            continue
        if "begins" in row:
            under_way[row["begins"]] = None
            continue
        under_way.pop(row["test"], None)
        counts[row["outcome"]] = counts.get(row["outcome"], 0) + 1
        if row["outcome"] == "failed":
            yield row


def _end(process: subprocess.Popen[bytes]) -> None:
    """End pytest; its workers end when they lose it, or with the group of processes of the part."""
    process.terminate()
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
