"""The stubs are current, and tell checkers of types what is right and what is wrong."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tests.typing import stubs

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(__file__).with_name("program.py")


def test_they_are_current():
    """`python -m tests.typing.stubs` writes them."""
    assert stubs.METHODS.read_text() == stubs.methods()
    for module in stubs.NAMES:
        assert stubs.stub(module).read_text() == stubs.names(module), module


def test_mypy(tmp_path):
    pytest.importorskip("mypy")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary",
                           f"--cache-dir={tmp_path}", str(PROGRAM)], capture_output=True, text=True, env={**os.environ, "MYPYPATH": paths})
    assert done.stdout == done.stderr == "" and done.returncode == 0
