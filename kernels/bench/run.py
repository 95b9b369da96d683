"""Measure lucid against PyTorch and NumPy in one run, and print the ratios.

    python kernels/bench/run.py                     # everything
    python kernels/bench/run.py softmax conv2d      # some families
    python kernels/bench/run.py --targets           # what the project wants to reach, in a few minutes
    python kernels/bench/run.py --quick             # a rough look
    python kernels/bench/run.py --save              # also write kernels/bench/results/<date>-<cpu>-<device>.json
    python kernels/bench/run.py --output new.json --plot new.png
    python kernels/bench/run.py --compare old.json new.json
    python kernels/bench/run.py --instructions avx2 # as on a CPU without AVX-512, both libraries
    python kernels/bench/run.py host                # the host's time of GPU operations, without a GPU
    python kernels/bench/run.py --device gpu        # the kernels and the cases of the targets, on a real GPU

PyTorch is optional: without it our times stand alone. Nothing is ever timed on the simulator.

Exit status of a run: 1 if a case failed (a missed target is no failure). Of `--compare`: 1 if a row is SLOWER, 2 if there is
nothing to compare; `compare.py` defines the verdicts.
"""

from __future__ import annotations

import os
import sys

# As a script this folder is on the path, where its random.py would hide the standard library's.
_KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[0:1] = [_KERNELS, os.path.dirname(_KERNELS)]

import argparse  # noqa: E402
import datetime  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import re  # noqa: E402
import subprocess  # noqa: E402
from typing import Any  # noqa: E402

from bench import (  # noqa: E402  # noqa: E402
    cold_start,
    compare,
    environment,
    gpu_targets,
    import_time,
    memory,
    module_call,
    module_to,
    peak_memory,
    plot,
    targets,
)
from bench.driver import Driver, WorkerFailed  # noqa: E402
from bench.host import report as host  # noqa: E402
from bench.report import header, row, target_table  # noqa: E402

#: Families of kernels, each in its file; they run on both devices.
KERNELS = ("elementwise", "softmax", "cross_entropy", "batch_norm", "layer_norm", "conv2d", "pool2d", "embedding", "random",
           "optimizer", "products", "csr_matmul")
#: Of the whole library on a CPU, without targets but for some of `namespaces` and `compile`.
SHAPES = ("convolution_shapes", "functions", "copies", "interpolation", "scans", "in_place", "networks", "recurrent", "selection",
          "small_matrices", "distributions", "namespaces", "small_ops", "scripts", "compile")
#: Of these, what a GPU runs too.
ON_BOTH = ("networks", "compile")
#: The families of the targets, of the whole library on a CPU.
TARGETS = tuple(f"targets.{name}" for name in targets.FAMILIES)
#: On a GPU there are more.
GPU_TARGETS = tuple(f"gpu_targets.{name}" for name in gpu_targets.FAMILIES)
#: Measured alone, on a CPU, each with its own line. PEAK gives rows with targets.
PEAK = "peak_memory"
ALONE = {"cold_start": cold_start.report, "host": host.report, "import_time": import_time.report, "memory": memory.report,
         "module_call": module_call.report, "module_to": module_to.report, PEAK: peak_memory.report}
RESULTS = pathlib.Path(__file__).parent / "results"


def families(names: list[str], device: str, only_targets: bool = False) -> list[str]:
    """The families to run: those named (with or without folder and suffix), or all that the device has."""
    everything = (*TARGETS, PEAK) if only_targets else (*KERNELS, *SHAPES, *ALONE, *TARGETS)
    if device == "gpu":
        everything = (*(name for name in everything if name in (*KERNELS, *TARGETS, *ON_BOTH)), *GPU_TARGETS)
    short = {family.rpartition(".")[2]: family for family in everything}
    chosen = [pathlib.PurePath(name.removeprefix("gpu_").removeprefix("targets.")).stem for name in names]
    unknown = sorted(set(chosen) - set(short))
    if unknown:
        raise SystemExit(f"no such family on {device}: {', '.join(unknown)}; there are {', '.join(short)}")
    return [family for name, family in short.items() if name in chosen or not chosen]


def check_device(device: str) -> None:
    """Refuse a GPU that is not there, or is simulated."""
    if device != "gpu":
        return
    import lucid

    if lucid.gpu.is_simulated():
        raise SystemExit("LUCID_GPU=simulated runs kernels on the CPU: their times say nothing about a GPU")
    if not lucid.gpu.is_available():
        raise SystemExit(lucid.gpu.why_unavailable())


def default_path(about: dict[str, Any], device: str) -> pathlib.Path:
    """The result file of today and this `device`."""
    words = (about[device], about.get("instructions"))
    name = re.sub(r"[^a-z0-9]+", "-", " ".join(filter(None, words)).lower()).strip("-")
    return RESULTS / f"{datetime.date.today().isoformat()}-{name}-{device}.json"


def save(document: dict[str, Any], path: pathlib.Path) -> None:
    """Write the results as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def progress(names: list[str]) -> Any:
    """`names` with a progress bar on a terminal."""
    try:
        from tqdm import tqdm
    except ImportError:
        return names
    return tqdm(names, disable=not sys.stderr.isatty(), leave=False)


def show(text: str) -> None:
    """Print a line, above the progress bar if there is one."""
    try:
        from tqdm import tqdm
    except ImportError:
        print(text, flush=True)
    else:
        tqdm.write(text)
        sys.stdout.flush()


def measure(names: list[str], device: str, quick: bool) -> tuple[dict[str, Any], list[str]]:
    """Run the families and print their lines; the document of the results, and the failures."""
    about = environment.describe(device)
    only = f", {about['instructions']} only" if about["instructions"] else ""
    show(f"{about[device]}{only}, {about['cpus']} CPUs, Python {about['python']}, commit {about['commit']}")
    results: list[dict[str, Any]] = []
    alone: dict[str, Any] = {}
    failures = []
    driver = Driver(device, quick)
    try:
        if "torch" not in driver.sides:
            show("PyTorch is not installed: our times alone, no ratios to it")
        show(header(driver.sides))
        for name in progress(names):
            try:
                if name in ALONE:
                    alone[name], text = ALONE[name](quick)
                    show(text)
                    continue
                for result in driver.run(name):
                    results.append(result)
                    show(row(result, driver.sides))
                    if result["failure"]:
                        failures.append(result["failure"])
            except (WorkerFailed, subprocess.CalledProcessError) as error:
                failures.append(str(error))
                show(f"{name} FAILED: {error}")
        peaks = alone.pop(PEAK, [])
        results += peaks
        failures += [peak["failure"] for peak in peaks if peak["failure"]]
        about |= driver.about()
    finally:
        driver.close()
    show(f"{driver.disturbed} of {driver.rounds} rounds were disturbed by other processes")
    roofline = driver.roofline()
    if roofline:
        show(f"roofline: memory {roofline['gigabytes_per_second']:.0f} GB/s, arithmetic {roofline['gigaflops']:.0f} GFLOP/s")
    document = {"format": compare.FORMAT, "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "device": device, "quick": quick, "environment": about, "roofline": roofline, "results": results,
                "alone": alone, "rounds": {"all": driver.rounds, "disturbed": driver.disturbed}}
    return document, failures


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="family", help="all when left out")
    parser.add_argument("--targets", action="store_true", help="only the project's targets, or those named")
    parser.add_argument("--quick", action="store_true", help="shorter blocks, fewer of them, smaller arrays")
    parser.add_argument("--save", action="store_true", help="write the results to the folder kernels/bench/results")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE", help="write the results to this JSON file")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="draw the ratios; needs matplotlib")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--instructions", choices=environment.INSTRUCTIONS, help="let neither library use others")
    parser.add_argument("--compare", nargs=2, type=pathlib.Path, metavar=("OLD", "NEW"), help="compare two result files")
    parser.add_argument("--tolerance", type=float, default=compare.TOLERANCE, help="of --compare: what counts as the same "
                        "(default: %(default)s)")
    parser.add_argument("--across-machines", action="store_true", help="of --compare: results of different CPUs too")
    return parser


def main() -> int:
    """Run the families, or compare two files; the exit status."""
    options = arguments().parse_args()
    if options.compare:
        return compare.main(*options.compare, options.tolerance, options.across_machines)
    os.environ.update(environment.INSTRUCTIONS.get(options.instructions, {}))
    check_device(options.device)
    names = families(options.families, options.device, options.targets)
    if options.plot:
        try:
            plot.pyplot()  # before the run, not after it
        except plot.NoMatplotlib as error:
            raise SystemExit(str(error)) from None
    document, failures = measure(names, options.device, options.quick)
    about = document["environment"]
    paths = [path for path in (options.output, default_path(about, options.device) if options.save else None) if path]
    for path in paths:
        save(document, path)
        show(f"saved {path}")
    if options.plot and any(result["ratio_to_torch"] for result in document["results"]):
        plot.draw(document["results"], f"{about[options.device]}, {document['date']}, commit {about['commit']}", options.plot)
        show(f"drew {options.plot}")
    elif options.plot:
        show("nothing to plot: no case has a ratio to PyTorch")
    for line in target_table(document["results"]):
        show(line)
    if options.quick:
        show("quick: smaller arrays than the names say, few rounds; not the measure of a target")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
