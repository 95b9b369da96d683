"""Products with sparse results, as PyTorch's, and as the dense ones."""
from __future__ import annotations

import numpy as np
import pytest

import lucid

DENSE = [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]


def test_products_are_sparse(device: str) -> None:
    dense = lucid.tensor(DENSE, device=device)
    other = lucid.arange(6.0, device=device).view(3, 2)
    sparse = lucid.sparse_coo_tensor([[0, 2, 0, 0], [2, 1, 0, 0]], [2.0, 3.0, 0.5, 0.5], (3, 3), device=device)
    base = lucid.tensor([[0.0, 5.0], [6.0, 0.0], [0.0, 0.0]], device=device).to_sparse()
    product = lucid.smm(sparse, other)
    assert product.layout is lucid.sparse_coo and product._nnz() == 4
    for found, expected in ((product, dense @ other), (sparse.smm(other), dense @ other), (lucid.hspmm(sparse, other), dense @ other),
                            (lucid.sspaddmm(base, sparse, other, beta=2, alpha=3), base.to_dense() * 2 + dense @ other * 3),
                            (base.sspaddmm(sparse, other), base.to_dense() + dense @ other)):
        np.testing.assert_allclose(found.to_dense().cpu().numpy(), expected.cpu().numpy())
    assert lucid.hsmm(sparse, other).values().shape == (2, 2)
    for call in (lambda: lucid.smm(dense, other), lambda: lucid.sspaddmm(dense, sparse, other), lambda: lucid.hspmm(sparse, sparse)):
        with pytest.raises(RuntimeError, match="sparse"):
            call()


def test_gradients() -> None:
    sparse, other = lucid.tensor(DENSE).to_sparse().requires_grad_(), lucid.arange(6.0).view(3, 2).requires_grad_()
    for function in (lucid.smm, lucid.hspmm):
        a, b = lucid.autograd.grad((function(sparse, other).to_dense() ** 2).sum(), (sparse, other))
        x = lucid.tensor(DENSE).requires_grad_()
        c, d = lucid.autograd.grad(((x @ other) ** 2).sum(), (x, other))
        places = lucid.tensor(DENSE) != 0
        a = a.to_dense() if a.is_sparse else a
        np.testing.assert_allclose(a.numpy()[places.numpy()], c.numpy()[places.numpy()])
        np.testing.assert_allclose(b.numpy(), d.numpy())


def test_as_pytorch() -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = torch.tensor(DENSE).to_sparse(), lucid.tensor(DENSE).to_sparse()
    other = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    for name in ("smm", "hspmm", "hsmm"):
        found = getattr(lucid, name)(ours, lucid.from_numpy(other))
        expected = getattr(torch, name)(theirs, torch.from_numpy(other)).coalesce()
        assert found.indices().tolist() == expected.indices().tolist() and found.values().tolist() == expected.values().tolist()
