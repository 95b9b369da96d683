"""nn.init: ranges, moments and exact patterns."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn


def values(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def weight(device: str, *shape: int) -> nn.Parameter:
    return nn.Parameter(lucid.empty(shape or (200, 300), device=device))


def test_in_place_outside_the_graph_and_returned(device: str) -> None:
    parameter = weight(device, 4, 4)
    for fill in (nn.init.uniform_, nn.init.normal_, nn.init.ones_, nn.init.zeros_, nn.init.eye_, nn.init.xavier_uniform_,
                 nn.init.xavier_normal_, nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.trunc_normal_,
                 nn.init.orthogonal_):
        assert fill(parameter) is parameter
        assert parameter.is_leaf
        assert parameter.requires_grad
        assert parameter.device == device


@pytest.mark.parametrize(("fill", "std", "bound"), [
    (lambda w, g: nn.init.uniform_(w, -1, 3, generator=g), 4 / math.sqrt(12), None),
    (lambda w, g: nn.init.normal_(w, 1.0, 0.5, generator=g), 0.5, None),
    (lambda w, g: nn.init.xavier_uniform_(w, 2.0, generator=g), 2 * math.sqrt(2 / 500), 2 * math.sqrt(6 / 500)),
    (lambda w, g: nn.init.xavier_normal_(w, generator=g), math.sqrt(2 / 500), None),
    (lambda w, g: nn.init.kaiming_uniform_(w, a=math.sqrt(5), generator=g), 1 / math.sqrt(900), 1 / math.sqrt(300)),
    (lambda w, g: nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu", generator=g), 0.1, None),
    (lambda w, g: nn.init.trunc_normal_(w, 0.0, 1.0, -1.0, 1.0, generator=g), 0.5397, 1.0),
    (lambda w, g: nn.init.trunc_normal_(w, 0.0, 1.0, 2.0, 4.0, generator=g), 0.3386, 4.0),
], ids=["uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "truncated", "tail"])
def test_distributions(fill: Any, std: float, bound: float | None) -> None:
    first, again = weight("cpu"), weight("cpu")
    fill(first, lucid.Generator().manual_seed(3))
    fill(again, lucid.Generator().manual_seed(3))
    numbers = values(first)
    assert numbers.std() == pytest.approx(std, rel=0.03)
    if bound is not None:
        assert np.abs(numbers).max() <= bound
        assert np.abs(numbers).max() >= 0.95 * bound or bound == 4.0
    np.testing.assert_array_equal(numbers, values(again))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str, device: str) -> None:
    """As exact as float32, rounded: 256 numbers between 0 and 1 would not do for tails, nor to choose rows by their order."""
    tail = nn.init.trunc_normal_(lucid.empty(8000, dtype=dtype, device=device), 0, 1, 2, 6)
    assert (tail > 4.5).float().mean().item() < 0.002  # (cdf(6) - cdf(4.5)) / (cdf(6) - cdf(2)) is 0.00015
    zeros = (nn.init.sparse_(lucid.empty(1 << 16, 1, dtype=dtype, device=device), 0.001) == 0).reshape(-1).cpu()
    rows = zeros.nonzero().reshape(-1).float()
    assert len(rows) == 66 and 20_000 < rows.mean().item() < 45_000
    bound = math.sqrt(6 / 50)
    assert bool((nn.init.xavier_uniform_(lucid.empty(25, 25, dtype=dtype, device=device)) < bound).all())


def test_patterns(device: str) -> None:
    np.testing.assert_array_equal(values(nn.init.eye_(weight(device, 2, 3))), np.eye(2, 3))
    np.testing.assert_array_equal(values(nn.init.constant_(weight(device, 2), 3.0)), [3, 3])
    dirac = values(nn.init.dirac_(weight(device, 4, 2, 3, 3), groups=2))
    expected = np.zeros((4, 2, 3, 3))
    for out, channel in ((0, 0), (1, 1), (2, 0), (3, 1)):
        expected[out, channel, 1, 1] = 1
    np.testing.assert_array_equal(dirac, expected)
    for shape in ((5, 3), (3, 5), (4, 2, 2)):
        matrix = values(nn.init.orthogonal_(weight(device, *shape), gain=2.0)).reshape(shape[0], -1)
        small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
        np.testing.assert_allclose(small @ small.T, 4 * np.eye(len(small)), atol=1e-5)
    sparse = values(nn.init.sparse_(weight(device, 10, 4), 0.35))
    assert ((sparse == 0).sum(axis=0) == 4).all()


def test_errors() -> None:
    for call, message in ((lambda: nn.init.xavier_uniform_(weight("cpu", 3)), "fewer than 2 dimensions"),
                          (lambda: nn.init.eye_(weight("cpu", 3)), "2 dimensions"),
                          (lambda: nn.init.dirac_(weight("cpu", 3, 3)), "3, 4, or 5"),
                          (lambda: nn.init.dirac_(weight("cpu", 3, 3, 3), groups=2), "divisible by groups"),
                          (lambda: nn.init.orthogonal_(weight("cpu", 3)), "2 or more"),
                          (lambda: nn.init.kaiming_uniform_(weight("cpu", 3, 3), mode="fan"), "Mode fan not supported"),
                          (lambda: nn.init.calculate_gain("nothing"), "Unsupported nonlinearity"),
                          (lambda: nn.init.calculate_gain("leaky_relu", True), "not a valid number")):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.warns(UserWarning, match="zero-element"):
        nn.init.kaiming_normal_(lucid.empty(0, 3))
    with pytest.warns(UserWarning, match="more than 2 std"):
        nn.init.trunc_normal_(weight("cpu", 2, 2), mean=5.0)


def test_gains_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert nn.init.calculate_gain("leaky_relu", 0.3) == torch.nn.init.calculate_gain("leaky_relu", 0.3)
