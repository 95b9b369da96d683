"""One side of the comparison in its own process: prepares cases and times blocks when the driver says so.

The driver writes one JSON object a line, the answer is one JSON object a line. Commands: `open` a family, `next` case,
`block` of the current case, its seconds on the `device`, `floor` of the current case, `ceilings` of the machine, `about`
the libraries.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from lucid_kernels.measuring.timing import measure_block

from bench.case import Case, Side, largest_error, load, module_of
from bench.environment import libraries
from bench.gpu.place import prepare


class Worker:
    """The state between commands: the side, the family that is open and its current case."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.cases: Iterator[Case] = iter(())
        self.case: Case | None = None

    @functools.cached_property
    def roofline(self) -> Any:
        """The kernels of the roofline, which the side of PyTorch never imports."""
        if self.side.device != "cpu":
            from lucid_kernels.measuring.gpu_roofline import GpuRoofline

            return GpuRoofline()
        from lucid_kernels.measuring.roofline import Roofline

        return Roofline()

    def open(self, family: str, skipped: Sequence[str] = ()) -> dict[str, Any]:
        """Start with the cases of `family`, without preparing those that are `skipped`; whether they are many brief ones."""
        self.side.skipped = frozenset(skipped)
        self.cases = load(family, self.side)
        return {"brief": getattr(module_of(family), "BRIEF", False)}

    def next(self, errors: bool = True) -> dict[str, Any]:
        """Prepare the next case: the first call, which may compile, and, with `errors`, the error against float64.

        A case that fails answers with its `failure`, and the next ones can still run.
        """
        self.case = None  # its arrays are freed first
        self.case = next(self.cases, None)
        if self.case is None:
            return {"end": True}
        case = self.case
        facts = {"name": case.name, "bytes": case.bytes, "flops": case.flops, "operations": case.operations,
                 "target": case.target, "missing": case.missing, "failure": case.failure, "variant": case.variant,
                 "notes": case.notes}
        if case.call is not None:
            try:
                start = time.perf_counter()
                case.call()
                self.side.synchronize()
                facts["first_call"] = time.perf_counter() - start
                facts["error"] = largest_error(self.side, case) if errors else None
            except Exception as error:
                traceback.print_exc()
                case.call, facts["failure"] = None, f"{type(error).__name__}: {error}"
        return {**facts, "available": case.call is not None}

    def block(self, seconds: float) -> dict[str, Any]:
        """Time the current case."""
        assert self.case is not None
        assert self.case.call is not None
        return measure_block(self.case.call, self.side.synchronize, seconds, self.side.device)

    def floor(self, seconds: float) -> dict[str, Any]:
        """The time that the roofline's kernels need for the traffic and the arithmetic of the current case."""
        assert self.case is not None
        case = self.case
        return {"seconds": self.roofline.floor(case.bytes, case.traffic, case.flops, seconds, case.arithmetic)}

    def device(self) -> dict[str, Any]:
        """The seconds that a GPU takes for the current case."""
        from bench.gpu.clock import device_seconds

        assert self.case is not None
        assert self.case.call is not None
        return {"seconds": device_seconds(self.case.call)}

    def ceilings(self, seconds: float) -> dict[str, Any]:
        """The bandwidth of memory, beyond all caches, and the peak of arithmetic at the moment."""
        size = 288 << 20
        return {"gigabytes_per_second": size / self.roofline.stream(size, "triad", seconds) / 1e9,
                "gigaflops": self.roofline.peak(seconds) / 1e9}

    def about(self) -> dict[str, Any]:
        """The versions and threads of this side."""
        return libraries(self.side.name)


def main() -> None:
    """Answer commands until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not come between the answers
    prepare()
    worker = Worker(Side(options.side, options.device, options.quick))
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(worker, command.pop("command"))(**command)
        except Exception as error:  # reported by the driver, which goes on with the other families
            traceback.print_exc()
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
