"""The peak memory of a training step on lucid and on PyTorch, each in a fresh process.

    python -m bench.peak_memory <lucid|torch> <model>     # what `report` runs

What counts is the growth of the peak resident memory over that of the library itself, which has then taken a step of a small
net. PyTorch runs with its own malloc settings here: those of the timings make it keep freed memory.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
from typing import Any

from bench.environment import child_environment
from bench.library import Library
from bench.report import status
from bench.targets.models import MODELS
from bench.targets.training import training_step

TARGET = 1.0
SMALL = "digits CNN, batch 64"
STEPS = 2


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(library: str, model: str) -> dict[str, Any]:
    """The peak of this process after a small step, and after steps of `model`; or what the library lacks."""
    names = Library(library)
    missing = names.lacks(MODELS[model].needs)
    if missing:
        return {"missing": f"{library}.{missing}"}
    small = training_step(names, MODELS[SMALL])
    small()
    before = _peak_bytes()
    step = training_step(names, MODELS[model])
    for _ in range(STEPS):
        step()
    return {"before": before, "peak": _peak_bytes()}


def _in_a_process(library: str, model: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-m", "bench.peak_memory", library, model], env=child_environment("ours"),
                          capture_output=True, text=True)
    if done.returncode:
        return {"failure": f"{library}: {(done.stderr.splitlines() or ['no message'])[-1]}"}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def result(model: str) -> dict[str, Any]:
    """A row of the table of targets: the ratio of the growths."""
    _in_a_process("lucid", model)  # compiles the kernels: the memory of the compiler is not that of the step
    sides = {"ours": _in_a_process("lucid", model)}
    if importlib.util.find_spec("torch"):
        sides["torch"] = _in_a_process("torch", model)
    missing = sides["ours"].pop("missing", "")
    failure = "; ".join(values.pop("failure") for values in sides.values() if "failure" in values)
    for values in sides.values():
        if "peak" in values:
            values["growth"] = values["peak"] - values["before"]
    growths = [sides[side].get("growth") for side in ("ours", "torch") if side in sides]
    ratio = growths[0] / max(growths[1], 1) if len(growths) == 2 and None not in growths else None
    return {"family": "peak_memory", "name": f"peak memory {model}", "target": TARGET, "missing": missing,
            "failure": failure, "ratio_to_torch": ratio, "ratio_at_best": None, "floor_share": None,
            "undisturbed": True, "memory": {side: values for side, values in sides.items() if values}}


def report(quick: bool = False) -> tuple[list[dict[str, Any]], str]:
    """The rows of all models, and lines that say them."""
    # The growth of the smaller nets is less than what a heap rounds to.
    rows = [result(model) for model in MODELS if model.startswith(("28x28",) if quick else ("28x28", "ResNet-18", "GPT"))]
    lines = []
    for row in rows:
        sides = ", ".join(f"{side} {values['growth'] / 1e6:.0f} MB (process {values['peak'] / 1e6:.0f} MB)"
                          for side, values in row["memory"].items())
        lines.append(f"{row['name']}: {sides}" + (f"; {status(row)}" if row["missing"] or row["failure"] else ""))
    return rows, "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
