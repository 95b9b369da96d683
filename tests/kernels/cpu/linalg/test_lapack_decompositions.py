"""Factorizations and least squares against NumPy's, which computes them in float64, for stacks and in every shape."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.linalg import lapack_decompositions, lapack_solve

from .test_lapack_solve import DTYPES, matrices, tolerance

pytestmark = pytest.mark.skipif(not lapack_solve.available(), reason="NumPy has another LAPACK than that of its wheels")
REAL = DTYPES[:2]
SHAPES = [(5, 5), (3, 7, 4), (2, 3, 4, 9), (1, 1), (80, 6, 6), (100, 40), (40, 100)]
SQUARE = [(5, 5), (1, 1), (80, 6, 6), (40, 40)]


def definite(shape, dtype):
    a = matrices(shape, dtype)
    return a @ a.conj().swapaxes(-1, -2) + np.asarray(shape[-1] * np.eye(shape[-1]), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_definite_matrices(shape, dtype):
    a, b = definite(shape, dtype), matrices((*shape[:-1], 3), dtype)
    factor, info = lapack_decompositions.cholesky(a)
    assert factor.dtype == dtype and info.dtype == np.int32 and not info.any() and factor.flags.c_contiguous
    np.testing.assert_allclose(factor, np.linalg.cholesky(a), atol=tolerance(dtype))
    x, info = lapack_solve.solve(a, b)
    assert x.dtype == dtype and not info.any() and x.flags.c_contiguous
    np.testing.assert_allclose(a @ x, b, atol=tolerance(dtype))
    inverse, info = lapack_solve.inverse(a)
    assert inverse.dtype == dtype and not info.any() and inverse.flags.c_contiguous
    np.testing.assert_allclose(inverse, np.linalg.inv(a), atol=tolerance(dtype))


def test_matrices_without_a_result():
    stack = np.stack([np.eye(3), np.diag([1.0, -1, 1]), np.eye(3), np.diag([1.0, 1, 0])])
    factor, info = lapack_decompositions.cholesky(stack)
    np.testing.assert_array_equal(info, [0, 2, 0, 3])
    np.testing.assert_array_equal(np.isnan(factor).all((1, 2)), [False, True, False, True])
    for result, info in (lapack_solve.solve(stack, stack @ stack), lapack_solve.inverse(stack)):
        np.testing.assert_array_equal(info, [0, 0, 0, 3])
        np.testing.assert_array_equal(result[:3], stack[:3])
        assert np.isnan(result[3]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, dtype):
    a = matrices(shape, dtype)
    for mode in ("reduced", "complete", "r"):
        q, r = lapack_decompositions.qr(a, mode=mode)
        expected = np.linalg.qr(a, mode=mode)
        np.testing.assert_allclose(r, expected if mode == "r" else expected[1], atol=tolerance(dtype))
        if mode != "r":
            np.testing.assert_allclose(q, expected[0], atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape, dtype):
    a = matrices(shape, dtype)
    for full in (False, True):
        u, values, vh, info = lapack_decompositions.svd(a, full_matrices=full)
        expected = np.linalg.svd(a, full_matrices=full)
        assert not info.any() and [x.shape for x in (u, values, vh)] == [x.shape for x in expected]
        np.testing.assert_allclose(values, expected[1], atol=tolerance(dtype))
        k = values.shape[-1]
        np.testing.assert_allclose(u[..., :k] * values[..., None, :] @ vh[..., :k, :], a, atol=tolerance(dtype))
        for basis in (u.swapaxes(-1, -2) @ u, vh @ vh.swapaxes(-1, -2)):
            np.testing.assert_allclose(basis, np.broadcast_to(np.eye(basis.shape[-1]), basis.shape), atol=tolerance(dtype))
    _, alone, _, info = lapack_decompositions.svd(a, full_matrices=False, vectors=False)
    assert not info.any()
    np.testing.assert_allclose(alone, values, atol=tolerance(dtype))


def test_svd_of_nan_fails():
    assert lapack_decompositions.svd(np.full((4, 4), np.nan), full_matrices=False)[3] != 0


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", SQUARE)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(shape, dtype, uplo):
    a = matrices(shape, dtype)
    triangle = np.tril(a) if uplo == "L" else np.triu(a)
    symmetric = triangle + triangle.swapaxes(-1, -2) - triangle * np.eye(shape[-1], dtype=dtype)
    values, vectors, info = lapack_decompositions.eigh(a, uplo=uplo, vectors=True)
    assert not info.any() and values.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(symmetric @ vectors, vectors * values[..., None, :], atol=tolerance(dtype))
    alone, _, info = lapack_decompositions.eigh(a, uplo=uplo, vectors=False)
    assert not info.any()
    np.testing.assert_allclose(alone, values, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (3, 20, 6), (2, 3, 6, 20)])
def test_least_squares(shape, dtype):
    a, b = matrices(shape, dtype), matrices((*shape[:-1], 2), dtype, 1)
    x, ranks = lapack_decompositions.lstsq(a, b, rcond=1e-6)
    assert x.dtype == dtype and ranks.dtype == np.int64 and (ranks == min(shape[-2:])).all()
    np.testing.assert_allclose(x, np.linalg.pinv(a) @ b, atol=tolerance(dtype))
    a[..., -1, :], a[..., -2, :] = a[..., 0, :], a[..., 1, :]
    a[..., :, -1], a[..., :, -2] = a[..., :, 0], a[..., :, 1]
    x, ranks = lapack_decompositions.lstsq(a, b, rcond=1e-5)
    assert (ranks == np.linalg.matrix_rank(a)).all()
    np.testing.assert_allclose(x, np.linalg.pinv(a, rcond=1e-5) @ b, atol=10 * tolerance(dtype))
