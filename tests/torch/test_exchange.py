"""Whole modules that one library pickles are read by the other."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from tests.torch.test_programs import run

PROGRAM = pathlib.Path(__file__).parent / "exchanged.py"


def run_in_pytorch(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PROGRAM, *map(str, arguments), "without"], capture_output=True, text=True, timeout=240)


@pytest.mark.torch
@pytest.mark.parametrize(("writes", "reads"), [(run_in_pytorch, run), (run, run_in_pytorch)],
                         ids=["from_pytorch", "to_pytorch"])
def test_modules(writes, reads, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch")
    for step, action in ((writes, "save"), (reads, "load")):
        done = step(*((PROGRAM,) if step is run else ()), action, tmp_path)
        assert done.stdout.endswith("done\n"), done.stderr[-3000:]
