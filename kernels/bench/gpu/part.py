"""Runs one part: `python -m bench.gpu.part NAME --seconds S --rows FILE`. Each row is a line of JSON in the file, at once."""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from bench.gpu.place import prepare

#: A part -> its module; what a module's `measure(time)` yields are the rows.
MODULES = {"about": "about", "compilation": "compilation", "gate": "suite", "ceilings": "ceilings_of_gpu", "host": "host_times",
           "tuning": "tuning", "rows": "rows", "compile": "compiled_steps", "kernels": "kernel_times", "tests": "suite",
           "roofline": "roofline_rows"}


class Time:
    """What a part has, and which one it is."""

    def __init__(self, part: str, seconds: float, facts: dict[str, Any]) -> None:
        self.part = part
        self.end = time.monotonic() + seconds
        self.facts = facts  # the row of `about`

    def left(self) -> float:
        """Seconds that are left; less than 0 when they are over."""
        return self.end - time.monotonic()


def rows(given: Time) -> Iterator[dict[str, Any]]:
    """The rows of a part, and one that says how it ended."""
    start = time.monotonic()
    try:
        for row in importlib.import_module(f"bench.gpu.{MODULES[given.part]}").measure(given):
            yield row
            if given.left() < 0:
                yield {"end": "out of time", "took": time.monotonic() - start}
                return
    except Exception as error:
        traceback.print_exc()
        yield {"end": f"FAILED: {type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        return
    yield {"end": "done", "took": time.monotonic() - start}


def main() -> None:
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=MODULES)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rows", type=pathlib.Path, required=True)
    parser.add_argument("--facts", default="{}")
    options = parser.parse_args()
    prepare()
    with options.rows.open("a") as file:
        for row in rows(Time(options.part, options.seconds, json.loads(options.facts))):
            file.write(json.dumps(row, default=str) + "\n")
            file.flush()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
