"""`fill`, and numbers as what `fill_` and `copy_` write."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid


def test_fill_is_a_new_tensor_with_one_number(device):
    x = lucid.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = lucid.fill(x, 3)
    assert y.tolist() == [3, 3]
    assert x.tolist() == [1, 2]
    assert lucid.autograd.grad(y.sum(), x)[0].tolist() == [0, 0]
    value = lucid.tensor(2.0, device=device, requires_grad=True)
    y = lucid.fill(input=lucid.ones(2, 3, device=device), value=value)
    y.sum().backward()
    assert y.tolist() == [[2.0] * 3] * 2
    assert value.grad.item() == 6
    assert lucid.fill(lucid.tensor([1, 2], device=device), 2.7).tolist() == [2, 2]
    assert lucid.fill(lucid.ones(1, device=device).expand(3), 2.0).tolist() == [2, 2, 2]


def test_what_cannot_be_filled_in(device):
    x = lucid.tensor([1.0, 2.0], device=device)
    for value in (lucid.tensor([1.0]), lucid.tensor([1.0, 2.0]), 1j):
        with pytest.raises(RuntimeError):
            lucid.fill(x, value)
        with pytest.raises(RuntimeError):
            x.fill_(value)
    with pytest.raises(TypeError):
        lucid.fill(x, "a")
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize(("number", "dtype", "expected"), [
    (2, "float32", 2), (2.5, "float64", 2.5), (0.1, "float64", 0.1), (True, "float32", 1), (2.7, "int64", 2), (3, "bool", True),
    (300, "int8", 44), (-1, "uint8", 255), (1e10, "float16", math.inf), (np.float64(0.1), "float64", 0.1),
    (1 + 2j, "complex64", 1 + 2j), (1 << 62, "int64", 1 << 62)])
def test_copy_of_a_number(number, dtype, expected, device):
    x = lucid.zeros(2, dtype=dtype, device=device)
    assert x.copy_(number) is x
    assert x.tolist() == [expected, expected]


def test_copy_of_a_number_passes_zeros_and_refuses_other_things(device):
    x = lucid.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = x * 1
    assert lucid.autograd.grad(y.copy_(1.0).sum(), x)[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError):
        x.copy_(1.0)
    for wrong in ("a", None, [1, 2], np.ones(2)):
        with pytest.raises(TypeError):
            y.copy_(wrong)
