"""LU factors, permutations and triangular systems against NumPy's products, in every layout, and where matrices are singular."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.linalg import lapack_solve

pytestmark = pytest.mark.skipif(not lapack_solve.available(), reason="NumPy has another LAPACK than that of its wheels")
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
SHAPES = [(5, 5), (3, 7), (7, 3), (2, 3, 4, 4), (70, 9, 9), (1, 1), (90, 90), (3, 0, 0), (0, 4, 4), (2, 0, 3), (2, 3, 0)]


def matrices(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return x.astype(dtype)


def tolerance(dtype):
    return 2e-4 if np.finfo(dtype).eps > 1e-10 else 1e-11


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_matrix(shape, dtype):
    a = matrices(shape, dtype)
    given = a.copy()
    compact, pivots, info = lapack_solve.lu_factor(a)
    np.testing.assert_array_equal(a, given)
    rows, columns = shape[-2:]
    k = min(rows, columns)
    assert compact.shape == shape and compact.dtype == dtype and pivots.shape == (*shape[:-2], k)
    assert pivots.dtype == info.dtype == np.int32 and info.shape == shape[:-2] and not info.any()
    lower = np.tril(compact[..., :k], -1) + np.eye(rows, k, dtype=dtype)
    order = lapack_solve.lu_permutation(pivots, rows=rows)
    ordered = np.take_along_axis(a, order[..., None], -2) if a.size else a
    np.testing.assert_allclose(lower @ np.triu(compact[..., :k, :]), ordered, atol=tolerance(dtype))
    sizes = np.abs(lower.real) + np.abs(lower.imag)
    assert (sizes <= 2 + 1e-5).all()  # the pivots are the largest of their columns


def test_a_matrix_in_any_layout():
    a = matrices((4, 6, 8), np.float64)
    for view in (a.swapaxes(-1, -2), a[:, ::2, 1::2], np.broadcast_to(a[0], (3, 6, 8))):
        for result, expected in zip(lapack_solve.lu_factor(view), lapack_solve.lu_factor(view.copy()), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_the_first_zero_pivot_of_each_matrix():
    stack = np.stack([np.diag([1.0, 2, 3]), np.diag([1.0, 0, 0]), np.zeros((3, 3)), np.full((3, 3), np.nan)])
    compact, _, info = lapack_solve.lu_factor(stack)
    np.testing.assert_array_equal(info, [0, 2, 1, 0])
    np.testing.assert_array_equal(compact[1], stack[1])


def test_permutation_of_swaps():
    pivots = np.array([[3, 3, 4], [1, 2, 3]], np.int32)
    np.testing.assert_array_equal(lapack_solve.lu_permutation(pivots, rows=4), [[2, 0, 3, 1], [0, 1, 2, 3]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
def test_triangles(dtype, upper, unitriangular):
    """Solutions of stacks by rows, by columns, strided, broadcast and single; the other triangle is not read."""
    n = 6
    t = matrices((2, 3, n, n), dtype) + np.asarray(n * np.eye(n), dtype)
    t[..., ~(np.triu(np.ones((n, n), bool)) if upper else np.tril(np.ones((n, n), bool)))] = np.nan
    b = matrices((2, 3, n, 4), dtype, 1)
    padded = np.zeros((2, 3, 2 * n, 2 * n), dtype)
    padded[..., ::2, ::2] = t
    layouts = [t, t.swapaxes(-1, -2).copy().swapaxes(-1, -2), padded[..., ::2, ::2], np.broadcast_to(t[0, 0], t.shape)]
    for given in layouts:
        triangle = np.triu(given, int(unitriangular)) if upper else np.tril(given, -int(unitriangular))
        triangle = np.nan_to_num(triangle) + (np.eye(n, dtype=dtype) if unitriangular else 0)
        for right in (b, b.swapaxes(-1, -2).copy().swapaxes(-1, -2), b[..., :1], b[..., :0]):
            kept = right.copy()
            x = lapack_solve.solve_triangular(given, right, upper=upper, unitriangular=unitriangular)
            assert x.shape == right.shape and x.dtype == dtype and x.flags.c_contiguous
            np.testing.assert_array_equal(right, kept)
            np.testing.assert_allclose(triangle @ x, right, atol=tolerance(dtype))
    single = lapack_solve.solve_triangular(t[0, 0], b[0, 0], upper=upper, unitriangular=unitriangular)
    np.testing.assert_allclose(single, lapack_solve.solve_triangular(t, b, upper=upper, unitriangular=unitriangular)[0, 0])


def test_empty_triangles_and_zero_diagonals():
    assert lapack_solve.solve_triangular(np.zeros((2, 0, 0)), np.zeros((2, 0, 3)), upper=True, unitriangular=False).shape == (2, 0, 3)
    assert lapack_solve.solve_triangular(np.zeros((0, 3, 3)), np.zeros((0, 3, 2)), upper=True, unitriangular=False).shape == (0, 3, 2)
    x = lapack_solve.solve_triangular(np.array([[1.0, 0], [0, 0]]), np.array([[1.0], [2.0]]), upper=False, unitriangular=False)
    np.testing.assert_array_equal(x, [[1.0], [np.inf]])
