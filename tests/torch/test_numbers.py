"""Programs compute in `lucid.torch` what they compute in PyTorch."""
from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.torch.test_programs import run

PROGRAM = pathlib.Path(__file__).parent / "computed.py"


def differences(a: Any, b: Any, path: str = "") -> list[str]:
    """Where two results differ."""
    if type(a) is float and type(b) is float:
        near = a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=2e-6, abs_tol=2e-6)
        return [] if near else [f"{path}: {a} {b}"]
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [line for key in a for line in differences(a[key], b[key], f"{path}/{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [line for key, pair in enumerate(zip(a, b, strict=True)) for line in differences(*pair, f"{path}/{key}")]
    return [] if a == b else [f"{path}: {a} {b}"]


@pytest.mark.torch
def test_numbers() -> None:
    pytest.importorskip("torch")
    wanted = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=240)
    found = run(PROGRAM)
    assert wanted.returncode == 0, wanted.stderr[-3000:]
    assert found.returncode == 0, found.stderr[-3000:]
    assert differences(json.loads(wanted.stdout), json.loads(found.stdout)) == []
