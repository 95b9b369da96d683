"""`segment_reduce` against loops: reductions, dimensions, empty segments, gradients, refusals."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck

FUNCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "amin": np.min}


@pytest.mark.parametrize("initial", [None, 0.5])
@pytest.mark.parametrize("reduce", FUNCTIONS)
def test_values(reduce, initial, device):
    data = np.random.default_rng(0).normal(size=(2, 7, 3))
    lengths = np.array([[2, 0, 4, 1], [3, 3, 1, 0]])
    start = {"sum": 0.0, "mean": math.nan, "prod": 1.0, "max": -math.inf, "amin": math.inf}[reduce] if initial is None else initial
    expected = np.full((2, 4, 3), start)
    for i, j in np.ndindex(2, 4):
        part = data[i, lengths[i, :j].sum():lengths[i, :j + 1].sum()]
        if len(part):
            if initial is None:
                expected[i, j] = FUNCTIONS[reduce](part, 0)
            elif reduce == "mean":
                expected[i, j] = (part.sum(0) + initial) / len(part)
            else:
                expected[i, j] = FUNCTIONS[reduce](np.concatenate([np.full((1, 3), initial), part]), 0)
    x, counts = lucid.tensor(data, device=device), lucid.tensor(lengths, device=device)
    np.testing.assert_allclose(lucid.segment_reduce(x, reduce, lengths=counts, axis=1, initial=initial).cpu().numpy(), expected)
    offsets = lucid.tensor(np.concatenate([[[0], [0]], lengths.cumsum(1)], 1), device=device)
    np.testing.assert_allclose(lucid.segment_reduce(x, reduce, offsets=offsets, axis=1, initial=initial).cpu().numpy(), expected)


@pytest.mark.parametrize("reduce", FUNCTIONS)
def test_gradients_of_two_orders(reduce):
    x = lucid.tensor(np.random.default_rng(1).normal(size=(6, 2)), requires_grad=True)
    counts = lucid.tensor([3, 0, 1, 2])
    for initial in (None, 0.1):
        def function(x, initial=initial):
            return lucid.segment_reduce(x, reduce, lengths=counts, initial=initial).nan_to_num(0, 0, 0) ** 2

        assert gradcheck(function, (x,)) and gradgradcheck(function, (x,))


def test_ties_share_the_gradient_and_the_start_has_none():
    x = lucid.tensor([1.0, 2.0, 3.0, 3.0], requires_grad=True)
    lucid.segment_reduce(x, "max", lengths=lucid.tensor([2, 2]), initial=3).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.5, 0.5]
    assert math.isnan(lucid.segment_reduce(lucid.tensor([1.0, math.nan]), "max", lengths=lucid.tensor([2])).item())


@pytest.mark.parametrize(("keywords", "error", "message"), [
    ({"lengths": lucid.tensor([3, 0])}, RuntimeError, "sum to data.size"),
    ({"lengths": lucid.tensor([-1, 5])}, RuntimeError, "negative"), ({}, RuntimeError, "Either lengths or offsets"),
    ({"lengths": lucid.tensor([4]), "axis": 1}, RuntimeError, "last dimension of lengths"),
    ({"lengths": lucid.tensor([4.0])}, NotImplementedError, "Float"),
    ({"lengths": lucid.tensor([[4], [4]]), "axis": 1}, RuntimeError, "leading dimensions"),
    ({"indices": lucid.tensor([4])}, RuntimeError, "indices based")])
def test_what_does_not_fit_is_refused(keywords, error, message):
    with pytest.raises(error, match=message):
        lucid.segment_reduce(lucid.ones(4, 2), "sum", **keywords)
    with pytest.raises(NotImplementedError, match="Long"):
        lucid.segment_reduce(lucid.ones(4).long(), "sum", lengths=lucid.tensor([4]))
    with pytest.raises(RuntimeError, match="must be either"):
        lucid.segment_reduce(lucid.ones(4), "most", lengths=lucid.tensor([4]))
