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


@pytest.mark.torch
def test_plain_pickle_of_pytorch(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch")
    write = ("import pickle, sys, torch; x = torch.arange(6.0).view(2, 3); "
             "pickle.dump([x.T, x[1], torch.nn.Parameter(x)], open(sys.argv[1], 'wb'))")
    subprocess.run([sys.executable, "-c", write, tmp_path / "tensors"], check=True, timeout=240)
    done = run("-c", "import pickle, sys, torch; x, y, p = pickle.load(open(sys.argv[1], 'rb')); "
               "print(x.tolist(), y.tolist(), type(p) is torch.nn.Parameter and p.requires_grad)", tmp_path / "tensors")
    assert done.stdout == "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] [3.0, 4.0, 5.0] True\n", done.stderr[-3000:]
