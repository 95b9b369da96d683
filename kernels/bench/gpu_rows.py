"""What is known of the GPU's rows without a GPU: writes kernels/bench/results/gpu_rows_not_run.md.

    python kernels/bench/gpu_rows.py [--architecture sm_90] [--families targets.chain ...] [--output FILE]

Launches and the host's time come from the real CuPy on a CUDA that computes nothing (`bench/host/`; Linux on x86-64, gcc, and the
extra `cuda13` or `cuda12`), resources from kernels/resources.json, the rest is arithmetic. Nothing of it was measured on a GPU.
"""

from __future__ import annotations

import os
import sys

# As a script this folder is on the path, where its files would hide others' of the same names.
_KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[0:1] = [_KERNELS, os.path.dirname(_KERNELS)]

import argparse  # noqa: E402
import pathlib  # noqa: E402
import tempfile  # noqa: E402

from bench.environment import cpu_name  # noqa: E402
from bench.gpu import roofline_rows  # noqa: E402
from bench.gpu.batch import run_part  # noqa: E402
from bench.gpu.place import STUB  # noqa: E402
from bench.gpu.rows import FAMILIES  # noqa: E402
from bench.host import stub  # noqa: E402

PAGE = pathlib.Path(__file__).parent / "results" / "gpu_rows_not_run.md"
_SECONDS = 900


def main() -> int:
    """Write the page; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", choices=roofline_rows.CHIPS, default="sm_90")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES], metavar="FAMILY")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE", default=PAGE)
    options = parser.parse_args()
    missing = stub.problem()
    if missing is not None:
        print(missing, file=sys.stderr)
        return 2
    facts = {"architecture": options.architecture, "families": options.families}
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
