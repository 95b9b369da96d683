"""Arithmetic: what the table of operations does not ask."""
from __future__ import annotations

import pytest

import lucid


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_the_second_gradient_of_remainders_is_zeros(name: str, device: str) -> None:
    a, b = (lucid.tensor(data, device=device, requires_grad=True) for data in ([5.5, -3.2], [2.0, 1.5]))
    slope = lucid.autograd.grad(getattr(lucid, name)(a, b).sum(), b, create_graph=True)[0]
    assert slope.tolist() == [-2, 3 if name == "remainder" else 2]
    for second in lucid.autograd.grad(slope.sum(), (a, b)):
        assert second.shape == (2,) and not second.any()
