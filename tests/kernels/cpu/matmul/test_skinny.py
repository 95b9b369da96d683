"""Products of a few rows with contiguous columns against float64, and the way to them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.matmul import matmul, openblas, openblas_tiles, skinny
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def operands(rows: int, depth: int, columns: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A few rows, a matrix whose columns are contiguous, and a bias."""
    rng = np.random.default_rng(rows + depth)
    a, b, bias = (rng.standard_normal(shape).astype(dtype) for shape in ((rows, depth), (depth, columns), (columns,)))
    return a, np.asfortranarray(b), bias


@each_dtype
@pytest.mark.parametrize(("depth", "columns"), [(2, 96), (17, 100), (300, 131), (1000, 200)])
def test_values(depth: int, columns: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (1, 2, 4, 5, 8, 12):
        a, b, bias = operands(rows, depth, columns, dtype)
        exact, close = a.astype(np.float64) @ b.astype(np.float64), 8 * depth * np.finfo(dtype).eps
        y = skinny.matmul(a, b)
        assert y.dtype == dtype and y.shape == (rows, columns)
        np.testing.assert_allclose(y, exact, rtol=0, atol=close)
        np.testing.assert_allclose(skinny.matmul(a, b, bias), exact + bias.astype(np.float64), rtol=0, atol=close)
        monkeypatch.setattr(skinny, "_SHARE", 7 * depth)  # parts that end within blocks: the same bits
        np.testing.assert_array_equal(skinny.matmul(a, b), y)
        monkeypatch.undo()


@each_dtype
def test_parts_of_arrays_and_results_that_are_given(dtype: Any) -> None:
    a, b, bias = operands(6, 50, 240, dtype)
    a, b, bias = a[::2, 5:], b[5:, 3:200], bias[3:200].copy()
    around = np.full((5, 197), 7, dtype)
    result = skinny.matmul(a, b, bias, around[1:4])
    np.testing.assert_allclose(result, a.astype(np.float64) @ b + bias, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(around[1:4], result)
    np.testing.assert_array_equal(around[[0, 4]], 7)


def test_nan_and_infinity_stay_where_they_are() -> None:
    a, b = np.ones((3, 20), np.float32), np.ones((20, 140), np.float32)
    a[1, 3], b[7, 139] = np.nan, np.inf
    y = skinny.matmul(a, np.asfortranarray(b))
    assert np.isnan(y[1]).all() and (y[::2, 139] == np.inf).all() and (y[::2, :139] == 20).all()


def test_bits_do_not_depend_on_threads() -> None:
    a, b, bias = operands(3, 400, 700, np.float32)
    before, results = get_num_threads(), []
    try:
        for threads in (1, before):
            set_num_threads(threads)
            results.append(openblas_tiles.matmul(a, b, bias))
    finally:
        set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])


def test_contiguous_rows_many_rows_and_few_steps_do_not_suit() -> None:
    a, b, _ = operands(12, 200, 30, np.float32)
    assert skinny.suits(a, b)
    assert not skinny.suits(a, np.ascontiguousarray(b))
    assert not skinny.suits(*operands(13, 300, 30, np.float32)[:2])
    assert not skinny.suits(*operands(12, 190, 30, np.float32)[:2])


@pytest.mark.skipif(openblas.one_thread.unknown, reason="NumPy uses another BLAS than OpenBLAS")
@each_dtype
@pytest.mark.parametrize("shape", [(4, 600, 500), (1200, 900, 1)], ids=str)
def test_products_with_few_rows_or_one_column_go_here(shape: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, original = [], skinny.matmul
    monkeypatch.setattr(skinny, "matmul", lambda a, *others: (taken.append(len(a)), original(a, *others))[1])
    a, b, bias = operands(*shape, dtype)
    for second, out in ((b, None), (b, np.empty((len(a), b.shape[1]), dtype))):
        y = matmul.matmul(a, second, bias, out)
        assert out is None or np.shares_memory(y, out)
        np.testing.assert_allclose(y, a.astype(np.float64) @ b + bias, rtol=0, atol=1e-3)
    assert taken == [min(shape[0], 4) if shape[2] > 1 else 1] * 2


@pytest.mark.skipif(openblas.one_thread.unknown, reason="NumPy uses another BLAS than OpenBLAS")
def test_smaller_products_go_here_where_columns_are_contiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, original = [], skinny.matmul
    monkeypatch.setattr(skinny, "matmul", lambda a, b, *others: (taken.append(b.shape), original(a, b, *others))[1])
    a, b, _ = operands(3, 300, 400, np.float32)
    for second in (b, np.ascontiguousarray(b)):
        matmul.matmul(a, second)
    assert taken == [(300, 400)]
