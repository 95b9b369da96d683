"""Eigenvalues and singular values of small matrices against NumPy's in float64: shapes, multiple values, sizes, NaN and inf."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.linalg.small_eigenvalues import eigvalsh, svdvals

import lucid


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (4, 4), (2, 3, 5, 5), (300, 3, 3), (16, 16)])
def test_eigenvalues(shape: tuple[int, ...], dtype: Any) -> None:
    a = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    kept = a.copy()
    for uplo in ("L", "U"):
        values, info = eigvalsh(a, uplo=uplo)
        exact = np.linalg.eigvalsh(a.astype(np.float64), uplo)
        assert values.dtype == dtype and values.shape == shape[:-1] and info.shape == shape[:-2] and not info.any()
        np.testing.assert_allclose(values, exact, atol=8 * np.finfo(dtype).eps * np.abs(exact).max())
    np.testing.assert_array_equal(a, kept)


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 7), (7, 3), (2, 3, 5, 4), (200, 2, 6), (16, 16), (1, 5), (20, 8)])
def test_singular_values(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32).swapaxes(-1, -2)
    values, info = svdvals(x)
    exact = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    assert values.dtype == np.float32 and info.shape == x.shape[:-2] and not info.any()
    np.testing.assert_allclose(values, exact, atol=2e-7 * exact.max())


MATRICES = [np.zeros((4, 4)), np.eye(5), np.ones((6, 6)), np.diag([1e200, 2e200, 3e190]), np.full((3, 3), 1e-300),
            np.eye(4)[::-1], np.kron(np.eye(4), [[0.0, 1], [1, 0]]), np.diag([2.0, 2, 2, 1]) + np.eye(4, k=1) + np.eye(4, k=-1)]


@pytest.mark.parametrize("a", MATRICES)
def test_multiple_eigenvalues_and_extreme_sizes(a: Any) -> None:
    values, info = eigvalsh(a, uplo="L")
    assert not info.any()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol=0, atol=1e-14 * np.abs(a).max())


def test_matrices_that_are_not_finite() -> None:
    a = np.stack([np.eye(2), np.array([[np.nan, 0], [0, 1]]), np.array([[1, 0], [np.inf, 1]])])
    assert eigvalsh(a, uplo="L")[1].tolist() == [0, 1, 1]
    assert svdvals(a.astype(np.float32))[1].tolist() == [0, 1, 1]
    lucid.randn(1)  # imports the kernels
    for name in ("eigvalsh", "svdvals"):
        with pytest.raises(RuntimeError, match="failed to converge"):
            getattr(lucid.linalg, name)(lucid.tensor(a, dtype=lucid.float32))


def test_rank_one_has_zeros_of_singular_values() -> None:
    u, v = np.random.default_rng(0).standard_normal((2, 5)).astype(np.float32)
    values, _ = svdvals(np.outer(u, v))
    assert (values[1:] <= 1e-7 * values[0]).all()
    assert lucid.linalg.matrix_rank(lucid.tensor(np.outer(u, v))).item() == 1
