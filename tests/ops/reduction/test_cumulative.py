"""Scans, differences and integrals against PyTorch: NaN, zeros, ties, dtypes, empty and 0-d tensors."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree

RNG = np.random.default_rng(0)
PLAIN = RNG.normal(size=(4, 5))
HOLES = np.where(PLAIN > 1, np.nan, PLAIN)
INPUTS = {"plain": PLAIN, "nan": HOLES, "zeros": np.where(np.abs(PLAIN) < 0.5, 0, PLAIN), "ties": np.round(PLAIN),
          "integers": np.round(PLAIN * 3).astype(np.int64), "bool": PLAIN > 0, "0-d": np.array(1.5), "empty": np.zeros((0, 3))}


@pytest.mark.torch
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "diff"])
def test_scans(name, dim, kind, device):
    agree(lambda lib, x: getattr(lib, name)(x, dim), INPUTS[kind], device=device)
    agree(lambda lib, x: getattr(x, name)(dim=dim), INPUTS[kind], device=device)


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_in_place(name, device):
    agree(lambda lib, x: getattr(x * 2, name)(1), INPUTS["zeros"], device=device)
    agree(lambda lib, x: getattr(x, name)(1), INPUTS["integers"].astype(np.int32), device=device)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_small_floats(dtype, device):
    for name in ("cumprod", "cummax", "logcumsumexp"):
        agree(lambda lib, x: getattr(lib, name)(x, 1), PLAIN.astype(dtype), device=device, grad=False, rtol=2e-3)  # noqa: B023


def test_dtype_argument_and_complex(device):
    agree(lambda lib, x: lib.cumprod(x, 0, dtype=lib.float64), INPUTS["integers"], device=device)
    for name in ("cumprod", "logcumsumexp"):
        agree(lambda lib, x: getattr(lib, name)(x, 1), PLAIN + 1j * PLAIN[::-1], device=device, grad=False)  # noqa: B023


def test_large_exponents_do_not_overflow(device):
    agree(lambda lib, x: lib.logcumsumexp(x, 0), np.array([-np.inf, -1000.0, 1000.0, 999.0, np.inf]), device=device, grad=False)
    agree(lambda lib, x: lib.logcumsumexp(x, 0), np.array([-2000.0, 1000.0, 999.0]), device=device)


def test_differences(device):
    agree(lambda lib, x: lib.diff(x, 2, 0, prepend=x[:1], append=x[1:]), PLAIN, device=device)
    for n in (-1, 0, 7):
        agree(lambda lib, x: lib.diff(x, n), PLAIN, device=device)  # noqa: B023


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["plain", "integers", "bool", "0-d", "empty"])
@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
def test_integrals(name, kind, device):
    x = INPUTS[kind]
    agree(lambda lib, y: getattr(lib, name)(y), x, device=device, rtol=1e-6)
    agree(lambda lib, y: getattr(lib, name)(y, dx=0.5, dim=0), x, device=device, rtol=1e-6)
    agree(lambda lib, y: getattr(lib, name)(y, y * y), x, device=device, rtol=1e-6)
    agree(lambda lib, y: getattr(lib, name)(y, y.reshape(-1)[:3], dim=-1), x, device=device)


def test_out(device):
    x, out = lucid.tensor(PLAIN, device=device), lucid.empty(0, dtype=lucid.float64, device=device)
    assert lucid.cumprod(x, 1, out=out) is out
    assert lucid.equal(out, x.cumprod(1))
    with pytest.warns(UserWarning, match="resized"):
        lucid.cumprod(x[0], 0, out=out)
    values, indices = lucid.empty(0, dtype=x.dtype, device=device), lucid.empty(0, dtype=lucid.int64, device=device)
    result = lucid.cummax(x, 1, out=(values, indices))
    assert result.values is values
    assert lucid.equal(values, x.cummax(1).values)
    with pytest.raises(RuntimeError, match="dtype"):
        lucid.cummax(x, 1, out=(values, values))
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        lucid.cumprod(x.requires_grad_(), 1, out=out)


@pytest.mark.parametrize("places", [[], [0], [7], [3, 4, 30], [199]])
def test_the_gradient_of_products_with_zeros(places, device):
    """Without and with `create_graph`, which compute it in different ways, also far more elements than factors fit in memory."""
    rng = np.random.default_rng(0)
    numbers, weights = rng.choice([-1.0, 1.0, 0.5, 2.0], (2, 200)), rng.standard_normal((2, 200))
    numbers[0, places] = 0
    slopes = []
    for create_graph in (False, True):
        x = lucid.from_numpy(numbers.copy()).to(device).requires_grad_()
        total = (x.cumprod(1) * lucid.from_numpy(weights).to(device)).sum()
        slopes.append(lucid.autograd.grad(total, x, create_graph=create_graph)[0].detach().cpu().numpy())
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9, atol=1e-9)


def test_the_gradient_of_a_long_product_with_a_zero():
    x = lucid.ones(300_000)
    x[1000] = 0
    x.requires_grad_()
    x.cumprod(0).sum().backward()
    assert x.grad[[0, 999, 1000, 1001]].tolist() == [1000.0, 1.0, 299_000.0, 0.0]


def test_infinities_behind_a_zero_leave_the_gradients_before_it(device):
    x = lucid.tensor([2.0, 3.0, 0.0, 5.0, 0.0, np.inf], device=device, requires_grad=True)
    x.cumprod(0).sum().backward()
    assert x.grad.tolist() == [4.0, 2.0, 36.0, 0.0, 0.0, 0.0]
