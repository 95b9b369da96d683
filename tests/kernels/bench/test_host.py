"""The host's time of GPU operations: the stub builds, counts what is called, and says what it lacks. Times are never asserted."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import subprocess
import sys
from importlib.machinery import PathFinder
from typing import Any

import pytest

from bench.host import report, stub

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILDS = pytest.mark.skipif(stub.problem() is not None and "cupy" not in str(stub.problem()), reason="needs Linux on x86-64 and gcc")
#: The real CuPy: in a process with the simulator `cupy` is its stand-in.
REAL = PathFinder.find_spec("cupy_backends") is not None


@BUILDS
def test_the_driver_counts_what_is_called(tmp_path: pathlib.Path) -> None:
    library = ctypes.CDLL(str(stub._build(stub.SOURCE.read_text(), tmp_path, "libcuda.so.1")))
    installed = stub.Stub(library)
    assert library.cuLaunchKernel(*[None] * 11) == 0
    address = ctypes.c_void_p()
    assert library.rt_cudaMalloc(ctypes.byref(address), ctypes.c_size_t(16)) == 0
    assert library.rt_cudaMemcpy(address, b"0123456789abcdef", ctypes.c_size_t(16), 1) == 0
    assert ctypes.string_at(address, 16) == b"0123456789abcdef"
    assert installed.counts() == {"launches": 1, "products": 0, "allocations": 1, "copies": 1}
    assert set(installed.counts().values()) == {0}


@BUILDS
def test_a_driver_function_is_found_by_name_and_an_unknown_one_succeeds(tmp_path: pathlib.Path) -> None:
    library = ctypes.CDLL(str(stub._build(stub.SOURCE.read_text(), tmp_path, "libcuda.so.1")))
    found = ctypes.c_void_p()
    for name, expected in (("cuInit", "cuInit"), ("cuModuleGetGlobal", "cuModuleGetGlobal_v2"), ("cuNew", "stub_success")):
        assert library.cuGetProcAddress(name.encode(), ctypes.byref(found), 13000, ctypes.c_uint64(0)) == 0
        assert found.value == ctypes.cast(getattr(library, expected), ctypes.c_void_p).value


@BUILDS
def test_a_library_counts_products_alone(tmp_path: pathlib.Path) -> None:
    driver = stub._build(stub.SOURCE.read_text(), tmp_path, "libcuda.so.1")
    counting = ctypes.CDLL(str(driver), ctypes.RTLD_GLOBAL)
    source = stub._library({"cublasSgemm_v2", "cublasGemmStridedBatchedEx", "cublasCreate_v2"})
    library = ctypes.CDLL(str(stub._build(source, tmp_path, "libcublas.so.13", driver=True)))
    for name in ("cublasSgemm_v2", "cublasGemmStridedBatchedEx", "cublasCreate_v2"):
        assert getattr(library, name)() == 0
    assert stub.Stub(counting).counts()["products"] == 2


def test_without_cupy_the_table_is_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stub, "problem", lambda: "install it")
    assert report.report() == ({"missing": "install it"}, "install it")


def test_a_table_says_that_it_is_no_time_of_a_gpu() -> None:
    row: dict[str, Any] = {"kind": "operations", "name": "relu", "us": 9.26, "quartile_us": 9.5, **dict.fromkeys(stub.COUNTERS, 1)}
    text = report.table([row])
    assert "no time of a kernel, a driver or a GPU" in text
    assert "relu" in text and "9.3" in text


def test_the_time_of_a_call_is_that_of_its_blocks() -> None:
    calls = []
    fastest, quartile = report.measure(lambda: calls.append(None), 1e-4, 8)
    assert 0 <= fastest <= quartile
    assert len(calls) > 8


@BUILDS
@pytest.mark.skipif(not REAL, reason="needs CuPy")
def test_cupy_and_lucid_run_on_the_stub() -> None:
    """One launch for relu, one product and one sum for linear with bias, and no result that could be taken for one."""
    program = """
import json
from bench.host import stub
installed = stub.install()
from bench.host import cases
from bench.library import Library
found = {}
for name, call in cases.operations(Library("lucid", "gpu")):
    call()
    installed.counts()
    call()
    found[name] = installed.counts()
print(json.dumps(found))
"""
    environment = {name: value for name, value in os.environ.items() if name != "LUCID_GPU"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["relu"] == {"launches": 1, "products": 0, "allocations": 0, "copies": 0}
    assert found["x @ y"]["products"] == 1
    assert found["linear with bias"]["products"] == 1
    assert found["reshape"] == dict.fromkeys(stub.COUNTERS, 0)
