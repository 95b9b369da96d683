"""Statistics of memory on both devices."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from lucid_kernels.cpu.runtime import malloc

import lucid
from lucid.backends import memory

needs_gnu = pytest.mark.skipif(malloc.statistics() is None, reason="the C library is not GNU's")
SIZE = 8 << 20
ROOT = pathlib.Path(__file__).parents[2]


def test_arrays_count_until_they_are_freed(uncollected: None) -> None:
    x = lucid.ones(SIZE // 4)
    before = memory.memory_allocated()
    memory.reset_peak_memory_stats()
    y = x.relu()
    if memory.memory_stats()["misses"] == 0:
        pytest.skip("no pool on this system")
    view = y[5:]
    del y
    assert memory.memory_allocated() - before == SIZE
    assert memory.memory_reserved() >= memory.max_memory_allocated() >= memory.memory_allocated()
    del view
    assert memory.memory_allocated() == before and memory.max_memory_allocated() == before + SIZE
    stats = memory.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and stats["allocated_bytes.all.peak"] == before + SIZE
    assert stats["reserved_bytes.all.current"] == memory.memory_reserved() >= before + SIZE
    assert stats["reserved_bytes.all.peak"] == memory.max_memory_reserved()
    memory.empty_cache()
    assert memory.memory_reserved() == before
    hits = stats["hits"]
    for _ in range(3):
        x.relu()
    assert memory.memory_stats()["hits"] >= hits + 2


def test_gradients_of_large_arrays_are_their_own() -> None:
    x, y = lucid.randn(SIZE // 4).requires_grad_(), lucid.randn(SIZE // 4).requires_grad_()
    (x + y).relu().sum().backward()
    assert x.grad is not None and y.grad is not None and not np.may_share_memory(x.grad.numpy(), y.grad.numpy())
    kept = x.grad.numpy().copy()
    y.grad.mul_(3.0)
    np.testing.assert_array_equal(x.grad.numpy(), kept)


def test_out_of_memory_names_the_operation_and_the_shape() -> None:
    x = lucid.ones(1).expand(1 << 50)
    for function in (lambda: x.relu(), lambda: x.sin(), lambda: x + x):
        with pytest.raises(MemoryError, match="(relu|sin|add).*1125899906842624"):
            function()


def _printed(script: str) -> list[int]:
    """The numbers that a process of its own prints."""
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT,
                            env={**os.environ, "PYTHONPATH": "kernels"})
    return [int(number) for number in result.stdout.split()]


SCRIPT = f"""
import lucid
from lucid.backends import memory
lucid.randn(4).relu()  # kernels and the pool are there
for limit in ({64 << 20}, 0):
    memory.set_limit(limit)
    memory.empty_cache()
    x = lucid.ones({SIZE // 4})
    y = x.relu()
    malloc = memory.memory_stats()["malloc.allocated_bytes"] + memory.memory_stats()["malloc.free_bytes"]
    reserved = malloc + memory.memory_reserved()
    del x, y
    malloc = memory.memory_stats()["malloc.allocated_bytes"] + memory.memory_stats()["malloc.free_bytes"]
    print(reserved - malloc - memory.memory_reserved())
"""


@needs_gnu
def test_the_limit_and_what_is_given_back() -> None:
    # In a process of its own: the heap of this one has holes of the size of the array, which it would fill.
    kept, given_back = _printed(SCRIPT)
    # The result of relu is the pool's. That of ones is malloc's, which gives back only what lies at the top of its heap.
    assert kept < SIZE and given_back >= SIZE
    with pytest.raises(ValueError, match="negative"):
        memory.set_limit(-1)


PEAK = """
import numpy as np
from lucid.backends import memory
before = memory.max_memory_resident()
x = np.ones(before + (16 << 20), np.uint8)
print(memory.max_memory_resident() - before)
"""


def test_the_peak_of_the_process() -> None:
    """Of a new one: that of all tests may have had gigabytes, which took 4 s to fill again."""
    (growth,) = _printed(PEAK)
    assert growth >= 8 << 20


def test_another_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malloc.sys, "platform", "darwin")
    assert not any(name.startswith("malloc") for name in memory.memory_stats())
    memory.empty_cache()
    assert memory.memory_reserved() == memory.memory_allocated()


def test_gpu(uncollected: None) -> None:
    if not lucid.gpu.is_available():
        pytest.skip(lucid.gpu.why_unavailable() or "")
    before = lucid.gpu.memory_allocated()
    x = lucid.ones(SIZE // 4, device="gpu")
    assert lucid.gpu.memory_allocated() - before >= SIZE
    assert lucid.gpu.memory_reserved() >= lucid.gpu.memory_allocated()
    del x
    assert lucid.gpu.memory_allocated() == before
    reserved = lucid.gpu.memory_reserved()
    lucid.gpu.empty_cache()  # which also lets go of what is only there to be used again, such as packed weights
    assert lucid.gpu.memory_allocated() <= before
    assert lucid.gpu.memory_allocated() <= lucid.gpu.memory_reserved() <= reserved


def test_without_a_gpu_there_is_no_gpu_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lucid.backends, "available", lambda: False)
    assert lucid.gpu.memory_allocated() == lucid.gpu.memory_reserved() == 0
    assert lucid.gpu.max_memory_allocated() == lucid.gpu.max_memory_reserved() == 0 and lucid.gpu.memory_stats() == {}
    lucid.gpu.reset_peak_memory_stats()
    lucid.gpu.empty_cache()
