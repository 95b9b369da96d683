"""The loops in LLVM IR: what they compute, and that their sums stay in vector registers."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.convolution.direct.microkernels import (
    ROWS,
    VECTORS,
    VECTORS_OF,
    multiply_block,
    multiply_rows,
    rows_of,
)
from lucid_kernels.cpu.simd.copy_rows import copy_rows
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.dot import DOT_ROWS, DOT_SUMS, DOT_TAPS, dot_block

from tests.kernels.cpu.assembly import of_float32


@numba.njit
def multiply(columns, start, taps, weight, first, row_step, tap_step, bias, first_bias, out, out_start, pitch, accumulate):
    multiply_block(columns, start, taps, weight, first, row_step, tap_step, bias, first_bias, out, out_start, pitch, accumulate)


def make_multiply_rows(results: int) -> Any:
    block = rows_of(results)

    @numba.njit
    def multiply_all(columns, start, taps, weight, first, row_step, tap_step, bias, first_bias, out, out_start, pitch, accumulate):
        multiply_rows(block, columns, start, taps, weight, first, row_step, tap_step, bias, first_bias, out, out_start, pitch,
                      accumulate)

    return multiply_all


# Functions with the rows of their blocks and the vectors of these.
BLOCKS: dict[str, tuple[Any, int, int]] = {
    "multiply_block": (multiply, ROWS, VECTORS),
    **{f"multiply_rows {rows}": (make_multiply_rows(rows), rows, vectors) for rows, vectors in enumerate(VECTORS_OF) if vectors},
}
each_block = pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)


@numba.njit
def dot(g, g_start, rows, columns, start, taps, samples, g_step, step, count, sums):
    dot_block(g, g_start, rows, columns, start, taps, samples, g_step, step, count, sums)


@numba.njit
def copy(source, source_start, source_pitch, target, target_start, target_pitch, rows, count):
    copy_rows(source, source_start, source_pitch, target, target_start, target_pitch, rows, count)


each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def test_registers_are_those_of_the_processor_that_numba_compiles_for() -> None:
    code = "from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES; print(VECTOR_BYTES)"
    for features, expected in (("+avx2,+fma", "32"), ("+avx512f", "64")):
        environment = {**os.environ, "NUMBA_CPU_FEATURES": features, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == expected


def call_multiply(block: tuple[Any, int, int], dtype: Any, accumulate: bool = False, lies: bool = False
                  ) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    function, rows, vectors = block
    width = vectors * VECTOR_BYTES // np.dtype(dtype).itemsize
    columns, taps = rng.normal(size=300).astype(dtype), np.array([0, 7, 31, 90])
    weight, bias, out = (rng.normal(size=s).astype(dtype) for s in ((4, rows), rows, rows * 150 + 64))
    expected = out.copy()
    for r in range(rows):
        total = sum(weight[k, r] * columns[3 + tap : 3 + tap + width] for k, tap in enumerate(taps))
        target = expected[5 + 150 * r : 5 + 150 * r + width]
        target[:] = total + (target if accumulate else bias[r])
    steps = (6, 1) if lies else (1, rows)
    if lies:
        weight = np.pad(weight.T, ((0, 0), (0, 2)))
    weight, bias = np.append(rng.normal(size=2), weight).astype(dtype), np.append(rng.normal(size=1), bias).astype(dtype)
    function(columns, 3, taps, weight, 2, *steps, bias, 1, out, 5, 150, accumulate)
    return out, expected


@each_dtype
@pytest.mark.parametrize("lies", [False, True], ids=["packed", "as it lies"])
@pytest.mark.parametrize("accumulate", [False, True])
@each_block
def test_multiply(block: tuple[Any, int, int], dtype: Any, accumulate: bool, lies: bool) -> None:
    out, expected = call_multiply(block, dtype, accumulate, lies)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_multiply_adds_up_many_products_in_parts() -> None:
    rng = np.random.default_rng(0)
    count, block = 1000, VECTORS * VECTOR_BYTES // 4
    columns, taps = rng.random(count + block, np.float32), np.arange(count)
    weight, bias = rng.random((count, ROWS), np.float32), np.arange(ROWS, dtype=np.float32)
    out = np.empty(ROWS * block, np.float32)
    multiply(columns, 0, taps, weight.reshape(-1), 0, 1, ROWS, bias, 0, out, 0, block, False)
    products = np.lib.stride_tricks.sliding_window_view(columns, block)[:count, None] * weight[:, :, None].astype(np.float64)
    error = np.abs(out.reshape(ROWS, block) - products.sum(0) - bias[:, None]).max()
    assert error < (1e-3 if VECTOR_BYTES == 64 else 1e-4)


@each_dtype
@pytest.mark.parametrize("count", [1, 15, 16, 17, 49, 64])
def test_dot_block(dtype: Any, count: int) -> None:
    rng = np.random.default_rng(0)
    g, columns = rng.normal(size=3 * 400 + DOT_ROWS * 64).astype(dtype), rng.normal(size=3 * 500 + DOT_TAPS * 64).astype(dtype)
    rows, taps = np.arange(DOT_ROWS) * 60, np.arange(DOT_TAPS) * 61
    sums = np.ones(DOT_SUMS, dtype)
    dot(g, 2, rows, columns, 4, taps, 3, 400, 500, count, sums)
    expected = np.array([[1 + sum(g[2 + r + 400 * n :][:count] @ columns[4 + t + 500 * n :][:count] for n in range(3)) for t in taps]
                         for r in rows])
    np.testing.assert_allclose(sums[: expected.size].reshape(expected.shape), expected, rtol=1e-5, atol=1e-4)


def test_dot_block_does_not_read_beyond_a_row() -> None:
    """A NaN right behind the elements, where a whole vector would reach."""
    g, columns = np.ones(2000, np.float32), np.ones(2000, np.float32)
    g[DOT_ROWS * 17 :], columns[DOT_TAPS * 17 :] = np.nan, np.nan
    sums = np.zeros(DOT_SUMS, np.float32)
    dot(g, 0, np.arange(DOT_ROWS) * 17, columns, 0, np.arange(DOT_TAPS) * 17, 1, 0, 0, 17, sums)
    np.testing.assert_array_equal(sums[: DOT_ROWS * DOT_TAPS], 17)


@each_dtype
@pytest.mark.parametrize("count", [0, 1, 7, 8, 15, 16, 17, 33, 49])
def test_copies(dtype: Any, count: int) -> None:
    source, target = np.arange(320, dtype=dtype), np.full(220, -1, dtype)
    expected = target.copy()
    for row in range(3):
        expected[4 + 60 * row :][:count] = source[3 + 101 * row :][:count]
    copy(source, 3, 101, target, 4, 60, 3, count)
    np.testing.assert_array_equal(target, expected)


def innermost(function: Any) -> str:
    """The assembly of the basic block with the most multiply-adds, which is the loop over the products."""
    assembly = of_float32(function)
    blocks = re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE)
    return max(blocks, key=lambda block: len(re.findall(r"vfmadd|fmla", block)))


@pytest.mark.parametrize("name", [*BLOCKS, "dot_block"])
def test_sums_stay_in_vector_registers(name: str) -> None:
    function, rows, vectors = BLOCKS.get(name, (dot, DOT_ROWS, DOT_TAPS))
    products = rows * vectors
    if function is dot:
        test_dot_block(np.float32, 17)
    else:
        call_multiply(BLOCKS[name], np.float32)
    loop = innermost(function)
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= products
    # A sum that did not find a register is stored to the stack in every step.
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
