"""Compile every CUDA kernel with NVRTC, with CuPy's options, and compare its resources with kernels/resources.json.

    python kernels/compile_check.py                          # all families; fails when one got worse
    python kernels/compile_check.py softmax --arch sm_90     # some families, some chips
    python kernels/compile_check.py --changed                # families whose text, or compiler, is another than in the baseline
    python kernels/compile_check.py --update                 # accept what is there now

Needs neither a GPU nor a driver, only the packages of the extra `simulator`. The kernels of a file are
its `extern "C"` kernels and the instances in its line `// instantiate: softmax<float>, softmax<double>`. A kernel is
worse when it spills more, uses more stack or shared memory, or over a tenth (and two) more registers than the baseline
says.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "kernels"))

from lucid_kernels.cuda.runtime import source  # noqa: E402
from lucid_kernels.simulator.nvrtc import (  # noqa: E402
    ARCHITECTURES,
    CUPY_OPTIONS,
    CompilationError,
    Nvrtc,
    Resources,
    compiled_resources,
)

BASELINE = ROOT / "kernels" / "resources.json"


def compile_family(nvrtc: Nvrtc, family: str, architecture: str) -> dict[str, Resources]:
    """Compile one .cu file for one chip. Raises CompilationError."""
    text = source.load(family)
    names = source.instantiations(text)
    kernels: dict[str, Resources] = {}
    for together in [(name,) for name in names] if source.is_one_module_an_instance(text, True) else [names]:
        wanted = source.architecture(text, architecture.removeprefix("sm_")) or architecture
        kernels |= compiled_resources(nvrtc, text, f"{family}.cu", together, wanted)
    return kernels


def compare(found: dict[str, Resources], baseline: dict[str, Resources]) -> list[str]:
    """What is worse than the baseline, or not in it."""
    problems = []
    for key, resources in found.items():
        before = baseline.get(key)
        if before is None:
            problems.append(f"{key}: not in the baseline (--update adds it)")
        elif resources.worse_than(before):
            problems.append(f"{key}: {_difference(before, resources)}")
    return problems


def _difference(before: Resources, after: Resources) -> str:
    fields = [field.name for field in dataclasses.fields(Resources)]
    return ", ".join(
        f"{name} {getattr(before, name)} -> {getattr(after, name)}"
        for name in fields
        if getattr(before, name) != getattr(after, name)
    )


def digest(family: str, version: str) -> str:
    """What the resources of a family depend on, as a short hash: its text with headers, NVRTC's version and the options."""
    return hashlib.sha256("\0".join([source.load(family), version, *CUPY_OPTIONS]).encode()).hexdigest()[:16]


def _read(path: pathlib.Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_baseline(path: pathlib.Path) -> dict[str, Resources]:
    """The committed resources by 'chip family kernel'; empty without a file."""
    return {key: Resources(**values) for key, values in _read(path).items() if isinstance(values, dict)}


def read_digests(path: pathlib.Path) -> dict[str, str]:
    """The `digest` of each family when its resources were committed, by 'chip family'."""
    return {key: value for key, value in _read(path).items() if isinstance(value, str)}


def write_baseline(path: pathlib.Path, resources: dict[str, Resources], digests: dict[str, str]) -> None:
    """One kernel per line, sorted: small diffs."""
    values = {**digests, **{key: dataclasses.asdict(value) for key, value in resources.items()}}
    lines = [f"  {json.dumps(key)}: {json.dumps(values[key])}" for key in sorted(values)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _compiled(architecture: str, family: str) -> tuple[dict[str, Resources], str | None, float]:
    """The resources of the kernels of a file, why it does not compile, and the seconds that this took."""
    start = time.perf_counter()
    kernels: dict[str, Resources] = {}
    failure = None
    try:
        kernels = compile_family(Nvrtc(), family, architecture)
        if not kernels:
            failure = f"{architecture} {family}.cu has no kernel: does it lack a line '// instantiate: ...'?"
    except CompilationError as error:
        failure = f"{architecture} {family}.cu does not compile:\n{error}"
    return kernels, failure, time.perf_counter() - start


def check(
    jobs: Sequence[tuple[str, str]], processes: int = 1, report: Callable[[str], None] = print
) -> tuple[dict[str, Resources], list[str]]:
    """Compile the families of `jobs`, pairs of a chip and a family: the resources by 'chip family kernel', and the failures.

    NVRTC compiles one source at a time in a process, whatever its threads.
    """
    found: dict[str, Resources] = {}
    failures: list[str] = []
    if not jobs:
        return found, failures
    with contextlib.ExitStack() as stack:
        compiled = itertools.starmap(_compiled, jobs)
        if processes > 1:
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(concurrent.futures.ProcessPoolExecutor(processes, context))
            compiled = pool.map(_compiled, *zip(*jobs, strict=True))
        for (architecture, family), (kernels, failure, seconds) in zip(jobs, compiled, strict=True):
            if failure is not None:
                failures.append(failure)
                continue
            found |= {f"{architecture} {family} {name}": resources for name, resources in kernels.items()}
            most = max(resources.registers for resources in kernels.values())
            spilling = sum(resources.spills > 0 for resources in kernels.values())
            report(
                f"{architecture:7} {family:16} {len(kernels):3} kernels, at most {most:3} registers, "
                f"{spilling} with spills, {seconds:.1f} s"
            )
    return found, failures


def main() -> int:
    """Compile and compare; 1 when something fails or got worse, 2 when NVRTC is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", help="families to compile, as in softmax; all when left out")
    parser.add_argument("--arch", default=",".join(ARCHITECTURES), help="chips, separated by commas")
    parser.add_argument("--changed", action="store_true", help="only families that have changed since the baseline")
    parser.add_argument("--update", action="store_true", help="write the baseline")
    options = parser.parse_args()

    families = [pathlib.PurePath(name).stem for name in options.families] or list(source.names())
    unknown = ", ".join(sorted(set(families) - set(source.names())))
    if unknown:
        parser.error(f"no such family: {unknown}; there are {', '.join(source.names())}")
    jobs = list(itertools.product(options.arch.split(","), families))
    known = read_digests(BASELINE)
    try:
        version = Nvrtc().version
        print(f"NVRTC {version}")
        digests = {f"{architecture} {family}": digest(family, version) for architecture, family in jobs}
        if options.changed:
            jobs = [job for job in jobs if known.get(" ".join(job)) != digests[" ".join(job)]]
            print(f"{len(jobs)} of {len(digests)} families have changed since the baseline")
        found, failures = check(jobs, os.cpu_count() or 1)
    except RuntimeError as error:  # NVRTC or the headers are missing
        print(error, file=sys.stderr)
        return 2
    baseline = read_baseline(BASELINE)
    if options.update and not failures:
        names = set(source.names())
        kept = {key: value for key, value in baseline.items() if tuple(key.split(" ", 2)[:2]) not in jobs}
        kept = {key: value for key, value in kept.items() if key.split(" ", 2)[1] in names}
        digests = known | {" ".join(job): digests[" ".join(job)] for job in jobs}
        write_baseline(BASELINE, kept | found, {key: value for key, value in digests.items() if key.split(" ")[1] in names})
        print(f"{BASELINE.name} updated")
        return 0
    problems = failures + compare(found, baseline)
    print("\n".join(problems) if problems else f"{len(found)} kernels are within the baseline")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
