"""The loops of layer normalisation's gradient in LLVM IR: blocks and single rows, what they write, and where their sums are."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu import layer_norm
from lucid_kernels.cpu._microkernels import VECTOR_BYTES
from lucid_kernels.cpu._norm_microkernels import ROWS, SUMS, grad_sums_block, grad_sums_row


def exact(g: np.ndarray, x: np.ndarray, weight: np.ndarray, mean: np.ndarray, rstd: np.ndarray) -> tuple[np.ndarray, ...]:
    g, x, weight, mean, rstd = (a.astype(np.float64) for a in (g, x, weight, mean[:, None], rstd[:, None]))
    product, normal = g * weight, (x - mean) * rstd
    dx = (product - product.mean(1, keepdims=True) - normal * (product * normal).mean(1, keepdims=True)) * rstd
    return dx, (g * normal).sum(0), g.sum(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 7, 16, 31, 64, 200, 5000, layer_norm._WIDEST + 3])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 6, 11])
def test_gradient(rows: int, width: int, dtype: Any) -> None:
    """Each remainder of rows and columns, sums by blocks, rows too long for blocks; nothing is written beside the rows."""
    rng = np.random.default_rng(rows * width)
    g, x = rng.normal(1.0, 2.0, (2, rows, width)).astype(dtype)
    weight, mean, rstd = rng.normal(size=width).astype(dtype), x.mean(1), 1 / (x.std(1) + dtype(1))
    memory = np.full((rows + 2) * width, np.nan, dtype)
    dx = memory[width:-width].reshape(rows, width)
    dweight, dbias = np.empty((2, width), dtype)
    layer_norm._grad(g, x, weight, mean, rstd, dx, dweight, dbias)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for got, want in zip((dx, dweight, dbias), exact(g, x, weight, mean, rstd)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    assert np.isnan(memory[:width]).all()
    assert np.isnan(memory[-width:]).all()


@numba.njit
def block_sums(g, x, width, weight, mean, dx, sums):
    grad_sums_block(g, x, 0, width, width, weight, mean, 0, dx, sums)


@numba.njit
def row_sums(g, x, width, weight, mean, dx, sums):
    grad_sums_row(g, x, 0, width, width, weight, mean, 0, dx, sums)


@pytest.mark.parametrize(("function", "rows"), [(block_sums, ROWS), (row_sums, 1)])
def test_sums_stay_in_vector_registers(function: Any, rows: int) -> None:
    rng = np.random.default_rng(0)
    g, x = rng.normal(size=(2, rows, 37)).astype(np.float32)
    weight, mean, sums = rng.normal(size=37).astype(np.float32), x.mean(1), np.empty(SUMS, np.float32)
    function(g, x, 37, weight, mean, np.empty_like(x), sums)
    product = (g * weight).astype(np.float64)
    np.testing.assert_allclose(sums[: 2 * rows : 2], product.sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sums[1 : 2 * rows : 2], (product * (x - mean[:, None])).sum(1), rtol=1e-4, atol=1e-4)
    assembly = function.inspect_asm(function.signatures[0])
    if "vfmadd" not in assembly:
        pytest.skip("written for x86")
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("vfmadd", block)))
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= rows
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
