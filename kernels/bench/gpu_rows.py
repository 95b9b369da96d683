"""What is known without a GPU of the rows that none has run: writes kernels/bench/results/gpu_rows_not_run.md.

    python kernels/bench/gpu_rows.py [--architecture sm_90] [--families targets.chain ...] [--output FILE]
    python kernels/bench/gpu_rows.py --all --output FILE     # also what a GPU has run
    python kernels/bench/gpu_rows.py --drop     # only takes out of the page what a GPU has run since

Rows of the batches in kernels/bench/results/ (`*-batch.json`) are left out: a GPU has run those. Launches and the host's time
come from the real CuPy on a CUDA that computes nothing (`bench/host/`; Linux on x86-64, gcc, and the extra `cuda13` or `cuda12`),
resources from kernels/resources.json, the rest is arithmetic. Nothing of it was measured on a GPU.
"""

from __future__ import annotations

import os
import sys

# As a script this folder is on the path, where its files would hide others' of the same names.
_KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[0:1] = [_KERNELS, os.path.dirname(_KERNELS)]

import argparse  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import tempfile  # noqa: E402

from bench.environment import cpu_name  # noqa: E402
from bench.gpu import roofline_rows  # noqa: E402
from bench.gpu.batch import run_part  # noqa: E402
from bench.gpu.place import STUB  # noqa: E402
from bench.gpu.rows import FAMILIES  # noqa: E402
from bench.host import stub  # noqa: E402

RESULTS = pathlib.Path(__file__).parent / "results"
PAGE = RESULTS / "gpu_rows_not_run.md"
_SECONDS = 900


def measured(folder: pathlib.Path = RESULTS) -> set[str]:
    """The names of rows that a GPU has run, in a batch whose results are kept in `folder`."""
    found: set[str] = set()
    for path in folder.glob("*-batch.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["measured_on_a_gpu"]:
            rows = document["parts"].get("rows", {"rows": []})["rows"]
            found |= {row["name"] for row in rows if "ours" in row and not row.get("failure")}
    return found


def without(text: str, names: set[str]) -> str:
    """A page without the rows of these names."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not (line.startswith("| ") and line.split("|")[1].strip() in names))


def main() -> int:
    """Write the page; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", choices=roofline_rows.CHIPS, default="sm_90")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES], metavar="FAMILY")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE", default=PAGE)
    parser.add_argument("--all", action="store_true", help="also the rows that a GPU has run")
    parser.add_argument("--drop", action="store_true", help="take out the rows that a GPU has run since; measure nothing")
    options = parser.parse_args()
    if options.all and options.output == PAGE:
        parser.error("what a GPU has run does not belong on that page: name another --output")
    done = set() if options.all else measured()
    if options.drop:
        options.output.write_text(without(options.output.read_text(), done))
        return 0
    missing = stub.problem()
    if missing is not None:
        print(missing, file=sys.stderr)
        return 2
    facts = {"architecture": options.architecture, "families": options.families, "left_out": sorted(done)}
    with tempfile.TemporaryDirectory() as folder:
        part = run_part("roofline", STUB, _SECONDS, facts, pathlib.Path(folder), lambda part, path: None)
    if part["end"] != "done":
        print(part["end"], part.get("output", ""), file=sys.stderr)
        return 1
    options.output.write_text(roofline_rows.page(part["rows"], options.architecture, cpu_name()) + "\n")
    print(f"{len(part['rows'])} rows in {options.output}")
    return int(any("failed" in row for row in part["rows"]))


if __name__ == "__main__":
    sys.exit(main())
