"""`vmap` over sparse tensors: what it gives for the dense ones, sparse where the function's results are."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.func import grad, vmap

DENSE = [[[1.0, 0.0, -2.0], [0.0, 3.0, 0.0]], [[0.0, 4.0, 0.0], [0.0, 0.0, 0.5]], [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]


def close(x: Any, y: Any) -> None:
    np.testing.assert_allclose(x.detach().to_dense().cpu().numpy(), y.detach().cpu().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [
    lambda a, b: a + a, lambda a, b: a * 2, lambda a, b: -a, lambda a, b: a.sin(), lambda a, b: lucid.relu(a), lambda a, b: abs(a),
    lambda a, b: a, lambda a, b: a.clone(), lambda a, b: a * b, lambda a, b: a.t(), lambda a, b: a @ b[0], lambda a, b: a.sum(),
    lambda a, b: a @ b.t(), lambda a, b: (b.sin() * 2) @ a.t(), lambda a, b: a.to_dense() + b])
def test_results_are_those_of_dense_tensors(function: Callable[..., Any], device: str) -> None:
    dense = lucid.tensor(DENSE, device=device)
    other = lucid.arange(18.0, device=device).view(3, 2, 3)
    close(vmap(function)(dense.to_sparse(), other), vmap(function)(dense, other))


def test_layouts_and_places_of_the_batch() -> None:
    dense = lucid.tensor(DENSE)
    kept, full, count = vmap(lambda a: (a * 2, a.to_dense(), lucid.tensor(a.sparse_dim())), in_dims=1, out_dims=(-1, 1, 0))(
        dense.to_sparse())
    assert kept.is_sparse and kept.shape == (3, 3, 2) and not full.is_sparse and full.shape == (3, 2, 3)
    close(kept, dense.movedim(1, -1) * 2)
    close(full, dense)
    assert count.tolist() == [2, 2]
    nested = vmap(vmap(lambda a, b: a.to_dense() * b), in_dims=(0, None))(dense.to_sparse(), lucid.tensor([1.0, 10.0]))
    close(nested, dense * lucid.tensor([1.0, 10.0]).view(1, 2, 1))
    chunks = vmap(lambda a, b: a @ b, chunk_size=2)(dense.to_sparse(), lucid.ones(3, 3))
    close(chunks, dense.sum(-1))


def test_gradients() -> None:
    dense = lucid.tensor(DENSE, requires_grad=True)
    other = lucid.arange(9.0).view(3, 3).requires_grad_()
    loss = vmap(lambda a, b: (a @ b).sin())(dense.to_sparse(), other).sum()
    expected = vmap(lambda a, b: (a @ b).sin())(dense, other).sum()
    found, wanted = (lucid.autograd.grad(each, (dense, other)) for each in (loss, expected))
    close(found[0] * (dense != 0), wanted[0] * (dense != 0))
    close(found[1], wanted[1])
    close(vmap(grad(lambda b, a: (a @ b).sin().sum()))(other.detach(), dense.detach().to_sparse()), wanted[1])


def test_random_numbers() -> None:
    sparse = lucid.eye(3).to_sparse()
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda a: a * lucid.rand(()))(sparse)
    found = vmap(lambda a: lucid.rand(4) + a.to_dense().sum(), randomness="different")(sparse)
    assert found.shape == (3, 4) and len({*found.reshape(-1).tolist()}) == 12
    with pytest.raises(RuntimeError, match="randomness='same' is not supported over sparse"):
        vmap(lambda a: a, randomness="same")(sparse)


def test_what_is_refused() -> None:
    with pytest.raises(RuntimeError, match="layout lucid.sparse_csr, over which vmap cannot go"):
        vmap(lambda a: a)(lucid.eye(3).to_sparse_csr())
    with pytest.raises(RuntimeError, match="batch of size 0"):
        vmap(lambda a: a)(lucid.zeros(0, 3).to_sparse())
    with pytest.raises(ValueError, match="must only return Tensors"):
        vmap(lambda a: 3)(lucid.eye(3).to_sparse())
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        vmap(lambda a, b: a)(lucid.eye(3).to_sparse(), lucid.ones(2))
