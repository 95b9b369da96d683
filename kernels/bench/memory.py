"""Whether training leaks: the growth of the process over 2,000 steps with the garbage collector off."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

from bench.environment import child_environment

STEPS, WARM_UP = 2000, 200


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def train(steps: int) -> dict[str, int]:
    """Train a small net with BatchNorm buffers; the resident memory after warm-up and at the end."""
    import lucid
    from lucid import nn, optim

    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1),
                          nn.Linear(256, 10))
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    images, labels = lucid.randn(16, 1, 8, 8), lucid.randint(0, 10, (16,))
    gc.disable()
    before = 0
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            before = _resident_bytes()
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
    return {"steps": steps, "before": before, "after": _resident_bytes()}


def report(quick: bool = False) -> tuple[dict[str, Any], str]:
    """The memory of a fresh process, and a line that says how much it grew."""
    command = [sys.executable, "-m", "bench.memory", str(200 if quick else STEPS)]
    done = subprocess.run(command, env=child_environment("ours"), check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    grown = (result["after"] - result["before"]) / 1e6
    return result, f"memory: {result['steps']} training steps without garbage collection grew by {grown:.1f} MB (bound 5)"


if __name__ == "__main__":
    print(json.dumps(train(int(sys.argv[1]))))
