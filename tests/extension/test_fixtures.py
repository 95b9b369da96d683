"""The fixtures and the command line, as somebody uses them who has installed the package."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from lucid_kernels import simulator

from lucid import kernels

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not simulator.available(), reason="the simulator needs g++ and CUDA's headers")
FILE = '''
import lucid
from lucid import extension as ext

SOURCE = """
__global__ void ends(const float* x, float* y, int columns) {
    __shared__ float last[32];
    last[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = last[31 - threadIdx.x];
}
"""
ends = ext.op("ends(x) -> y", gpu=ext.cuda(SOURCE, "ends", grid="rows", block=32), dtypes="float32")


def check_ends():
    x = lucid.randn(3, 32).to("gpu")
    assert lucid.equal(ends(x), x.flip(-1))
'''
TEST = '''
import lucid
from ends import check_ends
import cupy


def test_ends(gpu_schedule, simulated_gpu):
    assert simulated_gpu == "gpu"
    assert gpu_schedule.order in ("forward", "reverse", "shuffled")
    assert cupy.cuda.is_available()
    check_ends()
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ends.py").write_text(FILE)
    (tmp_path / "test_ends.py").write_text(TEST)
    return tmp_path


def test_the_plugin(folder):
    environment = {name: value for name, value in os.environ.items() if name != "LUCID_GPU" and not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "lucid.extension.fixtures", "-p", "no:cacheprovider", "test_ends.py"]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "4 passed" in run.stdout, run.stdout + run.stderr


def test_the_command_line(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file, page = str(folder / "ends.py"), folder / "page.html"
    assert kernels.main(["mutate", file, "--html", str(page)]) == 0
    assert "2 of 2 planted bugs caught" in capsys.readouterr().out
    assert "without __syncthreads" in page.read_text()
    (folder / "ends.py").write_text(FILE.replace("assert lucid.equal(ends(x), x.flip(-1))", "ends(x)").replace(
        "__syncthreads();", "__syncthreads();  // exempt: it is seen elsewhere"))
    assert kernels.main(["mutate", file, "--kinds", "barrier"]) == 0
    assert "0 of 0" in capsys.readouterr().out
    (folder / "ends.py").write_text(FILE.replace("31 - threadIdx.x", "threadIdx.x"))
    assert kernels.main(["check", file, "--arch", "sm_90"]) == 1
    assert "FAILED    check_ends" in capsys.readouterr().out
    (folder / "none.py").write_text("x = 1\n")
    assert kernels.main(["check", str(folder / "none.py")]) == 2
    assert "neither an operation" in capsys.readouterr().err


def test_resources_and_vectors(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("LUCID_CACHE_DIR", str(folder))
    command = [sys.executable, "-m", "lucid.kernels", "resources", str(folder / "ends.py"), "--arch", "sm_90"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if run.returncode == 0:  # there may be no NVRTC
        assert "128 bytes of shared memory" in run.stdout, run.stdout + run.stderr
    (folder / "sums.py").write_text(
        "import math\nimport numpy as np\nfrom lucid import extension as ext\n\n\n@ext.jit\ndef double(x, y):\n"
        "    for i in range(x.size):\n        y[i] = 2 * x[i]\n\n\n@ext.jit\ndef slow(x, y):\n    for i in range(x.size):\n"
        "        y[i] = math.erf(x[i])\n\n\ndef check_both():\n    x = np.ones(9, np.float32)\n    double(x, x)\n    slow(x, x)\n")
    assert kernels.main(["inspect", str(folder / "sums.py"), "--assembly"]) == 0
    text = capsys.readouterr().out
    assert "vectors   double" in text
    assert "use lucid.extension.math" in text
