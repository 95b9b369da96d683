"""What a result depends on: the machine, the versions, the threads, the commit."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys
from typing import Any

#: The variables that change what is measured begin so.
SETTINGS = ("ATEN_", "GLIBC_TUNABLES", "GOMP_", "KMP_", "LUCID_", "MALLOC_", "MKL_", "NUMBA_", "OMP_", "ONEDNN_", "OPENBLAS_",
            "TBB_")
#: A set of instructions -> the variables with which no library uses others: Numba, PyTorch, its oneDNN and MKL, and OpenBLAS.
INSTRUCTIONS = {"avx2": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma", "ATEN_CPU_CAPABILITY": "avx2",
                         "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def cpu_count() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name() -> str:
    """The model of the CPU, on x86 with its family and model number.

    Virtual machines shorten names: "AMD EPYC" may be a Zen 4 (family 25) or a Zen 5 (26), which computes twice as much a cycle.
    """
    try:
        with open("/proc/cpuinfo") as file:
            first = file.read().partition("\n\n")[0]
    except OSError:
        first = ""
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
    name = facts.get("model name") or platform.processor() or platform.machine()
    return f"{name} (family {facts['cpu family']}, model {facts['model']})" if {"cpu family", "model"} <= facts.keys() else name


def gpu() -> dict[str, Any]:
    """The name of the current GPU, its compute capability and memory, and the versions of its driver and of CUDA."""
    import cupy

    runtime, device = cupy.cuda.runtime, cupy.cuda.Device()
    try:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", f"--id={device.pci_bus_id}"]
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        driver = "unknown"
    return {"gpu": runtime.getDeviceProperties(device.id)["name"].decode(), "compute_capability": device.compute_capability,
            "gpu_memory": device.mem_info[1], "driver": driver, "cuda_driver": runtime.driverGetVersion(),
            "cuda_runtime": runtime.runtimeGetVersion(), "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion()))}


def commit() -> str:
    """The commit of the working tree, with a + when files differ from it."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def restricted() -> str | None:
    """The set of instructions that the variables of this process restrict all libraries to, None without one."""
    return next((name for name, variables in INSTRUCTIONS.items() if variables.items() <= os.environ.items()), None)


def child_environment(side: str) -> dict[str, str]:
    """The variables of a worker. PyTorch gets what makes it fastest: pinned threads, and no page faults from malloc.

    OPENBLAS_CORETYPE is dropped, unless all libraries are restricted: it makes OpenBLAS use kernels of an older CPU.
    """
    variables = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE" or restricted()}
    others = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]  # where packages may be installed
    variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(ROOT / "kernels"), str(ROOT), *others]))
    if side == "torch":
        places = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(cpu_count())
        variables |= {"OMP_PROC_BIND": "close", "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in places),
                      "MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000",
                      "MALLOC_TOP_PAD_": "67108864"}
    return variables


def libraries(side: str) -> dict[str, Any]:
    """The versions and threads of one side; called in its worker, after the runs."""
    def version(name: str) -> str | None:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    if side == "torch":
        import torch

        return {"torch": torch.__version__, "threads": torch.get_num_threads()}
    facts: dict[str, Any] = {name: version(name) for name in ("numpy", "numba", "tbb", "cupy-cuda13x", "cupy-cuda12x")
                             if version(name)}
    try:
        import threadpoolctl
    except ImportError:
        threadpoolctl = None
    if threadpoolctl is not None:
        facts["blas"] = [{key: info.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
                         for info in threadpoolctl.threadpool_info() if info.get("user_api") == "blas"]
    if "numba" in sys.modules:
        from lucid_kernels.cpu.runtime.threads import get_num_threads

        facts["threads"] = get_num_threads()
        try:
            facts["threading_layer"] = sys.modules["numba"].threading_layer()
        except ValueError:  # no parallel kernel has run
            facts["threading_layer"] = None
    return facts


def describe(device: str = "cpu") -> dict[str, Any]:
    """The machine, with its GPU where that is measured, and the commit."""
    settings = {name: value for name, value in sorted(os.environ.items())
                if name.startswith(SETTINGS) and name != "LUCID_CACHE_DIR"}  # a folder of the machine, which changes no time
    core = os.environ.get("OPENBLAS_CORETYPE")
    return {**(gpu() if device == "gpu" else {}), "cpu": cpu_name(), "cpus": cpu_count(), "machine": platform.machine(),
            "system": platform.system(), "libc": " ".join(platform.libc_ver()), "python": platform.python_version(),
            "commit": commit(), "settings": settings, "instructions": restricted(),
            "OPENBLAS_CORETYPE": f"{core} (not used)" if core and not restricted() else core}
