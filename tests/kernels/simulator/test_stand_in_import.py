"""``import cupy`` gives the stand-in, in any order, once LUCID_GPU=simulated is set and lucid is imported."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

from .conftest import NEEDS_COMPILER

ROOT = pathlib.Path(__file__).resolve().parents[3]
USER_MODULE = """
import cupy as cp
from cupy import ElementwiseKernel, RawKernel, asnumpy, ndarray
from cupy.cuda import Device, Event, Graph, MemoryPool, Stream, runtime
from cupy.cuda.stream import get_current_stream
from cupy.linalg import norm
from cupy.random import RandomState
from cupyx.profiler import time_range
import cupy.fft
import cupyx

assert cp.__simulated__ and cupy.fft.rfft(cp.ones(4)).get()[0] == 4 and float(norm(cp.ones(4))) == 2
assert cupyx.rsqrt(cp.full(1, 4.0)).get()[0] == 0.5 and runtime.getDeviceCount() == 1
"""


def run(folder: pathlib.Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, in `folder`, whose modules it can import."""
    (folder / "user_module.py").write_text(USER_MODULE)
    path = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "kernels")])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "LUCID_GPU": "simulated", "PYTHONPATH": path, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def succeed(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stderr


ORDERS = {
    "before the first use of the GPU": "import lucid, user_module",
    "from a submodule first": "import lucid; from cupy.cuda.runtime import getDeviceCount; import user_module",
    "cupyx first": "import lucid, cupyx, user_module",
    "after the first use": "import lucid; lucid.ones(2, device='gpu'); import user_module",
    "between": "import lucid, cupy; assert isinstance(cupy.asarray(lucid.ones(2, device='gpu')), cupy.ndarray)",
}


@NEEDS_COMPILER
@pytest.mark.parametrize("script", ORDERS.values(), ids=ORDERS)
def test_any_order(tmp_path: pathlib.Path, script: str) -> None:
    succeed(run(tmp_path, script))


def test_nothing_is_imported_before_it_is_used(tmp_path: pathlib.Path) -> None:
    succeed(run(tmp_path, "import sys, lucid; assert not {'cupy', 'cupyx'} & set(sys.modules)"))


def test_workers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "work.py").write_text("import lucid\nimport user_module\ndef work(x): return user_module.cp.__simulated__\n")
    script = """
        import multiprocessing, work
        if __name__ == "__main__":
            for method in ("spawn", "fork"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    assert pool.map(work.work, [0]) == [True]
    """
    succeed(run(tmp_path, script))


def test_an_installed_cupy_without_a_device_is_passed_over(tmp_path: pathlib.Path) -> None:
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("raise ImportError('libcuda.so.1 is missing')")
    succeed(run(tmp_path, "import lucid, user_module"))
    (tmp_path / "cupy" / "__init__.py").write_text("__version__ = '14.2.0'")
    (tmp_path / "cupy" / "linalg.py").write_text("raise ImportError('the installed one')")
    check = {"LUCID_SIMULATOR_CHECK_API": "0"}  # there is nothing to compare with in this one
    succeed(run(tmp_path, "import lucid, user_module", **check))
    succeed(run(tmp_path, "import cupy, lucid, user_module; assert not hasattr(cupy, '__simulated__')", **check))


def test_a_folder_that_happens_to_be_called_cupy(tmp_path: pathlib.Path) -> None:
    (tmp_path / "cupy").mkdir()
    succeed(run(tmp_path, "import lucid, user_module"))


def test_without_the_variable_nothing_changes(tmp_path: pathlib.Path) -> None:
    result = run(tmp_path, "import lucid, sys; from lucid_kernels.simulator import installed; sys.exit(installed())", LUCID_GPU="")
    succeed(result)
