"""Each row of docs/differences.md is PyTorch's way in `lucid.torch`, or raises there, or it is said why that cannot matter."""
from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys

import pytest

from tests.torch.differences import REASONS

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(__file__).parent / "programs" / "differences.py"


def checked() -> list[str]:
    """The subjects that the program names at its functions."""
    functions = [node for node in ast.parse(PROGRAM.read_text()).body if isinstance(node, ast.FunctionDef)]
    marks = [mark for function in functions for mark in function.decorator_list if isinstance(mark, ast.Call)]
    return [ast.literal_eval(subject) for mark in marks for subject in mark.args]


def test_every_row_has_a_check_or_a_reason() -> None:
    rows = re.findall(r"^\| (?!subject|---)(.+?) \| ", (ROOT / "docs" / "differences.md").read_text(), re.MULTILINE)
    known = [*checked(), *REASONS]
    assert [subject for subject in rows if subject not in known] == [], "rows without a check or a reason"
    assert len(known) == len(set(known)), "in both"
    assert sorted(set(known) - set(rows)) == [], "checks and reasons without a row"


@pytest.mark.torch
def test_the_checks_hold_in_pytorch() -> None:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=240)
    assert done.stdout.endswith("done\n"), done.stderr[-3000:]
