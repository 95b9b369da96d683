"""Factorizations of matrices of a few rows against NumPy's in float64: shapes, stacks, pivots, strides, matrices without a result."""
from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.linalg import lapack_solve
from lucid_kernels.cpu.linalg.small_decompositions import (
    cholesky,
    determinants,
    lu_factor,
    pivots_product,
    qr,
    slogdet,
    solve,
    solve_triangular,
)

import lucid

DTYPES = [np.float32, np.float64]
SQUARE = [(1, 1), (4, 4), (2, 3, 5, 5), (200, 7, 7), (32, 32)]


def matrices(shape: tuple[int, ...], dtype: Any) -> Any:
    a = np.random.default_rng(0).standard_normal(shape)
    a[..., 0, 0] = 0 if shape[-1] > 1 else 2  # which needs a pivot
    return a.astype(dtype)


def close(found: Any, exact: Any, dtype: Any, condition: Any = 1.0) -> None:
    assert found.dtype == dtype and found.shape == exact.shape
    bound = 50 * np.finfo(dtype).eps * np.max(condition) * np.abs(exact).max(initial=1)
    np.testing.assert_allclose(found, exact, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_square_matrices(shape: tuple[int, ...], dtype: Any) -> None:
    a, b = matrices(shape, dtype), matrices((*shape[:-1], 3), dtype)
    wide = a.astype(np.float64)
    condition = np.linalg.cond(wide)
    for (found, info), exact in ((solve(a, b), np.linalg.solve(wide, b)), (solve(a, None), np.linalg.inv(wide))):
        assert info.dtype == np.int32 and info.shape == shape[:-2] and not info.any()
        close(found, exact, dtype, condition)
    close(determinants(a), np.linalg.det(wide), dtype, condition)
    (sign, logarithm), exact = slogdet(a), np.linalg.slogdet(wide)
    np.testing.assert_array_equal(sign, exact[0])
    close(logarithm, exact[1], dtype, condition)
    definite = wide @ wide.swapaxes(-1, -2) + np.eye(shape[-1])
    factor, info = cholesky(np.tril(definite).astype(dtype) + np.triu(np.full_like(a, 9), 1))
    assert not info.any()
    close(factor, np.linalg.cholesky(definite), dtype, 10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SQUARE, (3, 7, 4), (2, 4, 9), (5, 1), (2, 9)])
def test_lu_factors(shape: tuple[int, ...], dtype: Any) -> None:
    """As LAPACK's, whose pivots are the same."""
    a = matrices(shape, dtype)
    compact, pivots, info = lu_factor(a)
    exact, expected, _ = lapack_solve.lu_factor(a.astype(np.float64))
    close(compact, exact, dtype, 10)
    assert pivots.dtype == info.dtype == np.int32 and info.shape == shape[:-2] and not info.any()
    np.testing.assert_array_equal(pivots, expected)
    for result, same in zip(lu_factor(a.swapaxes(-1, -2).copy().swapaxes(-1, -2)), (compact, pivots, info)):
        np.testing.assert_array_equal(result, same)


def test_lu_factors_of_singular_matrices() -> None:
    stack = np.array([[[1.0, 2], [2, 4]], [[0, 1], [0, 1]], [[1, 0], [0, 1]]])
    compact, pivots, info = lu_factor(stack)
    for found, expected in zip((compact, pivots, info), lapack_solve.lu_factor(stack)):
        np.testing.assert_array_equal(found, expected)
    assert info.tolist() == [2, 1, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
@pytest.mark.parametrize("columns", [1, 5])
@pytest.mark.parametrize(("upper", "unitriangular"), [(True, False), (True, True), (False, False), (False, True)])
def test_triangular_systems(shape: tuple[int, ...], columns: int, upper: bool, unitriangular: bool, dtype: Any) -> None:
    """Of which the rest is not read."""
    n, how = shape[-1], {"upper": upper, "unitriangular": unitriangular}
    t, b = (matrices(shape, dtype) / n + 2 * np.eye(n)).astype(dtype), matrices((*shape[:-1], columns), dtype)
    triangle = (np.triu if upper else np.tril)(t, 0 if not unitriangular else 1 if upper else -1).astype(np.float64)
    triangle += np.eye(n) * unitriangular
    t[..., (np.tri(n, k=-1) if upper else np.tri(n, k=-1).T).astype(bool)] = np.nan
    given = b.copy()
    close(solve_triangular(t, b, **how), np.linalg.solve(triangle, b), dtype, np.linalg.cond(triangle))
    turned = t.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    np.testing.assert_array_equal(solve_triangular(turned, b, **how), solve_triangular(t, b, **how))
    np.testing.assert_array_equal(b, given)


def test_zeros_on_the_diagonal_of_triangles() -> None:
    t, b = np.array([[1.0, 1], [0, 0]]), np.array([[1.0], [1]])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(solve_triangular(t, b, upper=True, unitriangular=False), [[-np.inf], [np.inf]])
        np.testing.assert_array_equal(solve_triangular(t, b * 0, upper=True, unitriangular=False), [[np.nan], [np.nan]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SQUARE, (3, 7, 4), (2, 4, 9), (5, 1), (1, 5), (30, 12, 3)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(shape: tuple[int, ...], mode: Any, dtype: Any) -> None:
    a = matrices(shape, dtype)
    q, r = qr(a, mode=mode)
    exact = np.linalg.qr(a.astype(np.float64), mode=mode)
    if mode == "r":
        assert q.shape == (0,)
        exact = (None, exact)
    else:
        close(q, exact[0], dtype, np.linalg.cond(a.astype(np.float64)))
        assert np.abs(q.swapaxes(-1, -2) @ q - np.eye(q.shape[-1])).max() < 50 * np.finfo(dtype).eps
    close(r, exact[1], dtype, np.linalg.cond(a.astype(np.float64)))


def test_columns_that_qr_need_not_reflect() -> None:
    for a in (np.zeros((3, 3)), np.eye(3), np.diag([1e-200, 1e200, 1.0])[:, [1, 0, 2]], 1e-300 * np.arange(1.0, 9).reshape(4, 2)):
        q, r = qr(a, mode="reduced")
        expected = np.linalg.qr(a)
        np.testing.assert_allclose(q, expected[0], atol=1e-14)
        np.testing.assert_allclose(r, expected[1], rtol=1e-14, atol=1e-14 * np.abs(expected[1]).max())
    assert np.isnan(qr(np.array([[1.0, 2], [np.nan, 3]]), mode="reduced")[1]).any()


def test_matrices_without_a_result() -> None:
    a = np.stack([np.eye(3), np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 2.0, 0.0]), np.eye(3)])
    a[4, 1, 0] = np.nan
    y, info = solve(a, None)
    assert info.tolist() == [0, 1, 2, 3, 0]
    np.testing.assert_array_equal(y[0], np.eye(3))
    assert np.isnan(y[1:4]).all() and np.isnan(y[4]).any()
    np.testing.assert_array_equal(determinants(a), [1.0, 0.0, 0.0, 0.0, np.nan])
    sign, logarithm = slogdet(a)
    np.testing.assert_array_equal(sign, [1.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(logarithm, [0.0, -np.inf, -np.inf, -np.inf, np.nan])
    stack = np.stack([np.eye(3), np.diag([1.0, -1, 1]), np.eye(3), np.diag([1.0, 1, 0]), np.diag([np.nan, 1, 1])])
    factor, info = cholesky(stack)
    assert info.tolist() == [0, 2, 0, 3, 1]
    np.testing.assert_array_equal(np.isnan(factor).all((1, 2)), [False, True, False, True, True])


def test_strides_and_inputs_are_left_alone() -> None:
    a = np.random.default_rng(0).standard_normal((3, 3, 4, 5)).transpose(3, 2, 1, 0)
    kept = a.copy()
    y, info = solve(a, None)
    assert y.shape == (5, 4, 3, 3) and info.shape == (5, 4) and determinants(a).shape == (5, 4)
    np.testing.assert_allclose(y @ a, np.broadcast_to(np.eye(3), y.shape), atol=1e-10)
    q, r = qr(a, mode="reduced")
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    np.testing.assert_array_equal(a, kept)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 40), (2, 3, 5, 5), (1, 1)])
def test_determinants_of_factors(shape: tuple[int, ...], dtype: Any) -> None:
    a = matrices(shape, dtype) / np.asarray(shape[-1] ** 0.5, dtype)
    compact, pivots, _ = lapack_solve.lu_factor(a)
    (found, sign, logarithm), exact = pivots_product(compact, pivots), np.linalg.slogdet(a.astype(np.float64))
    np.testing.assert_array_equal(sign, exact[0])
    close(logarithm, exact[1], dtype, 10)
    close(found, np.linalg.det(a.astype(np.float64)), dtype, 10)


def test_a_determinant_beyond_float32_on_the_way() -> None:
    a = np.diag(np.array([1e30, 1e30, 1e-30, 1e-30], np.float32))
    np.testing.assert_allclose(determinants(a), 1.0, rtol=1e-5)


def test_numpy_serves_until_a_kernel_has_been_imported() -> None:
    code = """
import sys
import lucid
a = lucid.tensor([[4.0, 1.0], [1.0, 3.0]], requires_grad=True)
def results():
    x = [lucid.linalg.solve(a, a), lucid.linalg.inv(a), lucid.linalg.slogdet(a)[1]]
    a.grad = None
    sum(y.sum() for y in x).backward()
    return [y.detach() for y in x] + [a.grad, lucid.linalg.cholesky(a.detach()), *lucid.linalg.qr(a.detach())]
before = results()
print("numba" in sys.modules)
import lucid_kernels.cpu.runtime.jit
after = results()
print("lucid_kernels.cpu.linalg.small_decompositions" in sys.modules, all(map(lucid.allclose, before, after)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout.split() == ["False", "True", "True"], done.stderr


@pytest.mark.parametrize("rows", [4, 33])
def test_errors_are_the_same_on_both_sides_of_the_limit(rows: int) -> None:
    a = lucid.eye(rows)
    a[1, 1] = 0
    assert lucid.linalg.inv_ex(a).info.item() == lucid.linalg.solve_ex(a, a).info.item() == 2
    assert lucid.linalg.cholesky_ex(a).info.item() == 2
    with pytest.raises(RuntimeError, match="diagonal element 2 is zero"):
        lucid.linalg.inv(a)
    with pytest.raises(RuntimeError, match="leading minor of order 2"):
        lucid.linalg.cholesky(a)
