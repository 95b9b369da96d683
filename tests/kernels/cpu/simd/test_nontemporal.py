"""Stores that bypass the caches: what they write, what the machine code has, and when kernels use them."""
from __future__ import annotations

import pathlib
import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.simd import nontemporal
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.nontemporal import block_for, fence, piece, stream_block, stream_row, streams, streams_rows


@numba.njit
def copy(source, target, start, count):
    block = block_for(target)
    for i in range(0, count, block.shape[0]):
        part = piece(source, i, block.shape[0])
        for j in range(block.shape[0]):
            block[j] = part[j]
        stream_block(block, target, start + i)
    fence()
    return block.shape[0]


each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def aligned(size: int, dtype: Any) -> np.ndarray:
    """Elements, all -1, of which the first begins a vector."""
    memory = np.full(size * np.dtype(dtype).itemsize + VECTOR_BYTES, 0, np.uint8)
    array = memory[-memory.ctypes.data % VECTOR_BYTES :][: size * np.dtype(dtype).itemsize].view(dtype)
    array.fill(-1)
    return array


def test_a_piece_is_one_of_a_flat_array() -> None:
    with pytest.raises(numba.TypingError, match="a piece of"):
        copy(np.ones(64)[::2], np.ones(32), 0, 32)


@each_dtype
def test_blocks(dtype: Any) -> None:
    """Numbers are copied as they are; beside them nothing is written."""
    numbers = [np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).smallest_subnormal, 1.5]
    source, target = np.resize(np.array(numbers, dtype), 1024), aligned(1024, dtype)
    lanes = VECTOR_BYTES // target.itemsize
    size = copy(source, target, 0, 0)
    assert size % lanes == 0
    for start in (0, lanes, 5 * lanes):
        for count in (0, size, 3 * size):
            target.fill(-1)
            copy(source, target, start, count)
            assert target[start : start + count].tobytes() == source[:count].tobytes()
            assert (target[:start] == -1).all()
            assert (target[start + count :] == -1).all()


@each_dtype
def test_machine_code(dtype: Any) -> None:
    """Whole vectors are streamed from registers, then comes the fence."""
    if not nontemporal._X86:
        pytest.skip("written for x86")
    copy(np.ones(64, dtype), aligned(64, dtype), 0, 0)
    array = numba.typeof(np.ones(1, dtype))
    assembly = copy.inspect_asm(next(types for types in copy.signatures if types[0] == array))
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("vmovntp", block)))
    assert len(re.findall(rf"vmovntp[sd]\s+{register}", loop)) >= nontemporal._VECTORS
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
    assert assembly.index("sfence") > assembly.rindex("vmovntp")


@numba.njit
def write_row(row, factor, target, start, following):
    stream_row(row, factor, target, start, following)
    fence()


@each_dtype
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 15, 16, 17, 33, 64, 100])
def test_rows(dtype: Any, count: int) -> None:
    """At each offset; beside a row nothing is written."""
    row, other = np.arange(1, count + 1, dtype=dtype), np.empty(4, dtype)
    for start in range(VECTOR_BYTES // row.itemsize + 1):
        target = aligned(160, dtype)
        expected = target.copy()
        expected[start:][:count] = 3 * row
        write_row(row, dtype(3), target, start, other)
        np.testing.assert_array_equal(target, expected)


def test_machine_code_of_rows() -> None:
    if not nontemporal._X86:
        pytest.skip("written for x86")
    row = np.ones(40, np.float32)
    write_row(row, np.float32(1), row.copy(), 0, row)
    assembly = write_row.inspect_asm(next(types for types in write_row.signatures if types[0] == numba.typeof(row)))
    assert re.search(rf"vmovntps\s+%{'z' if VECTOR_BYTES == 64 else 'y'}mm", assembly)
    assert assembly.index("sfence") > assembly.rindex("vmovntps")
    assert "prefetch" in assembly


def test_from_the_size_of_the_cache_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 1000)
    monkeypatch.setattr(nontemporal, "_X86", True)
    assert not streams(999)
    assert streams(1000)
    array = aligned(64, np.float32)
    assert streams(1000, array, array[VECTOR_BYTES // 4 :])
    assert not streams(1000, array, array[1:])
    assert streams_rows(1000, 1024) and streams_rows(1000, 4004)
    assert not streams_rows(1000, 64)
    assert not streams_rows(1000, 1028)  # rows that end within lines
    assert not streams_rows(1000, 1 << 20)
    monkeypatch.setattr(nontemporal, "_X86", False)
    assert not streams(1000)


def test_the_size_of_the_cache(tmp_path: pathlib.Path) -> None:
    assert nontemporal._cache_size(tmp_path) == nontemporal._USUAL_CACHE
    for number, text in enumerate(["48K\n", "1024K\n", "32M\n", "unknown\n"]):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(text)
    assert nontemporal._cache_size(tmp_path) == 32 << 20
