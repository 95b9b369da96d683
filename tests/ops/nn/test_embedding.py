"""Embedding: rows, gradients of repeated and padding rows, bounds, errors, PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, close, leaf, raises_like_torch, same_as_torch, uniform

INDICES = np.array([[0, 3, 3], [1, 3, 0]])


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_rows(dtype, device):
    weight = uniform(5, 2)
    y = F.embedding(lucid.tensor(INDICES, dtype=dtype, device=device), lucid.tensor(weight, device=device))
    assert y.device == device
    close(y, weight[INDICES], 0)
    close(F.embedding(lucid.tensor(3, device=device), lucid.tensor(weight, device=device)), weight[3], 0)
    assert F.embedding(lucid.tensor(np.zeros((0, 3), "int64"), device=device),
                       lucid.tensor(weight, device=device)).shape == (0, 3, 2)


def test_derivatives(device):
    indices = lucid.tensor(INDICES, device=device)
    check_derivatives(lambda w: F.embedding(indices, w), device, uniform(5, 2))
    check_derivatives(lambda w: F.embedding(indices, w) ** 3, device, uniform(5, 2))


@pytest.mark.parametrize("options", [{}, {"padding_idx": 3}, {"padding_idx": -5}, {"scale_grad_by_freq": True},
                                     {"padding_idx": 0, "scale_grad_by_freq": True}], ids=str)
def test_gradients_of_repeated_and_padding_rows(options, device):
    same_as_torch(lambda t, F, i, w: F.embedding(i, w, **options), INDICES, uniform(5, 2), device=device)


def test_a_padding_row_has_values_but_no_gradient():
    weight = leaf(uniform(3, 2))
    y = F.embedding(lucid.tensor([1, 2]), weight, padding_idx=1)
    assert y[0].tolist() == weight[1].tolist()
    (y * y).sum().backward()
    assert weight.grad[1].tolist() == [0.0, 0.0] and weight.grad[2].tolist() != [0.0, 0.0]


@pytest.mark.parametrize("index", [5, -1])
def test_an_index_out_of_range(index, device):
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(lucid.tensor([0, index], device=device), lucid.ones(5, 2, device=device)).cpu()


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.embedding(t.tensor([1.0]), t.ones(5, 2)), "to have one of the following scalar types: Long, Int"),
    (lambda t, F: F.embedding(t.tensor([1]), t.ones(5)), "'weight' must be 2-D"),
    (lambda t, F: F.embedding(t.tensor([1]), t.ones(5, 2), padding_idx=5), "Padding_idx must be within num_embeddings"),
])
def test_errors(call, match):
    raises_like_torch(call, match)
