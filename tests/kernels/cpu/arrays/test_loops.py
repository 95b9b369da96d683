"""Serial loops in pieces of large arrays: all elements, once each, in vector registers, and which kernel does it."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.arrays.layout import GRAIN
from lucid_kernels.cpu.arrays.loops import Chunked
from lucid_kernels.cpu.runtime.jit import jit_exact, jit_interleaved
from lucid_kernels.cpu.runtime.tuning import PARALLEL_BYTES, PARALLEL_FROM
from lucid_kernels.cpu.simd import nontemporal
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from numba.core.caching import NullCache

from tests.kernels.cpu.assembly import of_float32


@Chunked
@jit_exact
def _sum_of_squares(c: Any, s: Any, y: Any) -> None:
    """With parameters named as the variables that a kernel might have."""
    for i in range(y.shape[0]):
        y[i] = c[i] * c[i] + s[i]


def aligned(size: int, dtype: Any) -> np.ndarray:
    """Elements, all -1, of which the first begins a vector."""
    memory = np.full(size + VECTOR_BYTES, -1, dtype)
    return memory[-memory.ctypes.data % VECTOR_BYTES // memory.itemsize :][:size]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 15, 16, 63, 64, 65, 1000, GRAIN - 1, GRAIN, GRAIN + 1, 3 * GRAIN + 100])
def test_all_elements(size: int, dtype: Any) -> None:
    """Beside them nothing is written."""
    a, b, y = np.arange(size, dtype=dtype) % 100, np.arange(size, dtype=dtype)[::-1].copy(), np.empty(size, dtype)
    _sum_of_squares.parallel(a, b, y)
    np.testing.assert_array_equal(y, a * a + b)
    z = aligned(size + 1, dtype)
    _sum_of_squares.streaming(a, b, z[:size])
    np.testing.assert_array_equal(z[:size], y)
    assert z[size] == -1


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("size", [GRAIN + 1, 3 * GRAIN + 100])
def test_a_number_for_all_elements(size: int, streamed: bool) -> None:
    three, x, y = np.float32(3), np.arange(size, dtype=np.float32), aligned(size, np.float32)
    _sum_of_squares.with_scalars("c", streamed=streamed)(three, x, y)
    np.testing.assert_array_equal(y, 9 + x)
    _sum_of_squares.run(x % 100, three, y, fresh=True)
    np.testing.assert_array_equal(y, (x % 100) ** 2 + 3)


def test_streamed_from_registers() -> None:
    if not nontemporal._X86:
        pytest.skip("written for x86")
    kernel: Any = Chunked(_sum_of_squares.serial).streaming
    kernel._cache = NullCache()  # a kernel from the cache shows no assembly
    x = np.ones(100, np.float32)
    kernel(x, x, aligned(100, np.float32))
    assembly = of_float32(kernel)
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("vmovntps", block)))
    assert len(re.findall(rf"vmovntps\s+{register}", loop)) >= nontemporal._VECTORS
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
    assert len(re.findall("prefetch", assembly)) >= 2 * nontemporal._VECTORS
    assert "sfence" in assembly


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000, GRAIN + 1, 3 * GRAIN + 100])
@pytest.mark.parametrize("shift", [-65, -1, 0, 1, 3])
def test_a_result_may_overlap_with_what_is_read(size: int, dtype: Any, shift: int) -> None:
    memory = np.arange(size + 130, dtype=dtype) % 100
    c, s, y = (memory[start:][:size] for start in (65, 65, 65 + shift))
    expected = c * c + s
    _sum_of_squares.run(c, s, y, fresh=False)
    np.testing.assert_array_equal(y, expected)


def test_in_place_in_registers() -> None:
    if not nontemporal._X86:
        pytest.skip("written for x86")
    kernel: Any = Chunked(_sum_of_squares.serial).replacing("c", "s")
    kernel._cache = NullCache()  # a kernel from the cache shows no assembly
    x = np.ones(100, np.float32)
    kernel(x, x, x)
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}|vmulps\s.*{register}", of_float32(kernel))) >= 4


def test_one_thread_for_small_arrays() -> None:
    """Up to half of an L2 cache where little is computed; earlier a thread is no help even where much is."""
    used: list[str] = []
    light, heavy = Chunked(_sum_of_squares.serial), Chunked(jit_interleaved(_sum_of_squares._function))
    for loop in (light, heavy):
        loop.serial = lambda *arrays: used.append("serial")
        loop.parallel = lambda *arrays: used.append("parallel")
    for loop, size in ((light, PARALLEL_BYTES // 12), (heavy, PARALLEL_FROM)):
        for count in (size, size + 1):
            x = np.empty(count - (loop is heavy), np.float32)
            loop.run(x, x, np.empty_like(x), fresh=True)
    assert used == ["serial", "parallel"] * 2


def test_which_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new, aligned, large result is streamed."""
    used: list[str] = []
    loop = Chunked(_sum_of_squares.serial)
    loop.parallel = lambda *arrays: used.append("parallel")
    loop.streaming = lambda *arrays: used.append("streaming")
    x, y = np.empty(GRAIN, np.float32), aligned(GRAIN, np.float32)
    loop.replacing = lambda *names: lambda *arrays: used.append(f"in the place of {names}")
    loop.parallel_from = 1000
    monkeypatch.setattr(nontemporal, "_X86", True)
    monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 3 * x.nbytes * 4 // 5)
    loop.run(x, x, y, fresh=True)
    loop.run(x, x, y, fresh=False)
    loop.run(x[1:], x[1:], y[:-1], fresh=True)
    monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
    loop.run(x[1:], x[1:], y[1:], fresh=True)
    loop.run(x, y, y, fresh=False)
    assert used == ["streaming", "parallel", "parallel", "parallel", "in the place of ('s',)"]


def test_compiled_before_it_is_needed() -> None:
    if not nontemporal._X86:
        pytest.skip("nothing is streamed")
    loop = Chunked(_sum_of_squares.serial)
    loop.compile_streaming(np.float64)
    kernel: Any = loop.streaming
    assert [str(kind.dtype) for kind in kernel.signatures[0]] == ["float64"] * 3
