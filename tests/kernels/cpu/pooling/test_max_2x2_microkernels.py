"""Max pooling over 2x2 windows in LLVM IR: the same as the general loop, nothing written beside, and vectors all the way."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.pooling.max_2x2 import _expand_2x2_planes, _max_2x2_planes
from lucid_kernels.cpu.pooling.max_2x2_microkernels import CLIPPED, max_of_halves
from lucid_kernels.cpu.pooling.max_planes import _pool_planes
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

from tests.kernels.cpu.assembly import of_float32


@pytest.mark.parametrize("shape", [(4, 28, 28), (3, 10, 10), (2, 7, 13), (3, 32, 32), (2, 2, 32), (1, 3, 14), (5, 9, 3), (2, 4, 70),
                                   (3, 8, 8), (4, 2, 2), (0, 4, 10), (2, 1, 4), (2, 4, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_2x2(shape: tuple[int, int, int], dtype: Any) -> None:
    """Ties, NaN, infinities and odd sizes, as the general loop has them; the planes beside first..last stay as they are."""
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(dtype)
    for special in (np.nan, -np.inf, np.inf):
        x[rng.random(shape) < 0.1] = special
    first, last = min(1, shape[0]), max(shape[0] - 1, 0)
    pooled = (shape[0], shape[1] // 2, shape[2] // 2)
    found, wanted = ((np.full(pooled, -7, dtype), np.full(pooled, -7, np.int64)) for _ in range(2))
    _max_2x2_planes(x, False, *found, first, last)
    _pool_planes(x, 2, 2, 2, 2, 0, 0, 1, 1, *wanted, first, last)
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other)
    inner = slice(first, last)
    row, column = np.divmod(wanted[1][inner], max(1, shape[2]))
    for relu, closed in ((False, np.zeros_like(row, bool)), (True, wanted[0][inner] <= 0)):
        y, winners = np.full(pooled, -7, dtype), np.full(pooled, 9, np.uint8)
        _max_2x2_planes(x, relu, y, winners, first, last)
        np.testing.assert_array_equal(y[inner], np.where(closed, 0, wanted[0][inner]))
        np.testing.assert_array_equal(winners[inner], np.where(closed, CLIPPED, row % 2 * 2 + column % 2))
        assert (winners[:first] == 9).all() and (winners[last:] == 9).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expand_2x2(dtype: Any) -> None:
    """Rows of any number of windows, also where a row or column of pixels belongs to none; the planes beside stay as they are."""
    rng = np.random.default_rng(0)
    for width in range(1, 40):
        g = rng.standard_normal((4, 3, width // 2)).astype(dtype)
        g[rng.random(g.shape) < 0.1] = np.nan
        winners = rng.integers(0, CLIPPED + 1, g.shape).astype(np.uint8)
        found, wanted = np.full((4, 7, width), -7, dtype), np.full((4, 7, width), -7, dtype)
        _expand_2x2_planes(g, winners, found, 1, 3)
        wanted[1:3] = 0
        for position in range(4):
            pixels = wanted[1:3, position // 2 : 6 : 2, position % 2 : width // 2 * 2 : 2]
            pixels[...] = np.where(winners[1:3] == position, g[1:3], 0)
        np.testing.assert_array_equal(found, wanted)


@numba.njit
def pool(x, width, first, second, whole, y, indices):
    max_of_halves(x, (0, 4), width, (first, second), whole, False, y, (1, 9), indices, (100, 200))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("counts", [(2, 2), (1, 2), (2, 1), (2, 0)])
def test_masks(dtype: Any, counts: tuple[int, int]) -> None:
    """Whole vectors or masked ones: nothing but the windows is written, and nothing else read where the array ends."""
    lanes = VECTOR_BYTES // np.dtype(dtype).itemsize
    width = 6
    x = np.full(2 * width + 4 + lanes, np.nan, dtype)
    pixels = np.arange(8, dtype=dtype).reshape(2, 4)  # two windows of each stretch, the second one below the first in memory
    for start in (0, 4):
        for row in range(2):
            x[start + row * width :][: pixels.shape[1]] = pixels[row] + start
    y, indices = np.full((2, 20), -1, dtype), np.full((2, 20), -1)
    for whole in (False, True):
        pool(x, width, *counts, whole, y[int(whole)], indices[int(whole)])
    np.testing.assert_array_equal(y[0], y[1])
    np.testing.assert_array_equal(indices[0], indices[1])
    assert (y[0] != -1).sum() == (indices[0] != -1).sum() == sum(counts)


def test_vectors_without_stack_stores() -> None:
    test_masks(np.float32, (2, 2))
    assembly = of_float32(pool)
    if "vcmp" not in assembly or VECTOR_BYTES != 64:
        pytest.skip("written for AVX-512")
    assert re.search(r"vcmp\w+ps\s.*%zmm", assembly)
    assert not re.findall(r"vmov\w+\s+%zmm\d+, -?\d*\(%r[sb]p", assembly)
