"""Models of PyTorch's libraries on lucid give PyTorch's numbers, which `python -m tests.ecosystem.record` wrote. A library that is
not installed is skipped.
"""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.ecosystem.record import LIBRARIES, NUMBERS

ROOT = pathlib.Path(__file__).parents[2]


def run(*arguments: str) -> str:
    """What a program prints in a process where `import torch` gives lucid."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "lucid.torch", "-m", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.ecosystem
@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_of_pytorch(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    found, wanted = json.loads(run("tests.ecosystem.program", library)), json.loads(NUMBERS.read_text())[library]
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name] == pytest.approx(values, rel=1e-6, abs=1e-9), name


@pytest.mark.ecosystem
@pytest.mark.parametrize("program", ["devices", "pretrained"])
def test_program(program: str) -> None:
    for library in ("torchvision", "transformers", "einops"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    assert run(f"tests.ecosystem.{program}") == "done"
