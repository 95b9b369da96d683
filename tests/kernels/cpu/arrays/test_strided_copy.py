"""Copies of arrays with any strides: the same elements as NumPy's, nothing written beside them, and tiles in registers."""
from __future__ import annotations

import itertools
import re
from typing import Any

import ml_dtypes
import numba
import numpy as np
import pytest
from lucid_kernels.cpu.arrays import strided_copy
from lucid_kernels.cpu.simd import strided as loops
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

DTYPES = [np.bool_, np.int8, np.float16, ml_dtypes.bfloat16, np.float32, np.int64, np.complex64, np.complex128]
SHAPES = [(), (1,), (7,), (70000,), (40, 50), (16, 16), (3, 1000), (1000, 3), (33, 17, 65), (2, 3, 20, 36), (1, 5, 1, 70),
          (0, 4), (2, 1, 90, 7, 5)]


def filled(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(0, 100, shape).astype(dtype)


def check(source: np.ndarray) -> None:
    """Into a part of an array, of which the rest stays as it is."""
    around = np.full(tuple(length + 2 for length in source.shape), 77).astype(source.dtype)
    expected = around.copy()
    inside = (..., *(slice(1, -1),) * source.ndim)
    expected[inside] = source
    strided_copy.copy_into(around[inside], source)
    np.testing.assert_array_equal(around, expected)
    whole = np.empty_like(source, order="C")
    strided_copy.copy_into(whole, source)
    np.testing.assert_array_equal(whole, source)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_permutations(shape: tuple[int, ...], dtype: Any) -> None:
    x = filled(shape, dtype)
    for axes in itertools.islice(itertools.permutations(range(len(shape))), 24):
        check(x.transpose(axes))


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_any_strides(dtype: Any) -> None:
    x = filled((40, 30, 50), dtype)
    views = [x[::2], x[:, ::-1], x[..., ::-1], x[..., ::3], x[::-1, 5:, 7:].transpose(2, 0, 1), x[:, :1], x[3].T,
             x[5:9, ..., 3:7], np.broadcast_to(x[:, :1], (40, 9, 50)), np.broadcast_to(x[0, 0, 0], (30, 50)),
             np.broadcast_to(x[0], (4, 30, 50)).T]
    for view in views:
        check(view)


@pytest.mark.parametrize("offset", [1, 3, 4])
def test_addresses_that_are_no_multiples(offset: int) -> None:
    count = 300 * 200
    memory = np.zeros(4 * count + 8, np.uint8)
    x = memory[offset : offset + 4 * count].view(np.float32).reshape(300, 200)
    x[...] = filled(x.shape, np.float32)
    check(x.T)
    target = np.zeros(4 * count + 8, np.uint8)[offset : offset + 4 * count].view(np.float32).reshape(200, 300)
    strided_copy.copy_into(target, x.T)
    np.testing.assert_array_equal(target, x.T)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_one_element(dtype: Any, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strided_copy, "streams", lambda moved: stream)
    numbers = filled((40, 1), dtype)
    for length in (1, 2, 15, 16, 17, 63, 64, 65, 1000, 20000):
        check(np.broadcast_to(numbers, (40, length)))
    check(np.broadcast_to(numbers[3, 0], (300007,)))
    check(np.broadcast_to(numbers[:2, None], (2, 150001, 1)).transpose(1, 0, 2))


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("shape", [(64, 48, 80), (63, 47, 81)])
def test_streamed(axes: tuple[int, ...], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strided_copy, "streams", lambda moved: True)
    for dtype in (np.uint8, np.float32, np.float64):
        check(filled(shape, dtype).transpose(axes))


@pytest.mark.parametrize("shape", [(300, 500), (3, 900, 1000)])
def test_copy_is_row_major(shape: tuple[int, ...]) -> None:
    x = filled(shape, np.float32).T
    y = strided_copy.copy(x)
    assert y.flags.c_contiguous and y.shape == x.shape
    np.testing.assert_array_equal(y, x)


def test_dimensions_are_merged() -> None:
    x = filled((4, 5, 6, 7), np.float32)
    target = np.empty((4, 6, 7, 5), np.float32)
    assert strided_copy.dimensions(target, x.transpose(0, 2, 3, 1), 4) == [(4, 840, 840), (42, 20, 4), (5, 4, 168)]
    assert strided_copy.dimensions(x, x, 4) == [(840, 4, 4)]


@numba.njit
def tiles(kind, source, target):
    loops.copy_tiles(kind, source, 64, target, 64, 1, 0, False)


def test_tiles_stay_in_registers() -> None:
    x, y = (np.zeros((64, 16), np.float32) for _ in range(2))
    tiles(np.empty(0, np.uint32), x.ctypes.data, y.ctypes.data)
    assembly = tiles.inspect_asm(tiles.signatures[0])
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    if register not in assembly:
        pytest.skip("written for x86")
    blocks = re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE)
    block = max(blocks, key=lambda block: len(re.findall(rf"v(?:perm|unpck|shuf)\w+\s.*{register}", block)))
    assert len(re.findall(rf"v(?:perm|unpck|shuf|blend)\w+\s.*{register}", block)) >= 2 * loops.side(4)
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", block)
