"""The stubs are current, and tell checkers of types what is right and what is wrong."""
from __future__ import annotations

import os
import pathlib
import re
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


def test_programs(tmp_path):
    pytest.importorskip("mypy")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary",
                           f"--cache-dir={tmp_path}", str(PROGRAM)], capture_output=True, text=True, env={**os.environ, "MYPYPATH": paths})
    found = set(re.findall(r"program\.py:(\d+): error: .*\[([\w-]+)\]", done.stdout))
    expected = {(str(number), match[1]) for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
                if (match := re.search(r"# E: ([\w-]+)$", line))}
    assert found == expected, done.stdout
    assert len(expected) == 6 and "error" not in re.sub(r"program\.py:\d+: error.*", "", done.stdout)
