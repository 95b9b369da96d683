"""Plant the bugs of tests/kernels/cuda/mutations_*.py in the CUDA kernels and see that the kernels' checks notice them.

    python kernels/mutate.py                   # all families
    python kernels/mutate.py softmax pool2d    # some

Runs on the simulator; see lucid_kernels/simulator/mutation.py for how a bug is declared. Fails when a bug is missed, or
when a family has none.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "kernels")]

from lucid_kernels.cuda import source  # noqa: E402
from lucid_kernels.simulator import mutation  # noqa: E402


def describe(outcome: mutation.Outcome) -> str:
    """One line about a planted bug: noticed or not, by which schedules, and how."""
    if outcome.problem is not None:
        return f"WRONG   {outcome.problem}"
    marks = "".join("." if error is None else "x" for error in outcome.noticed)
    error = next((error for error in outcome.noticed if error is not None), None)
    lines = str(error).strip().splitlines() if error is not None else []
    reason = f"{type(error).__name__}: {lines[0] if lines else ''}" if error is not None else ""
    return f"{'caught' if outcome.caught else 'MISSED':7} {outcome.file:18} {marks}  {outcome.label:40} {reason[:110]}"


def run_family(family: str) -> list[tuple[bool, str]]:
    """For each bug planted in a family: whether it was caught, and the line that says so."""
    mutations = mutation.collect(ROOT / "tests" / "kernels" / "cuda", [family])
    return [(outcome.caught, describe(outcome)) for outcome in mutation.run(mutations, keep_going=True)]


def main() -> int:
    """Run the mutations; 1 when a bug is missed or a family has none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", help="families to test, as in softmax; all when left out")
    options = parser.parse_args()

    families = [pathlib.PurePath(name).stem for name in options.families] or list(source.names())
    start = time.perf_counter()
    missed = total = 0
    bare = []
    # Most of the time goes into compiling the mutated sources: one process for each core.
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for family, outcomes in zip(families, pool.map(run_family, families), strict=True):
            for caught, line in outcomes:
                print(line, flush=True)
                total += 1
                missed += not caught
            if not outcomes:
                bare.append(family)
                print(f"MISSING {family}.cu has no mutation")
    print(f"{total - missed} of {total} planted bugs caught in {time.perf_counter() - start:.0f} s")
    return 1 if missed or bare else 0


if __name__ == "__main__":
    sys.exit(main())
