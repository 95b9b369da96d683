"""Plant bugs in the CUDA kernels and see that the kernels' checks notice them on the simulator.

    python kernels/mutate.py                        # all families
    python kernels/mutate.py softmax pool2d         # some
    python kernels/mutate.py --kinds index,bounds   # every place for bugs of these kinds, and no declared bugs
    python kernels/mutate.py --all                  # every kind, and the declared bugs
    python kernels/mutate.py --kinds index --at pool2d.cu:60
    python kernels/mutate.py --seconds 240          # one bug of each family, and others as time allows, each day from another one

There are two sorts: the bugs that tests/kernels/cuda/<package>/mutations_*.py declare (lucid_kernels/simulator/mutation.py), and
bugs of well-known kinds, planted wherever the text of a kernel has a place for one (lucid_kernels/simulator/mutants.py).
A missing barrier, atomic or write to shared memory must be noticed at every place but the exempt ones. Indices and conditions are
planted on request: they are a thousand places, and some of those bugs change nothing that a caller sees. Fails when a bug is
missed, or when a family declares none.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

os.environ.setdefault("LUCID_SIMULATOR_TIME_LIMIT", "10")  # a kernel that no longer ends is noticed, and soon

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "kernels")]

from lucid_kernels.cuda.runtime import source  # noqa: E402
from lucid_kernels.simulator import mutants, mutation  # noqa: E402

FOLDER = ROOT / "tests" / "kernels" / "cuda"
#: The kinds that are tried without being asked for.
KINDS = ("barrier", "atomic", "shared")
#: As many places a process tries before it takes others.
_BATCH = 4

Result = tuple[bool, str]
#: What to say if there is no result, a function of a process, and its arguments.
Task = tuple[str, Callable[..., list[Result]], tuple[Any, ...]]


def describe(outcome: mutation.Outcome) -> str:
    """One line about a planted bug: noticed or not, by which schedules, and how."""
    if outcome.problem is not None:
        return f"WRONG   {outcome.problem}"
    marks = "".join("." if error is None else "x" for error in outcome.noticed)
    error = next((error for error in outcome.noticed if error is not None), None)
    lines = str(error).strip().splitlines() if error is not None else []
    reason = f"{type(error).__name__}: {lines[0] if lines else ''}" if error is not None else ""
    return f"{'caught' if outcome.caught else 'MISSED':7} {outcome.file:18} {marks:4}  {outcome.label:40} {reason[:110]}"


def _declared(family: str) -> list[mutation.Mutation]:
    return mutation.collect(FOLDER, [family])


def run_declared(family: str, first: int, last: int | None) -> list[Result]:
    """For the bugs number `first` to `last` that are declared for a family: whether it was caught, and the line that says so."""
    return [(outcome.caught, describe(outcome)) for outcome in mutation.run(_declared(family)[first:last], keep_going=True)]


def run_batch(family: str, batch: Sequence[mutants.Mutant]) -> list[Result]:
    """The same for places in the text of a family."""
    return [(each.caught, describe(each)) for each in mutation.run_mutants(family, batch, _declared(family))]


def places(family: str, kinds: Iterable[str], at: str | None) -> list[mutants.Mutant]:
    """The places of a family that are tried; `at` keeps those of one line."""
    text = mutation.source_text(family)
    exempt = mutation.collect_exempt(FOLDER)
    return [
        mutant
        for mutant in mutants.find(text, kinds)
        if not mutation.is_exempt(mutant, family, text, exempt) and at in (None, f"{mutant.file}:{mutant.line}")
    ]


def main() -> int:
    """Run the mutations; 1 when a bug is missed or a family declares none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", help="families to test, as in softmax")
    parser.add_argument("--all", action="store_true", help="places of every kind")
    parser.add_argument("--kinds", help=f"places of these kinds only, and no declared bugs; of {','.join(mutants.KINDS)}")
    parser.add_argument("--at", metavar="FILE:LINE", help="places in this line only, and no declared bugs")
    parser.add_argument("--seconds", type=float, help="begin nothing new after this time")
    options = parser.parse_args()

    families = [pathlib.PurePath(name).stem for name in options.families] or list(source.names())
    kinds = options.kinds.split(",") if options.kinds else mutants.KINDS if options.all else KINDS
    start = time.perf_counter()
    missed = total = 0
    first: list[Task] = []
    others: list[Task] = []
    for family in families:
        if not options.kinds and not options.at:
            first.append((f"{family}.cu has no mutation", run_declared, (family, 0, 1)))
            others += [("", run_declared, (family, number, number + _BATCH))
                       for number in range(1, len(_declared(family)), _BATCH)]
        found = places(family, kinds, options.at)
        others += [("", run_batch, (family, found[number : number + _BATCH])) for number in range(0, len(found), _BATCH)]
    if options.seconds and others:
        turn = datetime.date.today().toordinal() * 7 % len(others)
        others = others[turn:] + others[:turn]
    left = first + others
    # Most of the time goes into compiling the mutated sources: one process for each core.
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        running: dict[Any, str] = {}
        while left or running:
            late = options.seconds and time.perf_counter() - start > options.seconds
            while left and len(running) < (os.cpu_count() or 1) and not late:
                lacking, function, arguments = left.pop(0)
                running[pool.submit(function, *arguments)] = lacking
            if not running:
                break
            for run in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                lacking, results = running.pop(run), run.result()
                for caught, line in results:
                    print(line, flush=True)
                    total += 1
                    missed += not caught
                if lacking and not results:
                    missed += 1
                    print(f"MISSING {lacking}")
    if left:
        print(f"{len(left)} of {len(first + others)} parts were not tried: {options.seconds:g} s are over")
    print(f"{total - missed} of {total} planted bugs caught in {time.perf_counter() - start:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
