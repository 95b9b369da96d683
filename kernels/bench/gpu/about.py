"""The machine, and what is missing on it: one row."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bench import environment
from bench.gpu.place import GPU, SIMULATOR, STUB, place

if TYPE_CHECKING:
    from bench.gpu.part import Time

#: What the batch needs beside lucid's own packages, and how to get it.
NEEDED = {"pytest": "pip install pytest (without it neither the gate nor the test suite runs)"}
WISHED = {"xdist": "pip install pytest-xdist (tests run on one processor without it)",
          "pytest_timeout": "pip install pytest-timeout (a test that hangs ends its part without it)",
          "tqdm": "pip install tqdm (no bar without it)",
          "torch": "PyTorch with CUDA (no ratios without it)"}


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """The environment, the packages that are missing, and whether PyTorch sees the GPU."""
    missing = [text for name, text in (NEEDED | WISHED).items() if importlib.util.find_spec(name) is None]
    facts: dict[str, Any] = {"place": place(), "missing": missing, "torch_cuda": False,
                             "pytest": importlib.util.find_spec("pytest") is not None,
                             "xdist": importlib.util.find_spec("xdist") is not None,
                             "timeout": importlib.util.find_spec("pytest_timeout") is not None}
    if place() == SIMULATOR:
        yield facts | {"environment": environment.describe() | {"gpu": "simulated", "compute_capability": "90"}}
        return
    problem = _problem()
    if problem is not None:
        yield facts | {"problem": problem}
        return
    if place() == STUB:
        yield facts | {"environment": environment.describe() | {"gpu": "stub", "compute_capability": "90"}}
        return
    about = environment.describe("gpu")
    if importlib.util.find_spec("torch"):
        import torch

        facts["torch_cuda"] = torch.cuda.is_available()
        facts["torch"] = torch.__version__
        if not facts["torch_cuda"]:
            missing.append("PyTorch is there but sees no GPU: no ratios")
    if shutil.which("g++") is None:
        missing.append("g++ (the simulator's own tests are skipped without it)")
    yield facts | {"environment": about}


def _problem() -> str | None:
    """Why CuPy cannot be used here, and what to do; None if it can."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is missing: pip install cupy-cuda13x (or cupy-cuda12x, by the driver's CUDA)"
    try:
        import cupy

        if not cupy.cuda.runtime.getDeviceCount():
            return "CuPy finds no GPU"
        if place() != GPU:
            return None
        kernel = cupy.RawKernel('#include <cuda_fp16.h>\nextern "C" __global__ void f(int* x) { *x = sizeof(__half); }', "f")
        x = cupy.zeros(1, cupy.int32)
        kernel((1,), (1,), (x,))
        if int(x[0]) != 2:
            return f"a kernel of one thread gives {int(x[0])} instead of 2"
    except Exception as error:
        return (f"CuPy does not work here: {type(error).__name__}: {error}. It needs NVIDIA's driver, cuBLAS, and NVRTC with "
                "CUDA's headers: pip install 'cupy-cuda13x[ctk]', or install CUDA's toolkit")
    return None
