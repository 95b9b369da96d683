"""Serial loops in pieces of large arrays: all rows, once each, and which kernel does it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu import _streaming
from lucid_kernels.cpu._chunked import Chunked, block_and_chunk
from lucid_kernels.cpu._compile import jit
from lucid_kernels.cpu._layout import GRAIN
from lucid_kernels.cpu._streaming import BLOCK, LONGEST_ROW


@Chunked
@jit
def _double(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = x[i] + x[i]


def _scale(x: Any, factor: Any, y: Any, total: Any) -> None:
    """The rows of x times those of the factor, and the number of calls that wrote each."""
    for r in range(x.shape[0]):
        total[r] += 1
        for i in range(x.shape[1]):
            y[r, i] = x[r, i] * factor[i]


_scaled = Chunked(jit(_scale), whole=("factor",), result="y")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, GRAIN - 1, GRAIN, GRAIN + 1, 3 * GRAIN + BLOCK + 7])
def test_flat(size: int, dtype: Any) -> None:
    x, y, z = np.arange(size, dtype=dtype), np.empty(size, dtype), np.empty(size, dtype)
    _double.parallel(x, y, GRAIN)
    np.testing.assert_array_equal(y, 2 * x)
    _double.streaming(x, z, GRAIN, BLOCK)
    np.testing.assert_array_equal(z, y)


@pytest.mark.parametrize("width", [1, 3, 16, 100, 1000, BLOCK, 3 * BLOCK + 1])
@pytest.mark.parametrize("rows", [1, 2, 16, 65, 700])
def test_rows(rows: int, width: int) -> None:
    x, factor = np.arange(rows * width, dtype=np.float32).reshape(rows, width), np.arange(width, dtype=np.float32)
    block, chunk = block_and_chunk(width)
    for kernel, lengths in ((_scaled.parallel, (chunk,)), (_scaled.streaming, (chunk, block))):
        y, total = np.empty_like(x), np.zeros(rows)
        kernel(x, factor, y, total, *lengths)
        np.testing.assert_array_equal(y, x * factor)
        np.testing.assert_array_equal(total, 1)


def test_blocks_are_whole_vectors_where_they_can_be() -> None:
    for width in (1, 2, 7, 16, 100, 128, 1000, 1024, 1025, 4096, LONGEST_ROW - 1):
        block, chunk = block_and_chunk(width)
        assert chunk % block == 0
        assert chunk * width >= GRAIN
        assert block * width % 16 == 0 or 16 * width > GRAIN


def test_which_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new, aligned, large result is streamed."""
    used: list[str] = []
    loop = Chunked(_double.serial)
    loop.parallel = lambda *arguments: used.append("parallel")
    loop.streaming = lambda *arguments: used.append("streaming")
    memory = np.empty(GRAIN + 64, np.float32)
    x, y = np.empty(GRAIN, np.float32), memory[-memory.ctypes.data // 4 % 16 :][:GRAIN]
    monkeypatch.setattr(_streaming, "_X86", True)
    monkeypatch.setattr(_streaming, "_streamed_from", lambda: 2 * x.nbytes)
    loop.run(x, y, fresh=True)
    loop.run(x, y, fresh=False)
    loop.run(x[1:], y[1:], fresh=True)
    loop.run(x, y[1:], fresh=True)
    wide = LONGEST_ROW + 1
    loop.run(np.empty((2, wide)), np.empty((2, wide)), fresh=True)
    assert used == ["streaming", "parallel", "parallel", "parallel", "parallel"]
