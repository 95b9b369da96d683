"""The loops of batch normalisation over channels in LLVM IR: some channels of all samples, nothing written beside them."""
from __future__ import annotations

import math
import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.normalization import channel_microkernels as loops
from lucid_kernels.cpu.normalization.channel_loops import SUM_BYTES
from lucid_kernels.cpu.normalization.channel_parameters import BIAS, MEAN, ROWS, RSTD, SHIFT, SLOPE, WEIGHT
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

SHAPES = [(1, 3, 1), (5, 4, 7), (3, 6, 16), (40, 3, 16), (2, 5, 33), (9, 4, 64), (3, 3, 700), (2, 4, 5000)]
FIRST, LAST = 1, 3  # the channels that are computed


def arrays(shape: tuple[int, int, int], dtype: Any) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(sum(shape))
    x, g = rng.normal(0.5, 2.0, (2, *shape)).astype(dtype)
    return x, g, rng.normal(1.0, 0.5, (ROWS, shape[1])).astype(dtype)


def memory() -> np.ndarray:
    return np.empty((LAST - FIRST) * SUM_BYTES // 8)


def wide(numbers: np.ndarray, *rows: int) -> list[np.ndarray]:
    """Rows of the channels that are computed, to broadcast against (N, C, S)."""
    return [numbers[row, FIRST:LAST, None].astype(np.float64) for row in rows]


@numba.njit
def sums_of(g, x, y, numbers, gm, kind, memory):
    if kind == 0:
        loops.shifted_sums(x, FIRST, LAST, numbers, memory)
    elif kind == 1:
        loops.grad_sums(g, x, FIRST, LAST, numbers, memory)
    elif kind == 2:
        loops.recomputed_grad_sums(g, x, FIRST, LAST, numbers, memory)
    else:
        loops.masked_grad_sums(g, y, x, FIRST, LAST, numbers, gm, memory)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", range(4))
def test_sums(kind: int, shape: tuple[int, int, int], dtype: Any) -> None:
    x, g, numbers = arrays(shape, dtype)
    y, gm, sums = np.maximum(np.roll(x, 1), 0), np.full_like(x, -7), memory()
    sums_of(g, x, y, numbers, gm, kind, sums)
    mean, rstd, weight, bias = wide(numbers, MEAN, RSTD, WEIGHT, BIAS)
    d = x[:, FIRST:LAST] - mean
    a = g[:, FIRST:LAST].astype(np.float64)
    if kind == 0:
        a = d
    elif kind == 2:
        a = np.where(d * (rstd * weight) + bias > 0, a, 0)
    elif kind == 3:
        a = np.where(y[:, FIRST:LAST] > 0, a, 0)
        np.testing.assert_array_equal(gm[:, FIRST:LAST], a)
        gm[:, FIRST:LAST] = -7
    found = sums[: 2 * (LAST - FIRST)].reshape(-1, 2)
    tolerance = {"rtol": 1e-5, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-10}
    np.testing.assert_allclose(found, np.stack([a.sum((0, 2)), (a * d).sum((0, 2))], 1), **tolerance)
    np.testing.assert_array_equal(gm, -7)


@numba.njit
def results_of(g, x, numbers, kind, y, stream):
    if kind == 0:
        loops.normalize(x, x, FIRST, LAST, numbers, y, stream)
    elif kind == 1:
        loops.normalize_relu(x, x, FIRST, LAST, numbers, y, stream)
    elif kind == 2:
        loops.normalize_add_relu(x, g, FIRST, LAST, numbers, y, stream)
    elif kind == 3:
        loops.grad(g, x, FIRST, LAST, numbers, y, stream)
    elif kind == 4:
        loops.recomputed_grad(g, x, FIRST, LAST, numbers, y, stream)
    elif kind == 5:
        loops.constant_grad(g, x, FIRST, LAST, numbers, y, stream)
    else:
        loops.recomputed_constant_grad(g, x, FIRST, LAST, numbers, y, stream)


def placed(shape: tuple[int, ...], dtype: Any, offset: int) -> np.ndarray:
    """An array of -7 that begins `offset` bytes after a boundary of vectors."""
    size = np.dtype(dtype).itemsize * math.prod(shape)
    memory = np.empty(size + 2 * VECTOR_BYTES, np.uint8)
    start = -memory.ctypes.data % VECTOR_BYTES + offset
    array = memory[start : start + size].view(dtype).reshape(shape)
    array.fill(-7)
    return array


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", range(7))
@pytest.mark.parametrize(("stream", "offset"), [(False, 0), (True, 0), (True, 8), (True, 3)])
def test_results(kind: int, shape: tuple[int, int, int], dtype: Any, stream: bool, offset: int) -> None:
    """From the last sample to the first, wherever the rows begin; the other channels stay as they are."""
    x, g, numbers = arrays(shape, dtype)
    y = placed(shape, dtype, offset)
    results_of(g, x, numbers, kind, y, stream)
    mean, rstd, weight, bias, shift, slope = wide(numbers, MEAN, RSTD, WEIGHT, BIAS, SHIFT, SLOPE)
    d, a, scale = x[:, FIRST:LAST] - mean, g[:, FIRST:LAST].astype(np.float64), rstd * weight
    affine = d * scale + bias
    masked = np.where(affine > 0, a, 0)
    expected = [affine, np.maximum(affine, 0), np.maximum(affine + a, 0), scale * (a - shift - d * slope),
                scale * (masked - shift - d * slope), scale * a, scale * masked][kind]
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(y[:, FIRST:LAST], expected, rtol=tolerance, atol=tolerance)
    y[:, FIRST:LAST] = -7
    np.testing.assert_array_equal(y, -7)


@numba.njit
def moments(x, numbers, memory):
    loops.shifted_sums(x, FIRST, LAST, numbers, memory)


def test_sums_stay_in_vector_registers() -> None:
    x, _, numbers = arrays((3, 4, 100), np.float32)
    moments(x, numbers, memory())
    assembly = moments.inspect_asm(moments.signatures[0])
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("vfmadd", block)))
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= 2
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)


@numba.njit
def streamed(x, numbers, y):
    loops.normalize(x, x, FIRST, LAST, numbers, y, True)


def test_whole_vectors_are_streamed() -> None:
    x, _, numbers = arrays((3, 4, 100), np.float32)
    streamed(x, numbers, np.empty_like(x))
    assembly = streamed.inspect_asm(streamed.signatures[0])
    if "vfmadd" not in assembly:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    loops_of = [block for block in re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE) if "vmovntps" in block]
    assert loops_of and all(re.search(rf"vmovntps\s+{register}", block) for block in loops_of)
    assert not any(re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", block) for block in loops_of)
