"""Maxima of rows of windows in LLVM IR: against loops over pixels, what they do not write, and that they stay in registers."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.pooling.max_microkernels import max_row, max_row_2, max_row_3, max_row_4
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

from tests.kernels.cpu.assembly import of_float32


def compiled(microkernel: Any) -> Any:
    @numba.njit
    def call(x, height, width, kh, kw, dh, dw, top, left, y, indices, out_width):  # type: ignore[no-untyped-def]
        microkernel(x, 5, height, width, kh, kw, dh, dw, top, left, y, indices, 3, out_width)

    return call


ROWS = {1: compiled(max_row), 2: compiled(max_row_2), 3: compiled(max_row_3), 4: compiled(max_row_4)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", ROWS)
@pytest.mark.parametrize(("width", "out_width"), [(1, 1), (7, 5), (40, 17), (33, 70)])
@pytest.mark.parametrize(("kernel", "dilation", "top", "left"), [((1, 1), (1, 1), 0, 0), ((3, 3), (1, 1), -1, 1),
                                                                 ((2, 5), (2, 3), 2, 4), ((4, 1), (1, 1), 5, 2)])
def test_max_row(dtype: Any, stride: int, width: int, out_width: int, kernel: tuple[int, int], dilation: tuple[int, int],
                 top: int, left: int) -> None:
    """Pixels with NaN and -inf among them; around the plane is what would win."""
    height, rng = 6, np.random.default_rng(0)
    plane = rng.integers(-3, 4, (height, width)).astype(dtype)
    plane[rng.random(plane.shape) < 0.2] = -np.inf
    plane[rng.random(plane.shape) < 0.1] = np.nan
    x = np.full(5 + plane.size + 200, np.inf, dtype)
    x[5 : 5 + plane.size] = plane.reshape(-1)
    y, indices = np.full(out_width + 10, 77, dtype), np.full(out_width + 10, 77)
    ROWS[stride](x, height, width, *kernel, *dilation, top, left, y, indices, out_width)
    wanted, where = np.full_like(y, 77), np.full_like(indices, 77)
    for j in range(out_width):
        best, place = dtype(-np.inf), -1
        for a, b in np.ndindex(*kernel):
            row, column = top + a * dilation[0], stride * j + b * dilation[1] - left
            if 0 <= row < height and 0 <= column < width:
                value = plane[row, column]
                if value > best or np.isnan(value) or place < 0:
                    best, place = value, row * width + column
        wanted[3 + j], where[3 + j] = best, place
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(indices, where)


@pytest.mark.parametrize("stride", ROWS)
def test_maxima_stay_in_vector_registers(stride: int) -> None:
    test_max_row(np.float32, stride, 7, 5, (3, 3), (1, 1), -1, 1)
    assembly = of_float32(ROWS[stride])
    if VECTOR_BYTES != 64 or "vcmp" not in assembly:
        pytest.skip("written for AVX-512")
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: block.count("vcmpunord"))
    assert loop.count("%zmm") > 10
    assert not re.findall(r"vmov\w+\s+%zmm\d+, -?\d*\(%r[sb]p", loop)
