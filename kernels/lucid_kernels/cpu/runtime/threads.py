"""How many threads kernels use, and the library that runs them. Imports no Numba.

The default is the number of CPUs that this process may use (affinity and the quota of its control group), or what
NUMBA_NUM_THREADS or OMP_NUM_THREADS say.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import pathlib
import platform
import sys
import sysconfig
import warnings


def affine_cpus() -> int:
    """The CPUs that threads of this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_cpus() -> int:
    """The CPUs that this process may use: its affinity, and the quota of its control group, rounded up."""
    return max(1, math.ceil(min(affine_cpus(), _quota(pathlib.Path("/sys/fs/cgroup")))))


def _quota(root: pathlib.Path) -> float:
    """The CPUs that the control group at `root` may use at a time (version 2 or 1); inf without a limit."""
    for quota_file, period_file in (("cpu.max", None), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = (root / quota_file).read_text().split()
            period = float((root / period_file).read_text() if period_file else words[1])
            quota = math.inf if words[0] == "max" else float(words[0])
        except (OSError, ValueError, IndexError):
            continue
        if quota > 0 and period > 0:  # -1 is no limit
            return quota / period
    return math.inf


def default_threads() -> int:
    """NUMBA_NUM_THREADS, else OMP_NUM_THREADS (its first number), else the CPUs that this process may use."""
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        number = os.environ.get(variable, "").split(",")[0].strip()
        if number.isdigit() and int(number) > 0:
            return int(number)
    return available_cpus()


#: Compiled kernels read the number where it lies (`parallel_loop.launch`).
THREADS = ctypes.c_int32(default_threads())
#: At most as many of them: Numba's workqueue hangs if it shall use more threads than it has started.
STARTED_THREADS = ctypes.c_int32((1 << 31) - 1)


def set_numba_threads(number: int) -> None:
    """For the loops that are left to Numba. `jit` puts another function here when it has chosen the layer; Numba would start
    one of its own choice before.
    """


def get_num_threads() -> int:
    """The threads that share the work of a kernel."""
    return THREADS.value


def set_num_threads(number: int) -> None:
    """Use `number` threads, at least 1, for kernels from now on, in the whole process."""
    THREADS.value = number
    set_numba_threads(number)


@functools.cache
def load_tbb() -> bool:
    """Load the TBB library of the `tbb` wheel, which lies where the loader does not look, before Numba looks for it."""
    names = ["libtbb.so.12", "libtbb.12.dylib", "tbb12.dll"]
    folders = dict.fromkeys((sysconfig.get_path("data"), sysconfig.get_config_var("base") or ""))
    paths = [path for folder in folders for pattern in ("libtbb.so.12*", "libtbb.12*.dylib")
             for path in sorted(pathlib.Path(folder, "lib").glob(pattern))]  # fmt: skip
    for path in (*map(str, paths), *names):
        try:
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return True
    return False


def choose_layer(chosen: str) -> str:
    """The threading layer for Numba, where the user's setting NUMBA_THREADING_LAYER is `chosen`; warns if that should be better.

    It runs what the thread pool does not (`thread_pool.py`). TBB takes 9 us until all threads compute. Without it, Numba's own
    workqueue takes 50 to 90 us, and two threads must not launch kernels at once (`GuardedKernel`). GNU OpenMP would stall for
    8 ms between kernels and end processes that fork. On a single CPU TBB has no thread of its own: after a fork the parent
    process never ends, since it waits at exit for a task of Numba's layer that no thread has run. With nothing to share the
    workqueue costs nothing there.
    """
    if chosen in ("default", "tbb") and affine_cpus() == 1:
        if chosen == "tbb":
            warnings.warn("NUMBA_THREADING_LAYER=tbb is not used on a single CPU, where a process that forks would never end; "
                          "leave the variable out, or give the process more CPUs", RuntimeWarning, stacklevel=2)  # fmt: skip
        return "workqueue"
    loaded = load_tbb()
    if chosen != "default":
        return chosen
    if loaded:
        return "tbb"
    if sys.platform.startswith("linux") and platform.machine() == "x86_64":
        warnings.warn("TBB is not installed: kernels of several Python threads wait for each other, and those of forked "
                      "processes start ten times as slowly; pip install tbb", RuntimeWarning, stacklevel=2)  # fmt: skip
    return "workqueue"
