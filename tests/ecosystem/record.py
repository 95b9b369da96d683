"""Writes numbers.json with the real PyTorch: ``python -m tests.ecosystem.record``, where it and the libraries are installed.

Libraries that are not installed keep their numbers.
"""
from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys

NUMBERS = pathlib.Path(__file__).parent / "numbers.json"
LIBRARIES = ("torchvision", "timm", "transformers", "vit_pytorch", "x_transformers", "einops", "torchmetrics", "kornia",
             "diffusers", "accelerate", "lightning")


def main() -> None:
    """Run each library in a process of its own."""
    found = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    for library in LIBRARIES:
        if importlib.util.find_spec(library) is not None:
            command = [sys.executable, "-m", "tests.ecosystem.program", library]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[library] = json.loads(done.stdout.splitlines()[-1])
    lines = [f'  "{library}": {{\n' + ",\n".join(f'    "{name}": {json.dumps(values)}' for name, values in models.items()) + "\n  }"
             for library, models in found.items()]
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
