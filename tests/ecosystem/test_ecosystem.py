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


@pytest.mark.ecosystem
@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_of_pytorch(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "lucid.torch", "-m", "tests.ecosystem.program", library]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    found, wanted = json.loads(done.stdout.splitlines()[-1]), json.loads(NUMBERS.read_text())[library]
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name] == pytest.approx(values, rel=1e-6, abs=1e-9), name
