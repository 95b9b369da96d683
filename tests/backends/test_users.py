"""A user of whom the system knows no name and no home, as in many containers."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
import os, pwd, sys

def unknown(uid):
    raise KeyError(f"getpwuid(): uid not found: {uid}")

pwd.getpwuid = unknown
import lucid
for device in ["cpu", "gpu"] if lucid.gpu.is_available() else ["cpu"]:
    print(lucid.nn.functional.softmax(lucid.ones(2, 4, device=device), 1).sum().item())
lucid.save(lucid.ones(2), sys.argv[1])
print(lucid.load(sys.argv[1]).tolist())
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX users")
def test_a_user_without_an_entry(tmp_path: pathlib.Path) -> None:
    without = {"HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "XDG_CACHE_HOME", "LUCID_SIMULATOR_CACHE", "LUCID_CACHE_DIR"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    found = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "m")], env=environment, cwd=tmp_path, timeout=120, check=False,
                           text=True, capture_output=True)
    lines = found.stdout.splitlines()
    assert found.returncode == 0 and lines[-1] == "[1.0, 1.0]" and set(lines[:-1]) == {"2.0"}, found.stderr
    assert os.listdir(tmp_path) == ["m"]  # nothing in a folder named ~
