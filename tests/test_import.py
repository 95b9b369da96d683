"""`import lucid` stays light: what is heavy comes with the first operation that needs it. Its time is in the bench."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEAVY = ("numba", "llvmlite", "cupy", "torch", "scipy", "matplotlib", "sklearn", "pandas", "tqdm", "lucid_kernels.cpu.convolution.conv2d")


def run(code: str, **variables: str) -> str:
    """What `code` prints in a fresh interpreter."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("gpu", ["", "simulated"])
def test_import_is_light(gpu: str) -> None:
    heavy = run(f"import sys, lucid; print(*[name for name in {HEAVY} if name in sys.modules])", LUCID_GPU=gpu)
    assert heavy == ""


def test_numpy_functions_need_no_numba() -> None:
    code = "import sys, lucid; x = lucid.ones(3); (x * 2 + x).sum().item(); print('numba' in sys.modules)"
    assert run(code) == "False"


def test_asking_for_a_gpu_imports_nothing_that_is_not_there() -> None:
    code = "import sys, lucid; lucid.gpu.is_available(); print('numba' in sys.modules, 'torch' in sys.modules)"
    assert run(code) == "False False"


def test_importing_lucid_prints_nothing() -> None:
    assert run("import lucid") == ""


def test_submodules_are_there_after_import() -> None:
    modules = ["lucid.nn", "lucid.optim", "lucid.autograd", "lucid.gpu", "lucid.data", "lucid.func"]
    assert run(f"import lucid; print(*[module.__name__ for module in ({', '.join(modules)})])").split() == modules
