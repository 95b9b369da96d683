"""How long `import lucid` takes, beside `import numpy` and `import torch`, in fresh interpreters."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from typing import Any

from bench.environment import child_environment


def _seconds(statement: str) -> float:
    environment = child_environment("ours")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode: without it lucid takes 0.1 s more
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], env=environment, check=True)
    return time.perf_counter() - start


def report(quick: bool = False) -> tuple[dict[str, float], str]:
    """Median seconds of each import less those of an empty interpreter, and a line that says them."""
    statements = {"nothing": "pass", "numpy": "import numpy", "lucid": "import lucid"}
    if importlib.util.find_spec("torch"):
        statements["torch"] = "import torch"
    times: dict[str, list[float]] = {name: [] for name in statements}
    for turn in range(4 if quick else 8):
        for name, statement in statements.items():
            seconds = _seconds(statement)
            if turn:  # the first run of each reads its files from disk
                times[name].append(seconds)
    base = statistics.median(times.pop("nothing"))
    medians: dict[str, Any] = {name: statistics.median(values) - base for name, values in times.items()}
    text = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in medians.items())
    return medians, f"import: {text}; lucid takes {medians['lucid'] - medians['numpy']:.2f} s more than numpy (bound 0.15)"
