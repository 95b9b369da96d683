"""The loops of layer normalisation in LLVM IR: blocks and single rows, what they write, and where their sums are."""
from __future__ import annotations

import itertools
import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.normalization import layer_norm
from lucid_kernels.cpu.normalization.row_microkernels import (
    MOMENT_ROWS,
    ROWS,
    grad_means_block,
    grad_means_row,
    moments_block,
    stream_grad,
    stream_normalized,
)
from lucid_kernels.cpu.simd import nontemporal
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES


def exact(g: np.ndarray, x: np.ndarray, weight: np.ndarray, mean: np.ndarray, rstd: np.ndarray) -> tuple[np.ndarray, ...]:
    g, x, weight, mean, rstd = (a.astype(np.float64) for a in (g, x, weight, mean[:, None], rstd[:, None]))
    product, normal = g * weight, (x - mean) * rstd
    dx = (product - product.mean(1, keepdims=True) - normal * (product * normal).mean(1, keepdims=True)) * rstd
    return dx, (g * normal).sum(0), g.sum(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 7, 16, 31, 64, 200, 5000, layer_norm.WIDEST + 3])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 6, 11])
@pytest.mark.parametrize("streaming", [False, True])
def test_gradient(streaming: bool, rows: int, width: int, dtype: Any) -> None:
    """Each remainder of rows and columns, sums by blocks, rows too long for blocks; nothing is written beside the rows."""
    rng = np.random.default_rng(rows * width)
    g, x = rng.normal(1.0, 2.0, (2, rows, width)).astype(dtype)
    weight, mean, rstd = rng.normal(size=width).astype(dtype), x.mean(1), 1 / (x.std(1) + dtype(1))
    memory = np.full((rows + 2) * width, np.nan, dtype)
    dx = memory[width:-width].reshape(rows, width)
    dweight, dbias = np.empty((2, width), dtype)
    layer_norm._grad(g, x, weight, mean, rstd, dx, dweight, dbias, streaming)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for got, want in zip((dx, dweight, dbias), exact(g, x, weight, mean, rstd)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    # Without a mean, as RMS normalisation has it: the gradients are those of a constant rstd and of what depends on it.
    layer_norm._grad(g, x, weight, None, rstd, dx, dweight, None, streaming)
    g, x, weight, scale = (a.astype(np.float64) for a in (g, x, weight, rstd[:, None]))
    slopes = (g * weight * x).mean(1, keepdims=True) * scale * scale
    np.testing.assert_allclose(dx, (g * weight - x * slopes) * scale, rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_allclose(dweight, (g * x * scale).sum(0), rtol=tolerance, atol=10 * tolerance)
    assert np.isnan(memory[:width]).all()
    assert np.isnan(memory[-width:]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_short_rows(dtype: Any) -> None:
    """Each remainder of rows and columns; a row gives the same in a block as alone, and nothing is written beside the rows."""
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    for rows, width in itertools.product(range(1, 10), (1, 3, 4, 7, 8, 9, 12, 16, 17, 31, 64, 100)):
        rng = np.random.default_rng(rows * width)
        x, (weight, bias) = rng.normal(1.0, 2.0, (rows, width)).astype(dtype), rng.normal(size=(2, width)).astype(dtype)
        memory = np.full((rows + 2) * width, np.nan, dtype)
        y, (mean, rstd) = memory[width:-width].reshape(rows, width), np.empty((2, rows), dtype)
        layer_norm.normalize_blocks(x, weight, bias, 1e-5, y, mean, rstd)
        wide = x.astype(np.float64)
        scale = 1 / np.sqrt(wide.var(1) + 1e-5)
        np.testing.assert_allclose(mean, wide.mean(1), rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(rstd, scale, rtol=tolerance)
        wanted = (wide - wide.mean(1, keepdims=True)) * scale[:, None] * weight + bias
        np.testing.assert_allclose(y, wanted, rtol=10 * tolerance, atol=10 * tolerance)
        alone = np.empty_like(x)
        for r in range(rows):
            part = slice(r, r + 1)
            layer_norm.normalize_blocks(x[part], weight, bias, 1e-5, alone[part], mean[part], rstd[part])
        np.testing.assert_array_equal(y, alone)
        layer_norm.normalize_blocks(x, weight, None, 1e-5, y, None, rstd)
        scale = 1 / np.sqrt((wide * wide).mean(1) + 1e-5)
        np.testing.assert_allclose(rstd, scale, rtol=tolerance)
        np.testing.assert_allclose(y, wide * scale[:, None] * weight, rtol=10 * tolerance, atol=10 * tolerance)
        assert np.isnan(memory[:width]).all()
        assert np.isnan(memory[-width:]).all()


@numba.njit
def block_moments(x, mean, rstd):
    moments_block(x, 0, x.shape[1], x.shape[1], 1e-5, mean, rstd, 0)


def test_moments_stay_in_vector_registers() -> None:
    x, (mean, rstd) = np.ones((MOMENT_ROWS, 37), np.float32), np.empty((2, MOMENT_ROWS), np.float32)
    block_moments(x, mean, rstd)
    assembly = block_moments.inspect_asm(block_moments.signatures[0])
    if "vfmadd" not in assembly:
        pytest.skip("written for x86")
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("vfmadd", block)))
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= 2 * MOMENT_ROWS
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)


@numba.njit
def block_means(g, x, width, weight, mean, rstd, dx, offsets, slopes):
    grad_means_block(g, x, 0, width, width, weight, mean, rstd, 0, dx, offsets, slopes)


@numba.njit
def row_means(g, x, width, weight, mean, rstd, dx, offsets, slopes):
    grad_means_row(g, x, 0, width, width, weight, mean, rstd, 0, dx, offsets, slopes)


@pytest.mark.parametrize(("function", "rows"), [(block_means, ROWS), (row_means, 1)])
def test_sums_stay_in_vector_registers(function: Any, rows: int) -> None:
    rng = np.random.default_rng(0)
    g, x = rng.normal(size=(2, rows, 37)).astype(np.float32)
    weight, mean, rstd = rng.normal(size=37).astype(np.float32), x.mean(1), 1 / x.std(1)
    offsets, slopes = np.empty((2, rows), np.float32)
    function(g, x, 37, weight, mean, rstd, np.empty_like(x), offsets, slopes)
    product = (g * weight).astype(np.float64)
    np.testing.assert_allclose(offsets, product.mean(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slopes, (product * (x - mean[:, None])).mean(1) * rstd * rstd, rtol=1e-4, atol=1e-5)
    assembly = function.inspect_asm(function.signatures[0])
    if "vfmadd" not in assembly:
        pytest.skip("written for x86")
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("vfmadd", block)))
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= rows
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)


@numba.njit
def normalized(x, start, count, weight, bias, mean, rstd, y):
    stream_normalized(x, start, count, weight, bias, mean, rstd, y)


@numba.njit
def scaled(x, start, count, weight, rstd, y):
    stream_normalized(x, start, count, weight, None, None, rstd, y)


@numba.njit
def gradient(g, x, width, weight, mean, rstd, offsets, slopes, dx, dweight, dbias):
    stream_grad(g, x, 0, width, width, weight, mean, rstd, 0, offsets, slopes, 0, dx, dweight, dbias)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 40])
def test_streamed_row(count: int, dtype: Any) -> None:
    """Rows that begin anywhere; beside them nothing is written."""
    rng = np.random.default_rng(count)
    x, (weight, bias) = rng.normal(size=100).astype(dtype), rng.normal(size=(2, count)).astype(dtype)
    for start in range(VECTOR_BYTES // x.itemsize + 1):
        row = x[start : start + count]
        for expected, call in (((row - dtype(0.5)) * dtype(2) * weight + bias, normalized), (row * dtype(2) * weight, scaled)):
            y = np.full(100, 7, dtype)
            call(x, start, count, weight, *((bias, dtype(0.5)) if call is normalized else ()), dtype(2), y)
            np.testing.assert_allclose(y[start : start + count], expected, rtol=1e-5, atol=1e-6)
            assert (y[:start] == 7).all()
            assert (y[start + count :] == 7).all()


def test_machine_code_of_streamed_rows() -> None:
    if not nontemporal._X86:
        pytest.skip("written for x86")
    row, one = np.ones(40, np.float32), np.ones(1, np.float32)
    normalized(row, 0, 40, row, row, one[0], one[0], row.copy())
    gradient(row, row, 40, row, one, one, one, one, row.copy(), row.copy(), row.copy())
    for function in (normalized, gradient):
        signature = next(types for types in function.signatures if types[0] == numba.typeof(row))
        assembly = function.inspect_asm(signature)
        assert re.search(rf"movntps\s+%{'z' if VECTOR_BYTES == 64 else '[xy]'}mm", assembly)
        assert "prefetch" in assembly
