"""Rows in order: against NumPy's stable sort, for rows of all lengths and keys of both widths."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.indexing import sort as indexing_sort
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

RNG = np.random.default_rng(0)
SHAPES = [(1, 1), (3, 2), (5, 48), (4, 49), (7, 300), (200, 90), (2, 40_000), (1, 100_000), (0, 5)]
ODD = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1, -1, 3e38, -3e38], np.float32)


def stable(x: np.ndarray, descending: bool) -> np.ndarray:
    """The stable order, NaN as the largest."""
    if not descending:
        return np.argsort(x, 1, kind="stable")
    return x.shape[1] - 1 - np.flip(np.argsort(np.flip(x, 1), 1, kind="stable"), 1)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats(shape: tuple[int, int], dtype: Any, descending: bool) -> None:
    x = RNG.standard_normal(shape).astype(dtype)
    picked = RNG.random(shape) < 0.3
    x[picked] = RNG.choice(ODD, int(picked.sum()))
    keys = indexing_sort.float_keys(x, descending)
    wanted = stable(x, descending)
    if shape[1] > 3 and dtype == np.float32:
        for count in {1, 2, min(shape[1], 16), max(1, shape[1] // 16)}:
            assert indexing_sort.suits_first(shape[1], count)
            np.testing.assert_array_equal(indexing_sort.first(keys, count), wanted[:, :count])
    np.testing.assert_array_equal(indexing_sort.order(keys, dtype == np.float64), wanted)


def test_digits_of_doubles_below_those_of_singles() -> None:
    x = 1 + RNG.permutation(5000).reshape(2, -1) * 2.0**-52
    np.testing.assert_array_equal(indexing_sort.order(indexing_sort.float_keys(x, False), True), stable(x, False))


@pytest.mark.parametrize("runs", [1, 3, 700, 2000])
def test_wide_keys_with_the_same_upper_half(runs: int) -> None:
    """Short runs are sorted by insertion, long ones by their lower halves."""
    x = (RNG.integers(0, runs, (3, 2000)) << 40) + RNG.integers(0, 1000, (3, 2000)) + np.array([[0], [1 << 62], [0]])
    keys = indexing_sort.integer_keys(x, int(x.min()), int(x.max()), False)
    np.testing.assert_array_equal(indexing_sort.order(keys, True), stable(x, False))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("low", "high", "dtype"), [(0, 2, bool), (-128, 128, np.int8), (-5, 5, np.int64), (0, 1 << 32, np.uint32),
                                                    (-(1 << 31), 1 << 31, np.int32), (-(1 << 63), (1 << 63) - 1, np.int64),
                                                    ((1 << 63) - 9, 1 << 63, np.uint64), (0, (1 << 64) - 1, np.uint64)])
@pytest.mark.parametrize("shape", [(4, 30), (3, 5000)], ids=str)
def test_integers(shape: tuple[int, int], low: int, high: int, dtype: Any, descending: bool) -> None:
    x = RNG.integers(low, high, shape, dtype=np.uint64 if high > 1 << 62 and low >= 0 else np.int64).astype(dtype)
    least, most = int(x.min()), int(x.max())
    keys = indexing_sort.integer_keys(x, least, most, descending)
    assert keys.min() == 0 and int(keys.max()) == most - least
    np.testing.assert_array_equal(indexing_sort.order(keys, most - least >= 1 << 32), stable(x, descending))


@pytest.mark.parametrize("make", [np.zeros, np.ones, lambda shape: np.sort(RNG.random(shape), 1), lambda shape: -np.sort(RNG.random(shape), 1)])
def test_rows_in_an_order_of_their_own(make: Any) -> None:
    x = make((3, 700)).astype(np.float32)
    keys = indexing_sort.float_keys(x, False)
    for count in (16, 43):
        np.testing.assert_array_equal(indexing_sort.first(keys, count), stable(x, False)[:, :count])
    np.testing.assert_array_equal(indexing_sort.order(keys, False), stable(x, False))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    keys = indexing_sort.float_keys(RNG.standard_normal((100, 900)).astype(np.float32), False)
    before, found = get_num_threads(), []
    for threads in (1, 2):
        set_num_threads(threads)
        try:
            found.append((indexing_sort.order(keys, False), indexing_sort.first(keys, 5), indexing_sort.first(keys, 50)))
        finally:
            set_num_threads(before)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
