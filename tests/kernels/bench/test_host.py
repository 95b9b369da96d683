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


def _in_a_process(program: str) -> Any:
    """What a program prints last, run where CuPy is the real one, on the stub."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LUCID_GPU", "LUCID_GPU_PLANS")}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    begin = "import ctypes, json\nfrom bench.host import stub\ninstalled = stub.install()\n"
    done = subprocess.run([sys.executable, "-c", begin + program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@BUILDS
@pytest.mark.skipif(not REAL, reason="needs CuPy")
def test_cupy_and_lucid_run_on_the_stub() -> None:
    found = _in_a_process("""
from bench.host import cases
from bench.library import Library
found = {}
for name, call in cases.operations(Library("lucid", "gpu")):
    call(), call()
    installed.counts()
    call()
    found[name] = installed.counts()
print(json.dumps(found))
""")
    assert found["relu"] == {"launches": 1, "products": 0, "allocations": 0, "copies": 0}
    assert found["x @ y"]["products"] == 1
    assert found["linear with bias"] == {"launches": 0, "products": 1, "allocations": 0, "copies": 0}
    assert found["reshape"] == dict.fromkeys(stub.COUNTERS, 0)


@BUILDS
@pytest.mark.skipif(not REAL, reason="needs CuPy")
def test_a_plan_gives_the_driver_what_cupy_gives_it() -> None:
    """The same function, grid, block, shared memory, stream and arguments, into the same memory."""
    found = _in_a_process("""
import cupy, numpy as np
from lucid import backends
from lucid_kernels.cuda.runtime import recording
table = backends.gpu_module().TABLE
seen = []
kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
def launched(function, sizes, stream, parameters):
    seen.append((function, sizes[:7], stream, [ctypes.string_at(parameters[i], 4).hex() for i in range(count)]))
callback = kind(launched)
x, images = cupy.ones((6, 8), np.float32), cupy.ones((2, 8, 6, 6), np.float32)
row, weight, indices = cupy.ones(8, np.float32), cupy.ones((8, 8, 3, 3), np.float32), cupy.zeros((2, 8, 3, 3), np.int64)
window = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
calls = {
    "relu": ((x,), {}, x.copy()),
    "gelu_grad": ((x, x.copy()), {"approximate": "tanh"}, x.copy()),
    "softmax": ((x,), {"dim": 1}, x.copy()),
    "layer_norm": ((x, row, None), {"normalized_ndim": 1, "eps": 1e-5}, (x.copy(), x[:, 0].copy(), x[:, 0].copy())),
    "conv2d": ((images.astype(float), weight.astype(float), row.astype(float)), window, images.astype(float)),
    "max_pool2d_grad": ((indices.astype(np.float32), indices), {"input_shape": images.shape, "relu": False}, images.copy()),
}
same = {}
for name, (arrays, attributes, out) in calls.items():
    for _ in range(2):
        table[name](*arrays, **attributes, out=out)
    plain = table[name].__wrapped__
    with recording.Recorder() as record:
        plain(*arrays, **attributes, out=out)
    count = len(record.steps[0][3])
    del seen[:]
    installed.library.stub_watch(callback)
    table[name](*arrays, **attributes, out=out)
    plain(*arrays, **attributes, out=out)
    installed.library.stub_watch(None)
    same[name] = len(seen), seen[0] == seen[-1]
print(json.dumps(same))
""")
    assert found == {name: [2, True] for name in found}


@BUILDS
@pytest.mark.skipif(not REAL, reason="needs CuPy")
def test_memory_that_somebody_holds_is_not_given_out_again() -> None:
    found = _in_a_process("""
import cupy, numpy as np
from lucid import backends
relu = backends.gpu_module().TABLE["relu"]
x = cupy.ones(8, np.float32)
holds = {
    "nothing": lambda y: None, "slice": lambda y: y[2:], "reshape": lambda y: y.reshape(2, 4), "pointer": lambda y: y.data,
    "memory": lambda y: y.data.mem, "array": lambda y: cupy.ndarray((2,), np.float32, y.data),
    "strided": lambda y: cupy.lib.stride_tricks.as_strided(y, (2,), (8,)), "dlpack": lambda y: cupy.from_dlpack(y),
    "interface": lambda y: cupy.asarray(type("Other", (), {"__cuda_array_interface__": y.__cuda_array_interface__, "y": y})()),
}
relu(x)
given = {}
for name, hold in holds.items():
    y = relu(x)
    address, held = y.data.ptr, hold(y)
    del y
    given[name] = address in [z.data.ptr for z in [relu(x) for _ in range(32)]]
print(json.dumps(given))
""")
    # Who passes an interface on has to hold the array itself, as "interface" here does.
    assert found == dict.fromkeys(found, False) | {"nothing": True}
