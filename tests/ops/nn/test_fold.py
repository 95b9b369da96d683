"""Windows as columns: values, derivatives, odd shapes, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

OPTIONS: list[dict[str, Any]] = [
    {"kernel_size": 2}, {"kernel_size": (3, 2), "padding": (1, 2), "stride": (2, 1)}, {"kernel_size": 2, "dilation": (3, 2)},
    {"kernel_size": (1, 2), "stride": 3}, {"kernel_size": 2, "padding": 4, "dilation": 5, "stride": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_matches_torch(options: dict[str, Any], device: str) -> None:
    same_as_torch(lambda t, F, x: F.unfold(x, **options), uniform(2, 3, 5, 4), device=device)
    same_as_torch(lambda t, F, x: F.unfold(x, **options), uniform(3, 5, 4), device=device)
    columns = F.unfold(lucid.tensor(uniform(2, 3, 5, 4)), **options).shape
    same_as_torch(lambda t, F, x: F.fold(x, (5, 4), **options), uniform(*columns), device=device)
    same_as_torch(lambda t, F, x: F.fold(x[0], (5, 4), **options), uniform(*columns), device=device)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_derivatives(options: dict[str, Any], device: str) -> None:
    check_derivatives(lambda x: F.unfold(x, **options), device, uniform(1, 2, 5, 4))
    check_derivatives(lambda x: F.fold(F.unfold(x, **options) ** 2, (5, 4), **options), device, uniform(1, 2, 5, 4))


@pytest.mark.parametrize("shape", [(2, 3, 6, 4), (2, 70, 18, 60), (3, 40, 24, 32)])
@pytest.mark.parametrize("kernel", [(2, 2), (3, 1), (6, 4)])
def test_windows_side_by_side(shape: tuple[int, ...], kernel: tuple[int, int], device: str) -> None:
    """Columns that are the pixels in another order."""
    if device != "cpu" and shape[1] > 3:
        pytest.skip("the kernels of large arrays are those of the CPU")
    turned = uniform(*shape[:2], shape[3], shape[2])
    same_as_torch(lambda t, F, x: F.unfold(x.transpose(2, 3), kernel, stride=kernel), turned, device=device)
    x = lucid.tensor(uniform(*shape), device=device, requires_grad=True)
    y = F.fold(F.unfold(x, kernel, stride=kernel), shape[2:], kernel, stride=kernel)
    assert lucid.equal(y, x)
    y.sum().backward()
    assert lucid.equal(x.grad, lucid.ones_like(x))
    half = x.detach().to(lucid.float16)
    assert lucid.equal(F.fold(F.unfold(half, kernel, stride=kernel), shape[2:], kernel, stride=kernel), half)


def test_windows_and_their_sums(device: str) -> None:
    x = lucid.arange(6.0, device=device).reshape(1, 2, 3).transpose(1, 2)
    assert F.unfold(x, (2, 1)).tolist() == [[0.0, 3.0, 1.0, 4.0], [1.0, 4.0, 2.0, 5.0]]
    assert F.fold(F.unfold(x, (2, 1)), (3, 2), (2, 1)).tolist() == [[[0.0, 3.0], [2.0, 8.0], [2.0, 5.0]]]


def test_no_samples_infinity_and_halves(device: str) -> None:
    assert F.unfold(lucid.ones(0, 3, 4, 4, device=device), 2).shape == (0, 12, 9)
    assert F.fold(lucid.ones(0, 12, 9, device=device), 4, 2).shape == (0, 3, 4, 4)
    x = lucid.tensor([[[np.inf, 0.0], [0.0, np.nan]]], device=device)
    assert F.unfold(x, 1).tolist()[0][:3] == [np.inf, 0.0, 0.0]
    x = lucid.ones(1, 1, 40, 40, device=device).to(lucid.float16) / 3
    total = F.fold(F.unfold(x, 20, padding=19), 40, 20, padding=19)  # 400 windows over each pixel, summed in float32
    assert total.dtype == lucid.float16 and (total == (x.float() * 400).to(lucid.float16)).all()


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.unfold(t.ones(1, 1, 4, 4), 5), "must be at least one"),
    (lambda t, F: F.unfold(t.ones(1, 1, 4, 4), 0), "should be greater than zero"),
    (lambda t, F: F.unfold(t.ones(1, 1, 4, 4), 2, padding=-1), "padding should be non-negative"),
    (lambda t, F: F.unfold(t.ones(1, 1, 4, 4), 2, dilation=0), "dilation should be greater than zero"),
    (lambda t, F: F.unfold(t.ones(1, 0, 4, 4), 2), "Expected 3D or 4D"),
    (lambda t, F: F.unfold(t.ones(1, 1, 4, 4), (2, 2, 2)), "kernel_size equals to 2, but got size 3"),
    (lambda t, F: F.fold(t.ones(1, 5, 9), (4, 4), 2), "divisible by the product of kernel_size"),
    (lambda t, F: F.fold(t.ones(1, 4, 8), (4, 4), 2), "sliding blocks 9"),
    (lambda t, F: F.fold(t.ones(1, 4, 9, 1), (4, 4), 2), "Expected 2D or 3D"),
    (lambda t, F: F.fold(t.ones(1, 4, 9), (1, 1), 2), None),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)
