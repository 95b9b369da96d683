"""Divisions by zero and overflows are silent, also where pytest makes errors of warnings."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

TESTS = """
import numpy as np
import pytest

import lucid


def test_lucid():
    assert lucid.zeros(1).log().item() == -np.inf
    assert (lucid.full((4,), 3e38) * 10).isinf().all()
    assert (lucid.full((2, 2), 3e38) @ lucid.full((2, 2), 10.0)).isinf().all()


def test_numpy():
    with pytest.raises(RuntimeWarning, match="divide by zero"):
        np.log(np.zeros(1))
"""


@pytest.mark.parametrize("strict", [("-W", "error"), ("-o", "filterwarnings=error")], ids=["option", "setting"])
def test_a_users_tests_with_warnings_as_errors(tmp_path: pathlib.Path, strict: tuple[str, str]) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "kernels"))), "PYTEST_ADDOPTS": ""}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # an installed lucid has the entry point, this folder has not
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "no:cacheprovider",
         "-p", "lucid_kernels.numpy_warnings", *strict, str(tmp_path)],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
