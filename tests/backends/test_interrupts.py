"""Ctrl-C while the first operation imports its kernel leaves a process in which that operation works."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import lucid

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="real signals and forks")

# A child for each moment, which is the import of a module: a signal to the process arrives just before it.
PROGRAM = """
import os, signal, sys
import lucid

signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background ignore

class Interrupt:
    def __init__(self, moment):
        self.moment = moment

    def find_spec(self, name, path=None, target=None):
        if name == self.moment:
            self.moment = None
            os.kill(os.getpid(), signal.SIGINT)

def first_operation():
    return lucid.nn.functional.softmax(lucid.ones(2, 4, device=sys.argv[1]), 1)

for moment in sys.argv[2:]:
    if os.fork() == 0:
        finder = Interrupt(moment)
        sys.meta_path.insert(0, finder)
        try:
            first_operation()
            print(moment, "was not imported" if finder.moment else "was not interrupted", flush=True)
        except KeyboardInterrupt:
            print(moment, first_operation().cpu().tolist() == [[0.25] * 4] * 2, flush=True)
        os._exit(0)
    os.wait()
"""


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "kernels")])}
    found = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], env=environment, timeout=120, check=False, text=True,
                           capture_output=True)
    return found.stdout + found.stderr


@pytest.mark.parametrize(("device", "moments"), [
    ("cpu", ["numba", "numba.core.types.npytypes", "lucid_kernels.cpu.runtime.compiler"]),
    ("gpu", ["lucid_kernels.cuda.runtime.launch", "lucid_kernels.cuda.reduction.softmax"])])
def test_interrupted_imports(device: str, moments: list[str]) -> None:
    if device == "gpu" and not lucid.gpu.is_available():
        pytest.skip("neither a GPU nor the simulator")
    assert run(device, *moments).splitlines() == [f"{moment} True" for moment in moments]


def test_numba_is_imported_where_ctrl_c_waits() -> None:
    """Each package of kernels does so first, but for those whose modules need no Numba, or come after others."""
    for init in (ROOT / "kernels" / "lucid_kernels" / "cpu").glob("*/__init__.py"):
        assert ("import numba_import" in init.read_text()) == (init.parent.name not in ("arrays", "matmul", "runtime")), init
