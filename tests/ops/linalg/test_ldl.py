"""Factors of symmetric indefinite matrices: of SciPy's layout, what they solve, reports, refusals."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid import linalg


def symmetric(n, dtype="float64", hermitian=False, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(*batch, n, n)) * (rng.random((*batch, n, n)) < 0.7)
    if dtype.startswith("complex"):
        a = a + 1j * rng.normal(size=a.shape)
    a = (a + np.swapaxes(a.conj() if hermitian else a, -1, -2)).astype(dtype)
    a[..., range(n // 2), range(n // 2)] = 0  # so that there are pivots of two rows
    return a


@pytest.mark.parametrize(("dtype", "hermitian"), [("float64", False), ("float32", True), ("complex128", False), ("complex128", True)])
def test_solves(dtype, hermitian, device):
    for n, batch, columns in ((1, (), 2), (2, (), 1), (7, (3,), 4), (12, (2, 1), 3), (0, (2,), 1)):
        a, b = symmetric(n, dtype, hermitian, batch), np.random.default_rng(1).normal(size=(*batch, n, columns)).astype(dtype)
        if n == 1:
            a[...] = 3
        factors = linalg.ldl_factor(lucid.tensor(a, device=device), hermitian=hermitian)
        assert factors.pivots.dtype == lucid.int32 and factors.LD.device == device
        x = linalg.ldl_solve(*factors, lucid.tensor(b, device=device), hermitian=hermitian)
        np.testing.assert_allclose(a @ x.cpu().numpy(), b, atol=1e-3 if dtype == "float32" else 1e-9)


def test_layout_and_pivots_are_those_of_lapack():
    lapack = pytest.importorskip("scipy.linalg.lapack")
    seen: list[bool] = []
    for seed in range(5):
        for dtype, hermitian, function in (("float64", False, lapack.dsytrf), ("complex128", False, lapack.zsytrf),
                                           ("complex128", True, lapack.zhetrf)):
            a = symmetric(9, dtype, hermitian, seed=seed)
            expected, pivots, info = function(a, lower=1)
            found = linalg.ldl_factor_ex(lucid.tensor(a), hermitian=hermitian)
            assert found.info.item() == info == 0
            np.testing.assert_allclose(found.LD.numpy(), np.tril(expected), atol=1e-10)
            seen.append((pivots < 0).any())
            np.testing.assert_array_equal(found.pivots.numpy(), pivots)
    assert any(seen)


def test_reports_meta_and_refusals():
    found = linalg.ldl_factor_ex(lucid.zeros(2, 3, 3))
    assert found.info.tolist() == [1, 1] and found.pivots.tolist() == [[1, 2, 3]] * 2
    assert linalg.ldl_factor_ex(lucid.ones(2, 3, 3, device="meta")).pivots.shape == (2, 3)
    with pytest.raises(RuntimeError, match="singular"):
        linalg.ldl_factor(lucid.zeros(2, 2))
    for call in (lambda: linalg.ldl_factor(lucid.ones(2, 3)), lambda: linalg.ldl_factor(lucid.ones(2)),
                 lambda: linalg.ldl_factor(lucid.ones(2, 2).long()), lambda: linalg.ldl_factor(lucid.ones(2, 2).half()),
                 lambda: linalg.ldl_solve(lucid.ones(2, 2), lucid.tensor([1, 2, 3]).int(), lucid.ones(2, 1)),
                 lambda: linalg.ldl_solve(lucid.ones(2, 2), lucid.tensor([1, 2]).int(), lucid.ones(3, 1)),
                 lambda: linalg.ldl_factor(lucid.eye(2).requires_grad_()).LD.sum().backward()):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(IndexError):
        linalg.ldl_solve(lucid.ones(2, 2), lucid.tensor([1, 2]).int(), lucid.ones(2))
