"""Step functions: their gradient is 0 whatever comes from above."""
from __future__ import annotations

import math

import pytest

import lucid


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round", "trunc", "angle"])
def test_the_gradient_is_zero_also_for_nan_and_infinity(name: str, device: str) -> None:
    x = lucid.tensor([0.5, 1.5, -2.5], device=device, requires_grad=True)
    getattr(lucid, name)(x).backward(lucid.tensor([math.nan, math.inf, 1.0], device=device))
    assert x.grad.tolist() == [0, 0, 0]


def test_fused(device: str) -> None:
    x = lucid.tensor([0.5, 1.5, -2.5], device=device, requires_grad=True)
    lucid.fuse(lambda x: lucid.floor(x) + lucid.sign(x))(x).backward(lucid.tensor([math.nan, math.inf, 1.0], device=device))
    assert x.grad.tolist() == [0, 0, 0]


def test_the_sign_of_copysign(device: str) -> None:
    a, b = (lucid.tensor([1.0, 2.0], device=device, requires_grad=True) for _ in range(2))
    lucid.copysign(a, b).backward(lucid.tensor([math.inf, 1.0], device=device))
    assert a.grad.tolist() == [math.inf, 1] and b.grad.tolist() == [0, 0]
