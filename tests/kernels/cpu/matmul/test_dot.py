"""Inner products: every length, float32 as exact as its numbers, the same on any number of threads."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.matmul import dot
from lucid_kernels.cpu.runtime import threads


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 7, 63, 64, 1000, 1025, 8191, 8193, 100_001])
def test_dot(dtype: Any, size: int) -> None:
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(2, size)).astype(dtype)
    exact = float((a.astype(np.longdouble) * b).sum())
    assert abs(dot.dot(a, b) - exact) <= 16 * np.finfo(dtype).eps * np.sqrt(size + 1)


def test_dot_of_views() -> None:
    a, b = np.arange(4000.0).reshape(2, 2000)
    assert dot.dot(a[::2], b[::-2]) == np.dot(a[::2], b[::-2])


def test_dot_does_not_depend_on_threads() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 100_000)).astype(np.float32)
    before, found = threads.get_num_threads(), set()
    try:
        for number in (1, 2, 3):
            threads.set_num_threads(number)
            found.add(dot.dot(a, b))
    finally:
        threads.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_dot_of_no_numbers(bad: float) -> None:
    a, b = np.ones((2, 20_000), np.float32)
    a[12_345] = bad
    np.testing.assert_equal(dot.dot(a, b), bad)
    b[12_345] = 0
    assert np.isnan(dot.dot(a, b))
