"""Gradients through index tensors are replayed, with the indices of each call."""
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
