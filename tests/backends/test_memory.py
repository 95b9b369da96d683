"""Statistics of memory on both devices."""
from __future__ import annotations

import gc
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from lucid_kernels.cpu import _memory

import lucid
from lucid.backends import memory

needs_gnu = pytest.mark.skipif(_memory.statistics() is None, reason="the C library is not GNU's")
SIZE = 8 << 20
ROOT = pathlib.Path(__file__).parents[2]


@needs_gnu
def test_arrays_count_until_they_are_freed() -> None:
    before = memory.memory_allocated()
    x = lucid.ones(SIZE // 4)
    during = memory.memory_allocated()
    assert SIZE <= during - before < SIZE + (1 << 20)
    assert memory.memory_reserved() >= during
    del x
    assert memory.memory_allocated() < before + (1 << 20)


SCRIPT = f"""
import lucid
from lucid.backends import memory
lucid.randn(4).relu()  # the first kernel sets the default
for limit in ({64 << 20}, 0):
    memory.set_limit(limit)
    memory.empty_cache()
    x = lucid.ones({SIZE // 4})
    reserved = memory.memory_reserved()
    del x
    print(reserved - memory.memory_reserved())
"""


@needs_gnu
def test_the_limit_and_what_is_given_back() -> None:
    # In a process of its own: the heap of this one has holes of the size of the array, which it would fill.
    kept, given_back = map(int, subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True,
                                               cwd=ROOT, env={**os.environ, "PYTHONPATH": "kernels"}).stdout.split())
    assert kept < SIZE <= given_back
    with pytest.raises(ValueError, match="negative"):
        memory.set_limit(-1)


def test_the_peak_of_the_process() -> None:
    before = memory.max_memory_resident()
    x = np.ones(before + (16 << 20), np.uint8)
    assert memory.max_memory_resident() >= before + (8 << 20)
    del x


def test_another_c_library_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory.sys, "platform", "darwin")
    for function in (memory.memory_allocated, memory.memory_reserved, lambda: memory.set_limit(1)):
        with pytest.raises(NotImplementedError, match="C library"):
            function()
    memory.empty_cache()


def test_gpu() -> None:
    if not lucid.gpu.is_available():
        pytest.skip(lucid.gpu.why_unavailable() or "")
    gc.collect()
    before = lucid.gpu.memory_allocated()
    x = lucid.ones(SIZE // 4, device="gpu")
    assert lucid.gpu.memory_allocated() - before >= SIZE
    assert lucid.gpu.memory_reserved() >= lucid.gpu.memory_allocated()
    del x
    assert lucid.gpu.memory_allocated() == before
    lucid.gpu.empty_cache()
    assert lucid.gpu.memory_reserved() >= before


def test_without_a_gpu_there_is_no_gpu_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lucid.gpu, "is_available", lambda: False)
    assert lucid.gpu.memory_allocated() == lucid.gpu.memory_reserved() == 0
    lucid.gpu.empty_cache()
