"""scatter_reduce, index_reduce, put and masked_scatter_ against PyTorch; errors leave the tensor as it is."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree

RNG = np.random.default_rng(0)
X, S = RNG.normal(size=(4, 5)), RNG.normal(size=(3, 5))
INDEX = RNG.integers(0, 4, (3, 5))
KINDS = {"plain": (X, S), "zeros": (np.where(np.abs(X) < 0.5, 0, X), np.where(np.abs(S) < 0.7, 0, S)),
         "float32": (X.astype(np.float32), S.astype(np.float32)), "integers": (np.round(X * 3).astype(np.int64),
                                                                              np.round(S * 3).astype(np.int64)),
         "nan": (np.where(X > 1, np.nan, X), np.where(S > 1, np.nan, S))}


@pytest.mark.torch
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin", "none"])
def test_reductions(reduce, kind, include_self, device):
    x, source = KINDS[kind]
    grad = kind in ("plain", "float32") or (kind == "zeros" and reduce == "prod")  # ties: below
    agree(lambda lib, x, i, s: lib.scatter_reduce(x, 0, i, s, reduce, include_self=include_self), x, INDEX, source, device=device,
          rtol=1e-5, grad=grad)
    agree(lambda lib, x, i, s: (x * 2).scatter_reduce_(0, i, s, reduce, include_self=include_self), x, INDEX, source,
          device=device, rtol=1e-5, grad=grad)
    agree(lambda lib, x, i, s: lib.index_reduce(x, 0, i, s, reduce, include_self=include_self), x, np.array([0, 2, 2]), source,
          device=device, rtol=1e-5, grad=grad)
    agree(lambda lib, x, i, s: (x * 2).index_reduce_(0, i, s, reduce, include_self=include_self), x, np.array([0, 2, 2]), source,
          device=device, rtol=1e-5, grad=grad)


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_ties_share_the_gradient(reduce, device):
    agree(lambda lib, x, i, s: lib.scatter_reduce(x, 0, i, s, reduce), np.round(X), INDEX, np.round(S), device=device)
    # Without itself the element that is written over gets and takes no share.
    x, source = lucid.zeros(1, device=device, requires_grad=True), lucid.zeros(2, device=device, requires_grad=True)
    x.scatter_reduce(0, lucid.zeros(2, dtype=lucid.int64, device=device), source, reduce, include_self=False).sum().backward()
    assert source.grad.tolist() == [0.5, 0.5]
    assert x.grad.tolist() == [0.0]


@pytest.mark.parametrize("reduce", ["add", "multiply", "mean"])
def test_scatter_with_a_reduction(reduce, device):
    agree(lambda lib, x, i, s: x.scatter_(0, i, s, reduce=reduce), X, INDEX, S, device=device, grad=False)
    agree(lambda lib, x, i: lib.scatter(x, 0, i, 2.5, reduce=reduce), X, INDEX, device=device, grad=False)


def test_put(device):
    i, s = np.array([0, -1, 7]), np.array([1.0, 2.0, 3.0])
    agree(lambda lib, x, i, s: lib.put(x, i, s), X, i, s, device=device)
    agree(lambda lib, x, i, s: (x * 1).t().put_(i, s), X, i, s, device=device)
    agree(lambda lib, x, i, s: x.t().put(i * 0 + 1, s, True), X, i, s, device=device)
    agree(lambda lib, x, i, s: lib.put(x, i, s[:2]), X, i, s, device=device)
    agree(lambda lib, x, i, s: lib.put(x, i, s.float()), X, i, s, device=device)
    agree(lambda lib, x, i, s: lib.put(x, i[:0], s[:0]), X, i, s, device=device)
    agree(lambda lib, x, i, s: lib.put(x, i[:1], s[:1]), np.array(1.0), i, s, device=device)


@pytest.mark.parametrize("accumulate", [False, True])
def test_put_of_many(accumulate):
    rng = np.random.default_rng(0)
    for x in (rng.random((70, 80)), rng.random((80, 70)).T, rng.random((70, 160))[:, ::2]):
        index, source = rng.permutation(5600) - 2800, rng.random(5600)
        wanted = x.copy()
        np.add.at(wanted.reshape(-1), index, source) if accumulate else wanted.put(index, source)
        found = lucid.from_numpy(x.copy(order="K")).put(lucid.from_numpy(index), lucid.from_numpy(source), accumulate)
        np.testing.assert_allclose(found.numpy(), wanted)


def test_put_into_a_tensor_that_needs_a_gradient():
    x, source = lucid.zeros(2, 3, requires_grad=True), lucid.ones(2, requires_grad=True)
    (x.put(lucid.tensor([4, 0]), source) * lucid.arange(6.0).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 1, 2], [3, 0, 5]]
    assert source.grad.tolist() == [4, 0]
    with pytest.raises(RuntimeError, match="leaf"):
        x.put_(lucid.tensor([4, 0]), source)


def test_masked_scatter(device):
    source = np.arange(20.0)
    agree(lambda lib, x, m, s: (x * 1).masked_scatter_(m, s), X, X > 0, source, device=device)
    agree(lambda lib, x, m, s: lib.masked_scatter(x[0], m, s), X, X > 0, source, device=device)
    agree(lambda lib, x, m, s: x.masked_scatter(m, s[:2]), X, X > 0, source, device=device, grad=False)
    agree(lambda lib, x, m, s: x.masked_scatter(m, s.float()), X, X > 0, source, device=device, grad=False)


def test_an_index_out_of_range_changes_nothing():
    x = lucid.zeros(4)
    with pytest.raises(IndexError):
        x.put_(lucid.tensor([1, 9]), lucid.ones(2))
    with pytest.raises(IndexError):
        x.scatter_reduce_(0, lucid.tensor([1, 9]), lucid.ones(2), "amax")
    assert x.tolist() == [0.0] * 4
