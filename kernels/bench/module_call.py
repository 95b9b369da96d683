"""What `module(x)` costs over `module.forward(x)` when there are no hooks, in lucid and in PyTorch."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.environment import child_environment

BOUND = 0.5  # microseconds
CALLS = 2_000  # in a block


def _seconds(call: Callable[[Any], Any], argument: Any) -> float:
    """The time of one call, of a block of them."""
    repeat = range(CALLS)
    start = time.perf_counter()
    for _ in repeat:
        call(argument)
    return (time.perf_counter() - start) / CALLS


def _layer(library: str) -> Any:
    nn = importlib.import_module(f"{library}.nn")

    class Layer(nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return x

    return Layer()


def measure(libraries: list[str], blocks: int) -> dict[str, float]:
    """Microseconds of a call over `forward`, by library: the difference of their fastest blocks, all of which take turns."""
    layers = {library: _layer(library) for library in libraries}
    calls = {(library, how): layer if how == "call" else layer.forward
             for library, layer in layers.items() for how in ("call", "forward")}
    fastest = dict.fromkeys(calls, float("inf"))
    for _ in range(blocks):
        for key, call in calls.items():
            fastest[key] = min(fastest[key], _seconds(call, None))  # what other processes do only adds
    return {library: (fastest[library, "call"] - fastest[library, "forward"]) * 1e6 for library in libraries}


def report(quick: bool = False) -> tuple[dict[str, float], str]:
    """The microseconds, measured in a fresh process, and a line that says them."""
    libraries = ["lucid", *(["torch"] if importlib.util.find_spec("torch") else [])]
    command = [sys.executable, "-m", "bench.module_call", str(100 if quick else 600), *libraries]
    done = subprocess.run(command, env=child_environment("ours"), check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    text = ", ".join(f"{library} {microseconds:.2f} us" for library, microseconds in result.items())
    return result, f"module(x) over module.forward(x): {text} (bound {BOUND})"


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[2:], int(sys.argv[1]))))
