"""Plant bugs in the CUDA kernels and see that the kernels' checks notice them on the simulator.

    python kernels/mutate.py                        # all families
    python kernels/mutate.py softmax pool2d         # some
    python kernels/mutate.py --kinds index,bounds   # every place for bugs of these kinds, and no declared bugs
    python kernels/mutate.py --all                  # every kind, and the declared bugs
    python kernels/mutate.py --kinds index --at pool2d.cu:60

There are two sorts: the bugs that tests/kernels/cuda/mutations_*.py declare (lucid_kernels/simulator/mutation.py), and bugs
of well-known kinds, planted wherever the text of a kernel has a place for one (lucid_kernels/simulator/mutants.py). A missing
barrier, atomic or write to shared memory must be noticed at every place but the exempt ones. Indices and conditions are
planted on request: they are a thousand places, and some of those bugs change nothing that a caller sees. Fails when a bug is
missed, or when a family declares none.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Iterable, Sequence

os.environ.setdefault("LUCID_SIMULATOR_TIME_LIMIT", "10")  # a kernel that no longer ends is noticed, and soon

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "kernels")]

from lucid_kernels.cuda.runtime import source  # noqa: E402
from lucid_kernels.simulator import mutants, mutation  # noqa: E402

FOLDER = ROOT / "tests" / "kernels" / "cuda"
#: The kinds that are tried without being asked for.
KINDS = ("barrier", "atomic", "shared")
#: As many places a process tries before it takes others.
_BATCH = 8

Result = tuple[bool, str]


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


def run_declared(family: str) -> list[Result]:
    """For each bug declared for a family: whether it was caught, and the line that says so."""
    return [(outcome.caught, describe(outcome)) for outcome in mutation.run(_declared(family), keep_going=True)]


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
    options = parser.parse_args()

    families = [pathlib.PurePath(name).stem for name in options.families] or list(source.names())
    declared = families if not options.kinds and not options.at else []
    kinds = options.kinds.split(",") if options.kinds else mutants.KINDS if options.all else KINDS
    start = time.perf_counter()
    missed = total = 0
    # Most of the time goes into compiling the mutated sources: one process for each core.
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        runs = [(f"{family}.cu has no mutation", pool.submit(run_declared, family)) for family in declared]
        for family in families:
            found = places(family, kinds, options.at)
            for first in range(0, len(found), _BATCH):
                runs.append(("", pool.submit(run_batch, family, found[first : first + _BATCH])))
        for lacking, run in runs:
            results = run.result()
            for caught, line in results:
                print(line, flush=True)
                total += 1
                missed += not caught
            if not results:
                missed += 1
                print(f"MISSING {lacking}")
    print(f"{total - missed} of {total} planted bugs caught in {time.perf_counter() - start:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
