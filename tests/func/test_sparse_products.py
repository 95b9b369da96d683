"""Forward mode and batches through products of sparse matrices, against those of the dense ones."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd import forward_ad
from lucid.func import hessian, jacfwd, jacrev, jvp, vmap

DENSE = [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]


def close(x: Any, y: Any) -> None:
    np.testing.assert_allclose(x.detach().cpu().numpy(), y.detach().cpu().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_tangents_of_products(layout: str, device: str) -> None:
    dense = lucid.tensor(DENSE, device=device)
    sparse = getattr(dense, f"to_sparse_{layout}")()
    x, t = (lucid.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device) * scale for scale in (1, 0.5))
    functions = [lambda a, b: (a @ b).sin()] if layout != "coo" else [
        lambda a, b: (a @ b).sin(), lambda a, b: a @ b[:, 0], lambda a, b: b.T @ a.T if not a.is_sparse else (a @ b).T]
    for function in functions:
        for ours, expected in zip(jvp(lambda b, f=function: f(sparse, b), (x,), (t,)),
                                  jvp(lambda b, f=function: f(dense, b), (x,), (t,)), strict=True):
            close(ours, expected)
    close(jacfwd(lambda b: sparse @ b)(x), jacrev(lambda b: dense @ b)(x))
    close(hessian(lambda b: ((sparse @ b) ** 3).sum())(x), hessian(lambda b: ((dense @ b) ** 3).sum())(x))


def test_tangents_of_values_and_of_what_is_kept() -> None:
    sparse, x = lucid.tensor(DENSE).to_sparse(), lucid.arange(6.0).view(3, 2)
    places = sparse.coalesce().indices()

    def of_values(values: Any) -> Any:
        return ((lucid.sparse_coo_tensor(places, values, (2, 3)) @ x).sin() ** 2).sum()

    def of_dense(values: Any) -> Any:
        return ((lucid.zeros(2, 3).index_put((places[0], places[1]), values) @ x).sin() ** 2).sum()

    values = sparse.coalesce().values()
    close(jacfwd(of_values)(values), jacrev(of_dense)(values))
    close(hessian(of_values)(values), hessian(of_dense)(values))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, lucid.ones(3, 2))
        close(forward_ad.unpack_dual(lucid.sparse.mm(sparse, dual)).tangent, lucid.tensor(DENSE) @ lucid.ones(3, 2))


def test_what_there_is_not_says_so() -> None:
    sparse = lucid.tensor(DENSE).to_sparse()
    with pytest.raises(NotImplementedError, match="give its values one"):
        jvp(lambda a: a @ lucid.ones(3, 1), (sparse,), (sparse,))
    found = vmap(lambda a, b: a @ b, in_dims=(None, 0))(sparse, lucid.ones(4, 3, 2))
    close(found, (lucid.tensor(DENSE) @ lucid.ones(3, 2)).expand(4, 2, 2))
