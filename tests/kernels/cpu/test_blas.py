"""Products on a chosen number of threads, and malloc's settings."""
from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from lucid_kernels.cpu import _memory, blas

needs_openblas = pytest.mark.skipif(blas.one_thread._threads is None, reason="NumPy uses another BLAS than OpenBLAS")


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((64, 512), (512, 64)), ((300, 200), (200, 300)), ((0, 3), (3, 2)),
                                    ((2, 3, 4), (4, 5)), ((4,), (4, 2)), ((2, 3, 4), (2, 4, 3))], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_product_is_numpys(shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(dtype) for shape in shapes)
    assert np.array_equal(blas.matmul(a, b), a @ b)


@needs_openblas
def test_threads_are_set_back_also_after_an_error_and_when_nested():
    get, _ = blas.one_thread._threads
    before = get()
    with blas.one_thread:
        assert get() == 1
        with blas.one_thread:
            assert get() == 1
        assert get() == 1
    assert get() == before
    with pytest.raises(ValueError), blas.one_thread:
        raise ValueError
    assert get() == before


@needs_openblas
def test_threads_are_set_back_when_users_overlap():
    get, _ = blas.one_thread._threads
    before = get()
    a = np.ones((64, 512), np.float32)

    def work() -> None:
        for _ in range(200):
            blas.matmul(a, a.T)

    users = [threading.Thread(target=work) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert get() == before and blas.one_thread._users == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is the GNU C library's")
def test_freed_memory_is_kept_and_a_users_setting_wins():
    def faults(**variables: str) -> int:
        code = ("import resource, numpy as np, lucid_kernels.cpu._compile\n"
                "def make():\n    np.ones(1 << 18, 'f4')\n"
                "make(); start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
                "for _ in range(100): make()\n"
                "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start)")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))} | variables
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        return int(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout)

    assert faults() < 1000 < 10_000 < faults(MALLOC_MMAP_THRESHOLD_="131072")


def test_nothing_is_set_on_other_systems(monkeypatch):
    monkeypatch.setattr(_memory.sys, "platform", "darwin")
    assert _memory.keep_freed_memory() is False
