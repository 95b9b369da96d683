"""Sums and maxima in LLVM IR: every length, nothing read beside, results in registers."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.reduce import maximum_of, product_sum_of, sum_of


@numba.njit
def between(flat, start, stop):
    return sum_of(flat, start, stop)


@numba.njit
def products_between(a, b, start, stop):
    return product_sum_of(a, b, start, stop)


@numba.njit
def largest(x, start, stop, y):
    return maximum_of(x, start, stop, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_of(dtype: Any) -> None:
    """With NaN before and behind; whole numbers have exact sums in any order."""
    for size in (*range(70), 127, 128, 129, 1000, 1024, 1025, 3000, 4109):
        flat = np.full(size + 10, np.nan, dtype)
        flat[5 : 5 + size] = np.arange(size)
        found = between(flat, 5, 5 + size)
        assert found == size * (size - 1) // 2
    flat = np.ones(200, dtype)
    for bad in (np.nan, np.inf, -np.inf):
        flat[150] = bad
        np.testing.assert_equal(float(between(flat, 0, 200)), bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_product_sum_of(dtype: Any) -> None:
    for size in (*range(70), 127, 128, 129, 1000, 1024, 1025, 3000):
        a, b = np.full((2, size + 10), np.nan, dtype)
        a[5 : 5 + size], b[5 : 5 + size] = np.arange(size) % 8, np.arange(size) % 5
        assert products_between(a, b, 5, 5 + size) == (a * b)[5 : 5 + size].sum(dtype=np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maximum_of(dtype: Any) -> None:
    """Larger numbers lie before and behind; short and long rows, whose lines are asked for in other places."""
    rng = np.random.default_rng(0)
    for size in (*range(1, 70), 127, 128, 129, 1000, 5000):
        x, y = np.full((2, size + 10), 100, dtype)
        x[5 : 5 + size] = rng.normal(size=size) - 50
        before = x.copy()
        assert largest(x, 5, 5 + size, y) == x[5 : 5 + size].max()
        np.testing.assert_array_equal(x, before)
        np.testing.assert_array_equal(y, 100)
    assert largest(np.full(40, -np.inf, dtype), 0, 40, y) == -np.inf
    x = np.zeros(40, dtype)
    x[20] = np.inf
    assert largest(x, 0, 40, y) == np.inf


@pytest.mark.parametrize(("function", "instruction"), [(between, "vaddps"), (largest, "vmaxps")])
def test_results_stay_in_vector_registers(function: Any, instruction: str) -> None:
    row = np.ones(3000, np.float32)
    function(row, 0, 300) if function is between else function(row, 0, 300, row)
    assembly = function.inspect_asm(next(s for s in function.signatures if s[0].dtype == numba.float32))
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    wanted = "prefetch" if function is largest else instruction
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall(wanted, block)))
    if instruction not in loop:
        pytest.skip("written for x86")
    assert len(re.findall(rf"{instruction}\s.*{register}", loop)) >= 4
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
