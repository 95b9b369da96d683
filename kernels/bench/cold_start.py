"""How long until the first training step of the digits net: in a new process, and with nothing compiled yet; beside PyTorch."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from bench.environment import child_environment

#: Import, build the net, take a step (for PyTorch with its fused Adam); with an argument, a whole epoch of 23 batches.
STEP = """
import importlib, sys
library, steps = sys.argv[1], int(sys.argv[2])
lib = importlib.import_module(library)
from bench.library import Library
from bench.targets.models import MODELS
from bench.targets.training import training_step
step = training_step(Library(library), MODELS["digits CNN, batch 64"])
for _ in range(steps):
    loss = step()
loss.item()
"""
EPOCH_STEPS = 23
EPOCH_SECONDS = 15  # the most that a first epoch with an empty cache should take
WARM_SECONDS = 1


def _seconds(library: str, steps: int, cache: str) -> float:
    environment = child_environment("ours") | {"LUCID_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", STEP, library, str(steps)], env=environment, check=True)
    return time.perf_counter() - start


def report(quick: bool = False) -> tuple[dict[str, Any], str]:
    """Seconds of a process up to the end of its first epoch with an empty cache, then of its first step, median of several."""
    with tempfile.TemporaryDirectory() as cache:
        result: dict[str, Any] = {"empty_cache_epoch": _seconds("lucid", EPOCH_STEPS, cache)}
        libraries = ["lucid"] + ["torch"] * bool(importlib.util.find_spec("torch"))
        times: dict[str, list[float]] = {library: [] for library in libraries}
        for turn in range(3 if quick else 7):
            for library in libraries:
                seconds = _seconds(library, 1, cache)
                if turn:  # the first run of each reads its files from disk
                    times[library].append(seconds)
    result |= {f"{library}_first_step": statistics.median(values) for library, values in times.items()}
    text = (f"cold start: first epoch of the digits net with an empty cache {result['empty_cache_epoch']:.1f} s "
            f"(bound {EPOCH_SECONDS}); process up to its first step {result['lucid_first_step']:.2f} s (bound {WARM_SECONDS})")
    if "torch" in libraries:
        result["ratio_to_torch"] = result["lucid_first_step"] / result["torch_first_step"]
        text += f", PyTorch {result['torch_first_step']:.2f} s: ratio {result['ratio_to_torch']:.2f}"
    return result, text


if __name__ == "__main__":
    print(report()[1])
