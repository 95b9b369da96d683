"""Stores that bypass the caches: every offset and length, what the machine code has, and when kernels use them."""
from __future__ import annotations

import pathlib
import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu import _streaming
from lucid_kernels.cpu._microkernels import VECTOR_BYTES
from lucid_kernels.cpu._streaming import fence, stream, streams


@numba.njit
def copy(source, source_start, target, target_start, count):
    stream(source, source_start, target, target_start, count)
    fence()


each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@each_dtype
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 100])
def test_each_offset(dtype: Any, count: int) -> None:
    """Beside the copy nothing is written."""
    source = np.arange(1, 201, dtype=dtype)
    for source_start in (0, 1, 5):
        for target_start in range(VECTOR_BYTES // np.dtype(dtype).itemsize + 1):
            target = np.full(160, -1, dtype)
            expected = target.copy()
            expected[target_start:][:count] = source[source_start:][:count]
            copy(source, source_start, target, target_start, count)
            np.testing.assert_array_equal(target, expected)


@each_dtype
def test_elements_between_multiples_of_their_size(dtype: Any) -> None:
    """As in a view of a file's bytes: no vector is aligned there."""
    source, memory = np.arange(70, dtype=dtype), np.zeros(80 * np.dtype(dtype).itemsize + 1, np.uint8)
    target = memory[1:].view(dtype)
    assert not target.flags.aligned
    copy(source, 0, target, 3, 70)
    np.testing.assert_array_equal(target[3:73], source)
    assert not target[:3].any()
    assert not target[73:].any()


@each_dtype
def test_numbers_are_copied_as_they_are(dtype: Any) -> None:
    source = np.tile(np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).smallest_subnormal], dtype), 20)
    target = np.empty_like(source)
    copy(source, 0, target, 0, source.size)
    assert source.tobytes() == target.tobytes()


@each_dtype
def test_machine_code(dtype: Any) -> None:
    """Whole vectors are streamed, then comes the fence."""
    if not _streaming._X86:
        pytest.skip("written for x86")
    copy(np.ones(1, dtype), 0, np.ones(1, dtype), 0, 1)
    array = numba.typeof(np.ones(1, dtype))
    assembly = copy.inspect_asm(next(types for types in copy.signatures if types[0] == types[2] == array))
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    streamed = list(re.finditer(rf"vmovntp[sd]\s+{register}", assembly))
    assert streamed
    assert assembly.index("sfence") > streamed[-1].start()


def test_from_the_size_of_the_cache_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_streaming, "_streamed_from", lambda: 1000)
    monkeypatch.setattr(_streaming, "_X86", True)
    assert not streams(999)
    assert streams(1000)
    monkeypatch.setattr(_streaming, "_X86", False)
    assert not streams(1000)


def test_the_size_of_the_cache(tmp_path: pathlib.Path) -> None:
    assert _streaming._cache_size(tmp_path) == _streaming._USUAL_CACHE
    for number, text in enumerate(["48K\n", "1024K\n", "32M\n", "unknown\n"]):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(text)
    assert _streaming._cache_size(tmp_path) == 32 << 20
