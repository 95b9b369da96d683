"""The copies of planes in LLVM IR: their zeros, and what they neither read nor write."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.convolution.direct.copy_microkernels import (
    copy_fourth_windows,
    copy_second_windows,
    copy_shifted,
    copy_windows,
    interleave_rows,
    pack_block,
)
from lucid_kernels.cpu.convolution.direct.microkernels import ROWS


@numba.njit
def copy(source, start, pitch, target, target_pitch, planes, first, last, size, width, left, right):
    copy_shifted(source, start, pitch, target, 3, target_pitch, planes, first, last, size, width, left, right)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("width", "left", "right"), [(1, 0, 0), (3, 1, 0), (5, 5, 0), (8, 0, 2), (16, 1, 1), (19, 0, 19), (40, 3, 0)])
@pytest.mark.parametrize(("first", "last", "size"), [(0, 0, 0), (0, 1, 1), (2, 14, 17), (0, 33, 33), (18, 64, 64), (7, 7, 40)])
def test_copy_shifted(dtype: Any, width: int, left: int, right: int, first: int, last: int, size: int) -> None:
    """Three planes; what must not be read is NaN, what must not be written stays -1."""
    columns = np.arange(size) % width
    inside = (np.arange(size) >= first) & (np.arange(size) < last) & (columns >= left) & (columns < width - right)
    source, target = np.full(300, np.nan, dtype), np.full(300, -1, dtype)
    expected = target.copy()
    for p in range(3):
        values = np.arange(1, size + 1) + 100 * p
        source[5 + 90 * p :][:size][inside] = values[inside]
        expected[3 + 95 * p :][:size] = np.where(inside, values, 0)
    copy(source, 5, 90, target, 95, 3, first, last, size, width, left, right)
    np.testing.assert_array_equal(target, expected)


def copying(microkernel: Any) -> Any:
    @numba.njit
    def call(source, start, row_pitch, source_pitch, offset, width, target, target_pitch, planes, rows, first, last, count):
        microkernel(source, start, row_pitch, source_pitch, offset, width, target, 3, target_pitch, planes, rows, first, last,
                    count)

    return call


WINDOWS = {1: copying(copy_windows), 2: copying(copy_second_windows), 4: copying(copy_fourth_windows)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", WINDOWS)
@pytest.mark.parametrize(("first", "last"), [(0, 4), (1, 3), (2, 2), (0, 0)])
@pytest.mark.parametrize(("offset", "width", "count"), [(0, 1, 1), (-1, 7, 7), (2, 19, 17), (-20, 5, 33), (-2, 70, 36), (-3, 130, 35)])
def test_copy_windows(dtype: Any, stride: int, first: int, last: int, offset: int, width: int, count: int) -> None:
    """Two planes; what must not be read is NaN, what must not be written stays -1."""
    source, target = np.full(1500, np.nan, dtype), np.full(400, -1, dtype)
    expected = target.copy()
    for p in range(2):
        whole = np.zeros((4, count))
        for r in range(first, last):
            for i in range(count):
                if 0 <= stride * i + offset < width:
                    whole[r, i] = source[50 + 700 * p + 160 * r + stride * i] = 1 + 100 * r + i + 1000 * p
        expected[3 + 160 * p :][: 4 * count] = whole.reshape(-1)
    WINDOWS[stride](source, 50, 160, 700, offset, width, target, 160, 2, 4, first, last, count)
    np.testing.assert_array_equal(target, expected)


@numba.njit
def interleave(even, evens, odd, odds, target, pitch, rows, width):
    interleave_rows(even, 2, evens, odd, 1, odds, target, 3, pitch, rows, width)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 7, 16, 31, 32, 33, 70])
@pytest.mark.parametrize("missing", ["none", "even", "odd", "both"])
def test_interleave_rows(dtype: Any, width: int, missing: str) -> None:
    """Three rows; beside them nothing is written."""
    evens = 0 if missing in ("even", "both") else (width + 1) // 2
    odds = 0 if missing in ("odd", "both") else width // 2
    even, odd = np.arange(1, 3 * evens + 3).astype(dtype), np.arange(-1, -3 * odds - 2, -1).astype(dtype)
    target = np.full(3 * 75 + 3, np.nan, dtype)
    expected = target.copy()
    for row in range(3):
        place = expected[3 + 75 * row :][:width]
        place[:] = 0
        if evens:
            place[::2] = even[2 + row * evens :][:evens]
        if odds:
            place[1::2] = odd[1 + row * odds :][:odds]
    interleave(even, evens, odd, odds, target, 75, 3, width)
    np.testing.assert_array_equal(target, expected)


@numba.njit
def pack(source, pitch, target, count):
    pack_block(source, 2, pitch, target, 3, count)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 3, 8, 15, 16, 17, 40, 63])
def test_pack_block(dtype: Any, count: int) -> None:
    """What must not be read is NaN, what must not be written stays -1."""
    rows = np.arange(ROWS * count).reshape(ROWS, count)
    source = np.full((ROWS, 70), np.nan, dtype)
    source[:, 2 : 2 + count] = rows
    target = np.full(ROWS * 64 + 3, -1, dtype)
    expected = target.copy()
    expected[3:][: rows.size] = rows.T.reshape(-1)
    pack(source.reshape(-1), 70, target, count)
    np.testing.assert_array_equal(target, expected)
