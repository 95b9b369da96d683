"""Measure lucid against PyTorch and NumPy in one run, and print the ratios.

    python kernels/bench/run.py                     # everything, in under three minutes
    python kernels/bench/run.py softmax conv2d      # some families
    python kernels/bench/run.py --quick             # a rough look
    python kernels/bench/run.py --save              # also write kernels/bench/results/<date>-<cpu>.json
    python kernels/bench/run.py --device gpu        # the kernels, on a real GPU

PyTorch is optional: without it our times stand alone. Nothing is ever timed on the simulator.
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

from bench import environment, import_time, memory  # noqa: E402
from bench.driver import Driver, WorkerFailed, header, row  # noqa: E402

#: Families of cases, timed in lock-step; the last two give the closing lines.
KERNELS = ("elementwise", "softmax", "cross_entropy", "batch_norm", "layer_norm", "conv2d", "pool2d", "random", "optimizer")
LIBRARY = ("overhead", "digits_step")
#: Measured alone: they say how they compare themselves.
ALONE = {"import_time": import_time.report, "memory": memory.report}
RESULTS = pathlib.Path(__file__).parent / "results"


def families(names: list[str], device: str) -> list[str]:
    """The families to run: those named, or all that the device has."""
    everything = [*KERNELS, *(ALONE if device == "cpu" else ()), *(LIBRARY if device == "cpu" else ())]
    chosen = [pathlib.PurePath(name).stem for name in names] or everything
    unknown = sorted(set(chosen) - set(everything))
    if unknown:
        raise SystemExit(f"no such family on {device}: {', '.join(unknown)}; there are {', '.join(everything)}")
    return [name for name in everything if name in chosen]


def check_device(device: str) -> None:
    """Refuse a GPU that is not there, or is simulated."""
    if device != "gpu":
        return
    import lucid

    if lucid.gpu.is_simulated():
        raise SystemExit("LUCID_GPU=simulated runs kernels on the CPU: their times say nothing about a GPU")
    if not lucid.gpu.is_available():
        raise SystemExit(lucid.gpu.why_unavailable())


def save(document: dict[str, Any]) -> pathlib.Path:
    """Write the results under a name made of the date and the CPU."""
    cpu = re.sub(r"[^a-z0-9]+", "-", document["environment"]["cpu"].lower()).strip("-")
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.date.today().isoformat()}-{cpu}-{document['device']}.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def closing_lines(results: list[dict[str, Any]]) -> list[str]:
    """The ratios that have a bound, in one line each."""
    lines = []
    for result in results:
        if result["limit"] is None:
            continue
        ratio = result["ratio_to_torch"]
        if ratio is None:
            lines.append(f"{result['title']}: {result['ours']['median'] * 1e6:.1f} us; no ratio: PyTorch is not installed")
        else:
            unit = "time per op" if result["family"] == "overhead" else "time"
            lines.append(f"{result['title']}: {ratio:.2f} of PyTorch's {unit} (bound {result['limit']:.2f})")
    return lines


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


def main() -> int:
    """Run the families; 1 when one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="family", help="all when left out")
    parser.add_argument("--quick", action="store_true", help="shorter blocks and fewer of them")
    parser.add_argument("--save", action="store_true", help="write the results to a JSON file")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    options = parser.parse_args()
    check_device(options.device)
    names = families(options.families, options.device)

    about = environment.describe()
    show(f"{about['cpu']}, {about['cpus']} CPUs, Python {about['python']}, commit {about['commit']}")
    driver = Driver(options.device, options.quick)
    results: list[dict[str, Any]] = []
    alone: dict[str, Any] = {}
    failures = []
    try:
        if "torch" not in driver.sides:
            show("PyTorch is not installed: our times alone, no ratios to it")
        show(header(driver.sides))
        for name in progress(names):
            try:
                if name in ALONE:
                    alone[name], text = ALONE[name](options.quick)
                    show(text)
                    continue
                for result in driver.run(name):
                    results.append(result)
                    show(row(result, driver.sides))
            except (WorkerFailed, subprocess.CalledProcessError) as error:
                failures.append(str(error))
                show(f"{name} FAILED: {error}")
        about |= driver.about()
    finally:
        driver.close()
    show(f"{driver.disturbed} of {driver.blocks} blocks were disturbed by other processes")
    if options.save:
        document = {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "device": options.device,
                    "environment": about, "results": results, "alone": alone}
        show(f"saved {save(document).relative_to(RESULTS.parents[2])}")
    for line in closing_lines(results):
        show(line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
