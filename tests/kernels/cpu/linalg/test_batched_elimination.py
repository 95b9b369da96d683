"""Many small systems, inverses and determinants: against float64, pivots, singular matrices, NaN, strides, blocks."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.linalg.batched_elimination import determinants, solve

import lucid


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("count", "n", "columns"), [(1, 1, 1), (40, 3, 2), (1500, 3, 1), (33, 8, 5), (300, 5, 8)])
def test_values(count: int, n: int, columns: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((count, n, n)).astype(dtype), rng.standard_normal((count, n, columns)).astype(dtype)
    a[::3, 0, 0] = 0 if n > 1 else 2  # which needs a pivot
    wide = a.astype(np.float64)
    bound = 50 * np.finfo(dtype).eps * np.linalg.cond(wide)[:, None, None]
    for found, exact in ((solve(a, b), np.linalg.solve(wide, b)), (solve(a, None), np.linalg.inv(wide))):
        assert found[0].dtype == dtype and not found[1].any()
        assert (np.abs(found[0] - exact) <= bound * np.abs(exact).max((1, 2), keepdims=True)).all()
    exact = np.linalg.det(wide)
    assert (np.abs(determinants(a) - exact) <= bound[:, 0, 0] * np.abs(exact)).all()


def test_singular_matrices_and_nan() -> None:
    a = np.stack([np.eye(3), np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 2.0, 0.0]), np.eye(3)])
    a[4, 1, 0] = np.nan
    y, info = solve(a, None)
    assert info.tolist() == [0, 1, 2, 3, 0]
    np.testing.assert_array_equal(y[0], np.eye(3))
    assert np.isnan(y[1:4]).all() and np.isnan(y[4]).any()
    np.testing.assert_array_equal(determinants(a), [1.0, 0.0, 0.0, 0.0, np.nan])


def test_strides_and_stacks() -> None:
    a = np.random.default_rng(0).standard_normal((3, 3, 4, 5)).transpose(3, 2, 1, 0)
    y, info = solve(a, None)
    assert y.shape == (5, 4, 3, 3) and info.shape == (5, 4) and determinants(a).shape == (5, 4)
    np.testing.assert_allclose(y @ a, np.broadcast_to(np.eye(3), y.shape), atol=1e-10)


def test_the_library_uses_them() -> None:
    """With PyTorch's error, and its result of `inv_ex`."""
    a = lucid.eye(3).repeat(1000, 1, 1) * 2
    assert lucid.equal(lucid.linalg.inv(a), a / 4) and lucid.linalg.det(a).unique().tolist() == [8.0]
    assert lucid.equal(lucid.linalg.solve(a, a), a / 2)
    a[700] = 0
    with pytest.raises(RuntimeError, match="singular"):
        lucid.linalg.inv(a)
    with pytest.raises(RuntimeError, match="singular"):
        lucid.linalg.solve(a, a)
    assert lucid.linalg.inv_ex(a).info.nonzero().tolist() == [[700]]
