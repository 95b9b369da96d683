"""Sums in LLVM IR: every length, nothing read beside, sums in registers."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu._microkernels import VECTOR_BYTES
from lucid_kernels.cpu._reduction_microkernels import sum_of


@numba.njit
def between(flat, start, stop):
    return sum_of(flat, start, stop)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_of(dtype: Any) -> None:
    """With NaN before and behind; whole numbers have exact sums in any order."""
    for size in (*range(70), 127, 128, 129, 1000):
        flat = np.full(size + 10, np.nan, dtype)
        flat[5 : 5 + size] = np.arange(size)
        found = between(flat, 5, 5 + size)
        assert found == size * (size - 1) // 2
    flat = np.ones(200, dtype)
    for bad in (np.nan, np.inf, -np.inf):
        flat[150] = bad
        np.testing.assert_equal(float(between(flat, 0, 200)), bad)


def test_sums_stay_in_vector_registers() -> None:
    between(np.ones(300, np.float32), 0, 300)
    assembly = between.inspect_asm(next(s for s in between.signatures if s[0].dtype == numba.float32))
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("prefetch", block)))
    if "vaddps" not in loop:
        pytest.skip("written for x86")
    assert len(re.findall(rf"vaddps\s.*{register}", loop)) >= 4
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
