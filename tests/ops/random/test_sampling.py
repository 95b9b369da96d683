"""Samples of distributions: their moments, the same numbers on both devices, edge cases and errors beside PyTorch's."""
from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import lucid

COUNT = 20000


def mean_and_variance(sample: lucid.Tensor) -> tuple[float, float]:
    return sample.double().mean().item(), sample.double().var().item()


@pytest.mark.parametrize("rate", [0.3, 4.0, 60.0, 1e5])
def test_poisson(rate):
    mean, variance = mean_and_variance(lucid.poisson(lucid.full((COUNT,), rate, dtype=lucid.float64)))
    assert abs(mean - rate) < 5 * math.sqrt(rate / COUNT) and variance == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize(("count", "p"), [(5, 0.3), (50, 0.05), (200, 0.4), (200, 0.9), (10**6, 0.5)])
def test_binomial(count, p):
    sample = lucid.binomial(lucid.full((COUNT,), float(count), dtype=lucid.float64), lucid.tensor(p, dtype=lucid.float64))
    mean, variance = mean_and_variance(sample)
    wanted = count * p * (1 - p)
    assert abs(mean - count * p) < 5 * math.sqrt(wanted / COUNT) and variance == pytest.approx(wanted, rel=0.1)
    assert bool(((sample >= 0) & (sample <= count) & (sample == sample.floor())).all())


@pytest.mark.parametrize(("count", "p"), [(6, 0.3), (60, 0.4)])
def test_binomial_has_the_right_probabilities(count, p):
    found = np.bincount(lucid.binomial(lucid.full((COUNT,), float(count)), lucid.tensor(p)).int().numpy(), minlength=count + 1)
    wanted = COUNT * np.array([math.comb(count, k) * p ** k * (1 - p) ** (count - k) for k in range(count + 1)])
    often = wanted > 10
    assert ((found - wanted)[often] ** 2 / wanted[often]).sum() < 2.5 * often.sum() + 10


def test_poisson_has_the_right_probabilities():
    found = np.bincount(lucid.poisson(lucid.full((COUNT,), 3.0)).int().numpy(), minlength=30)
    wanted = COUNT * np.array([math.exp(-3) * 3 ** k / math.factorial(k) for k in range(len(found))])
    often = wanted > 10
    assert ((found - wanted)[often] ** 2 / wanted[often]).sum() < 2.5 * often.sum() + 10


def test_edge_cases(device):
    def tensor(*values: float) -> lucid.Tensor:
        return lucid.tensor(values, dtype=lucid.float32, device=device)

    assert lucid.poisson(tensor(0.0, 0.0)).tolist() == [0, 0] and lucid.poisson(lucid.zeros(0, 3, device=device)).shape == (0, 3)
    assert lucid.poisson(lucid.ones(3, device="meta")).is_meta and lucid.binomial(*[lucid.ones(3, device="meta")] * 2).is_meta
    found = lucid.binomial(tensor(10, 10, 10, -10, 0), tensor(0, 1, 1.5, 0.5, 0.5))
    assert found.tolist() == [0, 10, 10, 0, 0]
    assert lucid.binomial(tensor(math.nan, 5), tensor(0.5, math.nan)).isnan().tolist() == [True, True]
    assert lucid.binomial(lucid.ones(2, 1, device=device), lucid.ones(3, device=device)).tolist() == [[1] * 3] * 2
    rate = lucid.ones(3, device=device, requires_grad=True)
    lucid.poisson(rate).sum().backward()
    assert rate.grad.tolist() == [0, 0, 0]
    assert lucid.binomial(rate, rate).requires_grad


def test_generators_repeat_samples(device):
    def draw() -> list[float]:
        generator = lucid.Generator().manual_seed(5)
        x = lucid.full((4,), 30.0, device=device)
        return [*lucid.poisson(x, generator=generator).tolist(), *lucid.binomial(x, x / 50, generator=generator).tolist()]

    assert draw() == draw()


@pytest.mark.parametrize(("name", "arguments", "median"), [("geometric_", (0.2,), 4), ("cauchy_", (3.0, 2.0), 3),
                                                           ("log_normal_", (0.5, 1.0), math.exp(0.5))])
def test_filled_numbers(name, arguments, median, device):
    x = getattr(lucid.empty(4000, device=device), name)(*arguments)
    assert x.median().item() == pytest.approx(median, rel=0.15)
    if name == "geometric_":
        assert bool((x >= 1).all()) and x.mean().item() == pytest.approx(5, rel=0.1)
        assert lucid.empty(9, dtype=lucid.int32, device=device).geometric_(0.5).dtype == lucid.int32


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "bool", "complex64", "uint8"])
@pytest.mark.parametrize(("name", "arguments"), [("geometric_", (0.5,)), ("geometric_", (0,)), ("geometric_", (1,)), ("cauchy_", ()),
                                                 ("cauchy_", (0, 0)), ("log_normal_", ()), ("log_normal_", (1, 0))])
def test_refusals_are_those_of_pytorch(name, arguments, dtype):
    torch = pytest.importorskip("torch")
    try:
        getattr(torch.zeros(3, dtype=getattr(torch, dtype)), name)(*arguments)
    except RuntimeError as error:
        with pytest.raises(type(error)):
            getattr(lucid.zeros(3, dtype=dtype), name)(*arguments)
    else:
        getattr(lucid.zeros(3, dtype=dtype), name)(*arguments)


def test_refused_distributions(device):
    x = lucid.ones(2, device=device)
    for wrong in (-x, x / 0, x * math.nan):
        with pytest.raises(RuntimeError, match="invalid Poisson rate"):
            lucid.poisson(wrong)
    for kind, call in ((NotImplementedError, lambda: lucid.poisson(x.int())), (ValueError, lambda: lucid.binomial(x.long(), x)),
                       (RuntimeError, lambda: lucid.binomial(x, x.double())),
                       (NotImplementedError, lambda: lucid.binomial(x.half(), x.half()))):
        with pytest.raises(kind):
            call()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan, -1.0])
def test_refused_weights(wrong, dtype, device):
    with pytest.raises(RuntimeError, match="inf"):
        lucid.multinomial(lucid.tensor([1.0, wrong], dtype=dtype, device=device), 1)
    largest = lucid.tensor([0.0, lucid.finfo(getattr(lucid, dtype)).max], dtype=dtype, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lucid.multinomial(largest, 1).tolist() == [1]
