"""Products of a few rows with contiguous columns against float64, and the way to them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.matmul import matmul, openblas, skinny
from lucid_kernels.cpu.matmul.problem import problem_of
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
            results.append(matmul.shared(a, b, bias))
    finally:
        set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])


def test_contiguous_rows_many_rows_and_few_steps_do_not_suit() -> None:
    def why_not(m: int, k: int, rows: bool = False) -> str | None:
        a, b, _ = operands(m, k, 30, np.float32)
        return skinny.why_not(problem_of(a, np.ascontiguousarray(b) if rows else b))

    assert why_not(12, 200) is None
    assert why_not(12, 200, rows=True) == "the columns of the right matrix are not contiguous"
    assert why_not(13, 300) == why_not(12, 190) == "many rows, or few steps for each"


@pytest.mark.skipif(openblas.one_thread.unknown, reason="NumPy uses another BLAS than OpenBLAS")
@each_dtype
@pytest.mark.parametrize(("shape", "name"), [((4, 600, 500), "skinny"), ((1200, 900, 1), "column")], ids=str)
def test_products_with_few_rows_or_one_column_go_here(shape: Any, name: str, dtype: Any) -> None:
    a, b, bias = operands(*shape, dtype)
    assert matmul.MATMUL.choose(problem_of(a, b, bias)).name == name
    assert matmul._OF_SHARED.choose(problem_of(b.T, a.T)).name == ("skinny" if name == "column" else "blocked")
    for out in (None, np.empty((len(a), b.shape[1]), dtype)):
        y = matmul.matmul(a, b, bias, out)
        assert out is None or np.shares_memory(y, out)
        np.testing.assert_allclose(y, a.astype(np.float64) @ b + bias, rtol=0, atol=1e-3)


@pytest.mark.skipif(openblas.one_thread.unknown, reason="NumPy uses another BLAS than OpenBLAS")
def test_smaller_products_go_here_where_columns_are_contiguous() -> None:
    a, b, _ = operands(3, 300, 400, np.float32)
    assert matmul.MATMUL.choose(problem_of(a, b)).name == "skinny"
    assert matmul.MATMUL.choose(problem_of(a, np.ascontiguousarray(b))).name != "skinny"
