"""Tensors, lists and numbers as indices in recorded calls."""
from __future__ import annotations

import pytest

import lucid
from lucid import nn


@pytest.mark.parametrize("indexed", [
    lambda w, i: w[i], lambda w, i: w[i, i % 2], lambda w, i: w[:, i % 2], lambda w, i: w[i.reshape(-1, 1), i % 2]])
def test_gradients(indexed, device):
    w = nn.Parameter(lucid.randn(7, 2, device=device))

    def step(i):
        w.grad = None
        loss = (indexed(w, i) ** 2).sum()
        loss.backward()
        return loss

    compiled = lucid.compile(step, fullgraph=device == "cpu")
    for _ in range(4):
        i = lucid.randint(0, 7, (5,), device=device)
        ours, gradient = compiled(i).item(), w.grad.clone()
        assert ours == step(i).item() and (gradient == w.grad).all()


def test_lists_and_bools_as_indices(device):
    compiled = lucid.compile(lambda x: (x[..., [5, 0, 1]], x[[1, 0], 2], x[True, 1] * 2), fullgraph=True)
    for number in range(4):
        x = lucid.arange(12.0, device=device).reshape(2, 6) + number
        first, second = x.tolist()
        picked, column, row = compiled(x)
        assert picked.tolist() == [[values[5], values[0], values[1]] for values in (first, second)]
        assert column.tolist() == [second[2], first[2]]
        assert row.tolist() == [[2 * value for value in second]]
    assert compiled._replays == 2


@pytest.mark.parametrize("indexed", [
    lambda x, i: x[i] * 1, lambda x, i: x[:, i] * 1, lambda x, i: x[(i,)] * 1, lambda x, i: x[1, i] * 1, lambda x, i: x[i > 1] * 1,
    lambda x, i: x.clone().index_put_((i,), lucid.tensor(5.0))])
@pytest.mark.filterwarnings("ignore:lucid.compile")
def test_a_number_in_a_tensor_may_be_another_one_in_a_later_call(indexed):
    x = lucid.arange(9.0).reshape(3, 3)
    compiled = lucid.compile(indexed)
    for number in (0, 0, 0, 2, 1):  # it is the same while it is recorded
        i = lucid.tensor(number)
        assert compiled(x, i).tolist() == indexed(x, i).tolist()


@pytest.mark.filterwarnings("ignore:lucid.compile")
def test_an_element_is_written_where_a_tensor_says():
    def written(x, i):
        y = x.clone()
        y[i] = 7.0
        y[:, i] *= 2
        return y

    x = lucid.arange(9.0).reshape(3, 3)
    compiled = lucid.compile(written)
    for number in (0, 0, 0, 2, 1):
        i = lucid.tensor(number)
        assert compiled(x, i).tolist() == written(x, i).tolist()
