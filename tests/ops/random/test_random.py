"""Random numbers: the same seed gives the same numbers on every device; distributions by their moments; PyTorch's
errors.
"""
from __future__ import annotations

import math
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest

import lucid
from tests.ops.arrays import host


def seeded(seed: int = 7) -> lucid.Generator:
    return lucid.Generator().manual_seed(seed)


MAKERS: dict[str, Callable[[str, lucid.Generator], lucid.Tensor]] = {
    "rand": lambda d, g: lucid.rand(3, 5, device=d, generator=g),
    "rand float64": lambda d, g: lucid.rand(3, 5, dtype=lucid.float64, device=d, generator=g),
    "rand float16": lambda d, g: lucid.rand(3, 5, dtype=lucid.float16, device=d, generator=g),
    "randn": lambda d, g: lucid.randn((3, 5), device=d, generator=g),
    "randn bfloat16": lambda d, g: lucid.randn(3, 5, dtype=lucid.bfloat16, device=d, generator=g),
    "randint": lambda d, g: lucid.randint(-3, 10, (3, 5), device=d, generator=g),
    "randperm": lambda d, g: lucid.randperm(17, device=d, generator=g),
    "normal": lambda d, g: lucid.normal(2.0, 3.0, (3, 5), device=d, generator=g),
    "bernoulli": lambda d, g: lucid.bernoulli(lucid.full((3, 5), 0.4, device=d), generator=g),
    "multinomial": lambda d, g: lucid.multinomial(lucid.arange(1.0, 7.0, device=d), 4, generator=g),
    "multinomial replacement": lambda d, g: lucid.multinomial(lucid.ones(2, 6, device=d), 9, True, generator=g),
    "uniform_": lambda d, g: lucid.zeros(3, 5, device=d).uniform_(-1, 1, generator=g),
    "normal_": lambda d, g: lucid.zeros(3, 5, device=d).normal_(1, 2, generator=g),
    "bernoulli_": lambda d, g: lucid.zeros(3, 5, device=d).bernoulli_(0.3, generator=g),
    "random_": lambda d, g: lucid.zeros(3, 5, device=d).random_(10, generator=g),
    "uniform_ of a range, float16": lambda d, g: lucid.zeros(3, 5, dtype=lucid.float16, device=d).uniform_(2, 3, generator=g),
    "uniform_ of a range, bfloat16": lambda d, g: lucid.zeros(3, 5, dtype=lucid.bfloat16, device=d).uniform_(-1, 0, generator=g),
    "uniform_ complex": lambda d, g: lucid.zeros(3, 5, dtype=lucid.complex64, device=d).uniform_(2, 3, generator=g),
    "exponential_": lambda d, g: lucid.zeros(3, 5, device=d).exponential_(generator=g),
    "exponential_ with a rate": lambda d, g: lucid.zeros(3, 5, dtype=lucid.float64, device=d).exponential_(3, generator=g),
    "exponential_ bfloat16": lambda d, g: lucid.zeros(3, 5, dtype=lucid.bfloat16, device=d).exponential_(generator=g),
    "geometric_": lambda d, g: lucid.zeros(3, 5, device=d).geometric_(0.01, generator=g),
    "cauchy_": lambda d, g: lucid.zeros(3, 5, device=d).cauchy_(generator=g),
    "log_normal_": lambda d, g: lucid.zeros(3, 5, device=d).log_normal_(generator=g),
    "normal_ float16": lambda d, g: lucid.zeros(3, 5, dtype=lucid.float16, device=d).normal_(1, 2, generator=g),
}


@pytest.mark.parametrize("name", MAKERS)
def test_same_numbers_on_every_device(name: str, device: str) -> None:
    make = MAKERS[name]
    on_cpu, generator = seeded(), seeded()
    first, second = make("cpu", on_cpu), make("cpu", on_cpu)
    found = make(device, generator)
    assert found.device == device and found.dtype == first.dtype
    np.testing.assert_array_equal(host(found), host(first))
    np.testing.assert_array_equal(host(make(device, generator)), host(second))
    assert generator.get_state().tolist() == on_cpu.get_state().tolist()
    if name not in ("bernoulli", "bernoulli_"):
        assert host(first).tolist() != host(second).tolist()


def test_default_generator(device: str) -> None:
    assert lucid.manual_seed(3) is lucid.manual_seed(3)
    assert lucid.initial_seed() == 3
    first = host(lucid.rand(4, device=device))
    state = lucid.get_rng_state()
    second = host(lucid.rand(4, device=device))
    lucid.manual_seed(3)
    np.testing.assert_array_equal(host(lucid.rand(4, device=device)), first)
    lucid.set_rng_state(state)
    np.testing.assert_array_equal(host(lucid.rand(4, device=device)), second)
    assert lucid.seed() == lucid.initial_seed()


def test_generator_state() -> None:
    generator = seeded(-1)
    lucid.rand(5, generator=generator)
    other = pickle.loads(pickle.dumps(generator))
    clone = generator.clone_state()
    expected = lucid.rand(5, generator=generator).tolist()
    assert lucid.rand(5, generator=other).tolist() == lucid.rand(5, generator=clone).tolist() == expected
    with pytest.raises(TypeError):
        generator.set_state(lucid.zeros(16))
    with pytest.raises(RuntimeError):
        generator.set_state(lucid.zeros(3, dtype=lucid.uint8))
    with pytest.raises(ValueError, match="Overflow"):
        generator.manual_seed(1 << 64)


def test_draws_do_not_overlap() -> None:
    generator = seeded()
    parts = [lucid.rand(n, generator=generator) for n in (1, 3, 4, 5, 0, 7)]
    together = np.concatenate([host(p) for p in parts])
    assert len(np.unique(together)) == len(together)


def test_threads_get_different_numbers() -> None:
    generator = seeded()
    seen: list[float] = []

    def work() -> None:
        for _ in range(200):
            seen.extend(lucid.rand(4, generator=generator).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counters = [generator.take(0)[1]]
    assert counters == [800] and len(seen) == 3200


def test_moments(device: str) -> None:
    n, generator = 20_000, seeded()

    def check(sample: lucid.Tensor, mean: float, std: float) -> None:
        values = host(sample).astype(np.float64)
        assert abs(values.mean() - mean) < 5 * std / math.sqrt(n) and values.std() == pytest.approx(std, rel=0.05)

    uniform = lucid.rand(n, device=device, generator=generator)
    assert uniform.min().item() >= 0 and uniform.max().item() < 1
    check(uniform, 0.5, 1 / math.sqrt(12))
    check(lucid.randn(n, device=device, generator=generator), 0, 1)
    check(lucid.normal(2.0, 3.0, (n,), device=device, generator=generator), 2, 3)
    check(lucid.zeros(n, device=device).exponential_(2.0, generator=generator), 0.5, 0.5)
    check(lucid.zeros(n, device=device).bernoulli_(0.3, generator=generator), 0.3, math.sqrt(0.21))
    check(lucid.randint(0, 10, (n,), device=device, generator=generator), 4.5, math.sqrt(99 / 12))
    check(lucid.zeros(n, device=device).uniform_(-1, 3, generator=generator), 1, 4 / math.sqrt(12))


FLOATS = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_exponential_numbers(dtype: str, device: str) -> None:
    """None is 0, and the tail is as long as that of float32, whatever the dtype."""
    for rate in (1, 0.25):
        x = host(lucid.empty(30_000, dtype=dtype, device=device).exponential_(rate, generator=seeded())).astype(np.float64) * rate
        assert x.min() > 0 and x.mean() == pytest.approx(1, rel=0.03) and x.std() == pytest.approx(1, rel=0.05)
        assert (x > 7).mean() == pytest.approx(math.exp(-7), rel=0.5) and (x < 0.01).mean() == pytest.approx(0.01, rel=0.2)
    fast = lucid.empty(3_000, dtype=dtype, device=device).exponential_(1e6, generator=seeded())
    assert bool((fast > 0).all())


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_are_below_the_upper_end(dtype: str, device: str) -> None:
    generator = seeded()
    for low, high in ((2, 3), (-1e-3, 0), (-1, 0), (-3, -2), (-1, 1), (0.1, 0.3), (0, 6e4 if dtype == "float16" else 1e38)):
        for fill in (lucid.Tensor.uniform_, lucid.nn.init.uniform_):
            x = fill(lucid.empty(5_000, dtype=dtype, device=device), low, high, generator=generator)
            ends = lucid.tensor([low, high], dtype=dtype, device=device)
            assert bool(((x >= ends[0]) & (x < ends[1])).all()), (low, high)
        assert x.double().mean().item() == pytest.approx((low + high) / 2, abs=(high - low) / 40)
    assert bool((lucid.empty(9, dtype=dtype, device=device).uniform_(5, 5) == 5).all())
    assert bool((lucid.rand(5_000, dtype=dtype, device=device, generator=generator) < 1).all())


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "int32"])
@pytest.mark.parametrize("ends", [(0, math.inf), (-math.inf, 0), (math.nan, 1), (0, math.nan), (-1e39, 0), (-6e4, 6e4),
                                  (-2e38, 2e38), (1e308, -1e308), (-1.5e308, 1.5e308), (3, 2), (2, 2), (0, 1)])
def test_refused_ranges_are_those_of_pytorch(dtype: str, ends: tuple[float, float]) -> None:
    torch = pytest.importorskip("torch")
    x = lucid.zeros(2, dtype=dtype)
    try:
        torch.zeros(2, dtype=getattr(torch, dtype)).uniform_(*ends)
    except RuntimeError as error:
        with pytest.raises(type(error)):
            x.uniform_(*ends)
        assert not bool(x.any())
    else:
        assert bool(x.uniform_(*ends).isfinite().all())


def test_multinomial_follows_the_weights(device: str) -> None:
    weights, generator = lucid.tensor([1.0, 0.0, 3.0, 4.0], device=device), seeded()
    drawn = host(lucid.multinomial(weights, 20_000, True, generator=generator))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20_000, [1 / 8, 0, 3 / 8, 1 / 2], atol=0.02)
    rows = host(lucid.multinomial(weights.expand(5_000, 4), 3, generator=generator))
    assert (np.sort(rows, 1) == [0, 2, 3]).all()
    np.testing.assert_allclose((rows[:, 0] == 3).mean(), 0.5, atol=0.03)


def test_multinomial_without_other_indices(device: str) -> None:
    """Indices of weight 0 come last, in their order."""
    def drawn(*weights: float) -> list[int]:
        return lucid.multinomial(lucid.tensor(weights, dtype=lucid.float32, device=device), len(weights), False).tolist()

    assert drawn(1, 0) == [0, 1] and drawn(0, 0, 2, 0) == [2, 0, 1, 3]
    for _ in range(5):
        found = drawn(0, 1, 0, 1)
        assert sorted(found[:2]) == [1, 3] and found[2:] == [0, 2]
    rows = lucid.tensor([[1.0, 0, 0], [1, 1, 1]], device=device).multinomial(3)
    assert rows[0].tolist() == [0, 1, 2] and sorted(rows[1].tolist()) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
        lucid.multinomial(lucid.tensor([[1.0, 0], [0, 0]], device=device), 2)


def test_randperm(device: str) -> None:
    for n in (0, 1, 100):
        assert sorted(lucid.randperm(n, device=device).tolist()) == list(range(n))
    assert lucid.randperm(3, dtype=lucid.int32, device=device).dtype == lucid.int32


def test_shapes_dtypes_and_grad(device: str) -> None:
    assert lucid.rand(device=device).shape == () and lucid.rand(0, 3, device=device).shape == (0, 3)
    assert lucid.rand(2, requires_grad=True, device=device).requires_grad
    assert lucid.randn(2, dtype=lucid.float64, device=device).dtype == lucid.float64
    x = lucid.zeros(2, 3, dtype=lucid.float64, device=device)
    for like in (lucid.rand_like(x), lucid.randn_like(x), lucid.randint_like(x, 5)):
        assert like.shape == x.shape and like.dtype == x.dtype and like.device == device
    assert lucid.randint(5, (2,), device=device).dtype == lucid.int64
    assert lucid.randint(low=2, high=3, size=(2,), device=device).tolist() == [2, 2]
    assert lucid.normal(lucid.zeros(2, 1, device=device), lucid.ones(3, device=device)).shape == (2, 3)
    assert lucid.zeros(3, dtype=lucid.int64, device=device).random_().min().item() >= 0
    assert lucid.zeros(50, dtype=lucid.bool, device=device).random_().any().item()
    for half in (lucid.float16, lucid.bfloat16):
        assert 1 <= lucid.zeros((), dtype=half, device=device).uniform_(1, 2).item() < 2
    z = lucid.ones(3, device=device, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        z.normal_()
    with lucid.no_grad():
        assert z.normal_() is z


def test_set_default_dtype() -> None:
    lucid.set_default_dtype(lucid.float64)
    try:
        assert lucid.rand(2).dtype == lucid.randn(2).dtype == lucid.float64
    finally:
        lucid.set_default_dtype(lucid.float32)


def test_errors(device: str) -> None:
    x, i = lucid.zeros(2, device=device), lucid.zeros(2, dtype=lucid.int64, device=device)
    cases = [
        (lambda: lucid.rand(2, dtype=lucid.int64, device=device), "not implemented for 'Long'"),
        (lambda: lucid.randint(3, 3, (2,), device=device), "less than 'to'"),
        (lambda: lucid.randint(0, 300, (2,), dtype=lucid.uint8, device=device), "out of bounds"),
        (lambda: lucid.rand(-1, device=device), "negative dimension"),
        (lambda: lucid.bernoulli(x + 2), "p_in"),
        (lambda: lucid.bernoulli(i), "not implemented for 'Long'"),
        (lambda: lucid.multinomial(i + 1, 1), "floating-point dtypes"),
        (lambda: lucid.multinomial(x + 1, 3), "without replacement"),
        (lambda: lucid.multinomial(x, 1), "sum of probabilities <= 0"),
        (lambda: lucid.multinomial(x - 1, 1), "element < 0"),
        (lambda: lucid.multinomial(lucid.ones(2, 2, 2, device=device), 1), "1 or 2 dim"),
        (lambda: lucid.normal(0.0, -1.0, (2,)), "std >= 0.0"),
        (lambda: x.uniform_(2, 1), "uniform_ expects"),
        (lambda: i.normal_(), "not implemented for 'Long'"),
        (lambda: x.exponential_(-1), "lambda > 0.0"),
        (lambda: i.exponential_(), "floating point"),
        (lambda: x.random_(3, 3), "less than 'to'"),
        (lambda: x.bernoulli_(2.0), r"p to be in \[0, 1\]"),
    ]
    for call, message in cases:
        with pytest.raises(RuntimeError, match=message):
            call()
    assert x.tolist() == [0, 0]
