"""Norms of vectors: gradients at zero, of any order, twice; the nuclear norm."""
from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import lucid
from lucid.autograd.gradcheck import gradcheck, gradgradcheck
from tests.ops.table.agreement import agree


def test_nuclear_norm(device: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 2))
    result = lucid.norm(lucid.tensor(x, device=device), "nuc", (0, 1))
    np.testing.assert_allclose(result.cpu().numpy(), np.linalg.norm(x, "nuc", (0, 1)))
    assert lucid.tensor(x[0], device=device).norm("nuc").item() == pytest.approx(np.linalg.norm(x[0], "nuc"))


@pytest.mark.torch
@pytest.mark.parametrize("name", ["norm", "linalg.vector_norm"])
@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, -1, -2.5, math.inf, -math.inf])
def test_gradient_of_norms_at_zero_is_that_of_pytorch(name, p, device):
    torch = pytest.importorskip("torch")
    for data in ([0.0, 0.0, 0.0], [0.0, 3.0, -4.0], [[0.0, 0.0], [3.0, 4.0]]):
        for dtype in ("float64", "complex128"):
            found = []
            for lib, where in ((lucid, device), (torch, "cpu")):
                x = lib.tensor(data, dtype=getattr(lib, dtype), device=where, requires_grad=True)
                y = operator.attrgetter(name)(lib)(x, p, x.ndim - 1)
                y.sum().backward()
                found.append((y.detach().cpu().numpy(), x.grad.cpu().numpy()))
            for ours, theirs in zip(*found, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_norm_of_order_zero_counts_and_has_no_slope(device):
    x = lucid.tensor([0.0, 3.0, float("inf")], device=device, requires_grad=True)
    y = lucid.norm(x, 0)
    y.backward()
    assert y.item() == 2 and x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("order", [0.5, 1.5, 2.5, 3, 7, -1, -2.5])
@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_gradients_of_general_orders(order, dim, device):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3)) * np.array([1, -1, 1])
    for array in (x, x + 1j * x[::-1]):
        leaf = lucid.tensor(array, device=device, requires_grad=True)
        assert gradcheck(lambda t: t.norm(order, dim), (leaf,), fast_mode=True)
        assert gradgradcheck(lambda t: t.norm(order, dim), (leaf,), fast_mode=True)


@pytest.mark.parametrize("order", [1.5, 3, -2.5])
def test_norms_of_general_orders_as_pytorch(order, device):
    for data in ([[3.0, 0.0, -4.0]], [[0.0, 0.0, 0.0]], [[math.inf, 1.0, 2.0]], [[math.nan, 1.0, 2.0]], [[1e-30, 1e-30, 0.0]]):
        agree(lambda lib, x: (x.norm(order, 1), x.norm(order, 1, True), x.norm(order)), np.array(data), device=device)
    half = lucid.full((3000,), 2.0, dtype=lucid.float16, device=device)
    assert half.norm(3).item() == pytest.approx(2 * 3000 ** (1 / 3), rel=1e-3) and half.norm(3).dtype == lucid.float16


def test_the_gradient_of_a_short_vector_in_half_precision(device):
    x = lucid.tensor([[2e-3, 1e-3], [0.0, 0.0]], dtype=lucid.float16, device=device, requires_grad=True)
    x.norm(dim=1).backward(lucid.tensor([-400.0, 1.0], dtype=lucid.float16, device=device))
    np.testing.assert_allclose(x.grad.float().cpu().numpy(), [[-357.8, -178.9], [0, 0]], rtol=2e-3)


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_the_gradient_is_that_which_differentiates_again(dim, keepdim, device):
    """Which is composed of operations; the other is one of its own."""
    data = np.random.default_rng(0).standard_normal((3, 4, 2))
    data[:, 1], data[2] = 0, np.nan
    for dtype in (lucid.float32, lucid.float64, lucid.complex64):
        x = lucid.tensor(data, dtype=dtype, device=device, requires_grad=True)
        y = x.norm(2, dim, keepdim)
        slope = lucid.arange(1, y.numel() + 1, dtype=y.dtype, device=device).reshape(y.shape)
        found, expected = (lucid.autograd.grad(y, x, slope, retain_graph=True, create_graph=again)[0] for again in (False, True))
        assert found.dtype == dtype
        np.testing.assert_allclose(found.cpu().numpy(), expected.detach().cpu().numpy(), rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("p", [math.inf, -math.inf, -1, -2.5, 0, 1, 2, 3])
@pytest.mark.parametrize(("shape", "dim"), [((4, 0), 1), ((4, 0), 0), ((4, 0), None), ((0, 4, 2), (0, 1)), ((0, 4, 2), (1, 2))])
def test_norms_of_nothing(p, shape, dim, device):
    torch = pytest.importorskip("torch")
    for name in ("norm", "linalg.vector_norm"):
        try:
            expected = operator.attrgetter(name)(torch)(torch.ones(shape), p, dim=dim).numpy()
        except RuntimeError:
            with pytest.raises(RuntimeError, match="does not have an identity"):
                operator.attrgetter(name)(lucid)(lucid.ones(shape, device=device), p, dim=dim)
        else:
            np.testing.assert_array_equal(operator.attrgetter(name)(lucid)(lucid.ones(shape, device=device), p, dim=dim).cpu(), expected)
    if shape == (4, 0) and dim == 1 and (p < 0 or p == math.inf):
        for on in ("cpu", "meta"):
            with pytest.raises(RuntimeError, match="does not have an identity"):
                lucid.nn.functional.pairwise_distance(*[lucid.ones(shape, device=on)] * 2, p=p)


@pytest.mark.parametrize("name", ["norm", "linalg.vector_norm", "linalg.norm"])
@pytest.mark.parametrize("order", [math.inf, -math.inf])
def test_an_extreme_that_is_nan_has_no_slope(name, order, device):
    x = lucid.tensor([[1.0, math.nan, 3.0], [-3.0, 3.0, 3.0]], device=device, requires_grad=True)
    y = operator.attrgetter(name)(lucid)(x, order, 1)
    np.testing.assert_array_equal(y.detach().cpu().numpy(), [math.nan, 3])
    y.backward(lucid.tensor([1.0, 3.0], device=device))
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [[0, 0, 0], [-1, 1, 1]])
    slope, = lucid.autograd.grad(lucid.linalg.matrix_norm(x, order), x)  # a sum has one
    assert slope.isnan().all()
