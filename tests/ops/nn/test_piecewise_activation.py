"""More activations: values and gradients at their kinks and ends, derivatives, errors, PyTorch."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, close, leaf, raises_like_torch, same_as_torch, uniform

CASES: dict[str, dict[str, Any]] = {
    "hardsigmoid": {}, "hardswish": {}, "celu": {"alpha": 1.3}, "selu": {}, "mish": {}, "threshold": {"threshold": 0.5, "value": 7.0},
    "softshrink": {"lambd": 0.4}, "hardshrink": {"lambd": 0.4}, "tanhshrink": {}, "softsign": {}, "rrelu": {"lower": 0.1},
}
INPLACE = ("hardsigmoid", "hardswish", "celu", "selu", "mish", "threshold", "rrelu")
KINKS = np.array([-3.0, 3.0, 0.0, -0.0, 0.4, -0.4, 0.5, -5.0, 5.0, 40.0, -40.0, 800.0, -800.0])


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_matches_torch(name: str, device: str) -> None:
    rtol = 1e-6 if name in ("celu", "hardsigmoid") else 1e-10  # PyTorch rounds 1 / alpha and 1 / 6 to float32
    for x in (KINKS, uniform(3, 2, low=-4, high=4).T):
        same_as_torch(lambda t, F, x: getattr(F, name)(x, **CASES[name]), x, rtol=rtol, device=device)
    same_as_torch(lambda t, F, x: getattr(F, name)(x.detach(), **CASES[name]), np.array([np.nan, np.inf, 1.0]), device=device)


def test_the_gradient_of_hardswish_at_nan_and_infinity(device: str) -> None:
    x = leaf([np.nan, np.inf, -np.inf], device)
    F.hardswish(x).sum().backward()
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [np.nan, 1, 0])


@pytest.mark.parametrize("function", [F.elu, F.celu, F.selu])
def test_the_gradient_of_exponential_units_at_nan_and_infinity(function: Any, device: str) -> None:
    x = leaf([np.nan, np.inf, -np.inf], device)
    function(x).sum().backward()
    np.testing.assert_array_equal(np.isnan(x.grad.cpu().numpy()), [True, False, False])
    assert x.grad[2] == 0 and x.grad[1] >= 1


def test_no_gradient_passes_where_softshrink_is_0(device: str) -> None:
    x = leaf([0.1, 2.0, np.nan], device)
    (F.softshrink(x) * lucid.tensor([np.nan, 3.0, 3.0], device=device)).sum().backward()
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [0, 3, 0])


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str, device: str) -> None:
    check_derivatives(lambda x: getattr(F, name)(x, **CASES[name]), device, uniform(4, 3, low=-4, high=4))


@pytest.mark.parametrize("name", INPLACE)
def test_in_place(name: str, device: str) -> None:
    x = lucid.tensor(uniform(5), device=device)
    expected = getattr(F, name)(x, **CASES[name])
    assert getattr(F, name)(x, **CASES[name], inplace=True) is x
    close(x, expected.cpu().numpy(), 0)


@pytest.mark.parametrize(("shape", "dim"), [((4,), 0), ((3, 6), -1), ((4, 3, 2), 0)])
def test_glu(shape: tuple[int, ...], dim: int, device: str) -> None:
    same_as_torch(lambda t, F, x: F.glu(x, dim), uniform(*shape), device=device)
    check_derivatives(lambda x: F.glu(x, dim), device, uniform(*shape))


@pytest.mark.parametrize(("shape", "count"), [((5,), 1), ((), 1), ((2, 3), 3), ((2, 3, 2, 2), 3), ((2, 3, 2), 1)])
def test_prelu(shape: tuple[int, ...], count: int, device: str) -> None:
    same_as_torch(lambda t, F, x, w: F.prelu(x, w), uniform(*shape), uniform(count, seed=1), device=device)
    check_derivatives(lambda x, w: F.prelu(x, w), device, uniform(*shape), uniform(count, seed=1))


def test_infinities_reach_the_gradients_of_prelu_only_where_they_count(device: str) -> None:
    inf = float("inf")
    x, weight = (lucid.tensor(v, device=device, requires_grad=True) for v in ([inf, -1.0, 2.0], [inf]))
    assert lucid.autograd.grad(lucid.nn.functional.prelu(x, weight), (x, weight), lucid.ones(3, device=device))[0].tolist() == [1, inf, 1]
    assert lucid.autograd.grad(lucid.nn.functional.prelu(x, weight), weight, lucid.ones(3, device=device))[0].tolist() == [-1]


def test_rrelu_in_training(device: str) -> None:
    x = leaf(np.append(-np.ones(1000), 2.0), device)
    y = F.rrelu(x, 0.1, 0.4, training=True)
    y.sum().backward()
    slopes = -y[:-1].detach().cpu().numpy()
    assert 0.1 <= slopes.min() < 0.12 and 0.38 < slopes.max() <= 0.4 and y[-1].item() == 2
    np.testing.assert_allclose(x.grad.cpu().numpy()[:-1], slopes)
    assert x.grad[-1].item() == 1


def test_threshold_of_integers() -> None:
    same_as_torch(lambda t, F, x: F.threshold(x, 1, 9), np.arange(4))


@pytest.mark.parametrize(("call", "match"), [
    *[(lambda t, F, name=name: getattr(F, name)(t.ones(2).long()), None) for name in ("hardsigmoid", "hardswish", "mish", "selu")],
    (lambda t, F: F.softshrink(t.ones(2), -1), "lambda must be greater or equal to 0"),
    (lambda t, F: F.celu(t.ones(2), 0), "alpha cannot be 0"),
    (lambda t, F: F.glu(t.ones(3)), "must be even"),
    (lambda t, F: F.glu(t.tensor(1.0)), "0-dimensional"),
    (lambda t, F: F.prelu(t.ones(2, 3), t.ones(2)), "Mismatch of parameter numbers"),
    (lambda t, F: F.prelu(t.ones(2, 3), t.ones(1, 1, 1)), None),
    (lambda t, F: F.rrelu(t.ones(2), 0.5, 0.1, training=True), "Lower bound"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)


LINES = {"relu": F.relu, "relu6": F.relu6, "hardtanh": F.hardtanh, "leaky_relu": F.leaky_relu, "rrelu": F.rrelu,
         "rrelu in training": lambda x, **options: F.rrelu(x, training=True, **options),
         "threshold": lambda x, **options: F.threshold(x, 0.5, 7.0, **options), "hardshrink": F.hardshrink,
         "softshrink": F.softshrink}


@pytest.mark.parametrize("size", [1, 5000])
@pytest.mark.parametrize(("name", "dtype"), [
    *itertools.product(LINES, ["float32", "float64"]), *zip(LINES, itertools.cycle(["bfloat16", "float16"]), strict=False)])  # fmt: skip
def test_lines_at_nan_and_their_second_gradient(name: str, dtype: str, size: int, device: str) -> None:
    """NaN stays NaN; the gradient there is 0 where it must be between bounds or beyond them; the second one is zeros, not none."""
    for options in ({},) if name in ("hardshrink", "softshrink") else ({}, {"inplace": True}):
        x = lucid.tensor([np.nan, 2.0, -2.0, 0.25] * size, dtype=dtype, device=device, requires_grad=True)
        y = LINES[name](x * 1, **options)
        assert y[0].isnan() and not y[1:4].isnan().any()
        slope, = lucid.autograd.grad(y, x, lucid.ones_like(x), create_graph=True)
        if name in ("relu6", "hardtanh", "hardshrink", "softshrink"):
            assert slope[0] == 0
        elif name == "leaky_relu":
            assert slope[0].item() == pytest.approx(0.01, rel=1e-2)
        second, = lucid.autograd.grad(slope, x, lucid.ones_like(x))
        assert second.shape == x.shape and not second.any()


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "softshrink"])
def test_the_second_gradient_of_lines_in_a_fused_formula_is_zeros(name: str, device: str) -> None:
    x = lucid.tensor([np.inf, 2.0, -2.0, 0.25], device=device, requires_grad=True)
    slope, = lucid.autograd.grad(lucid.fuse(LINES[name])(x).sum(), x, create_graph=True)
    second, = lucid.autograd.grad(slope.sum(), x)
    assert second.shape == x.shape and not second.any()


@pytest.mark.torch
@pytest.mark.parametrize("inplace", [False, True])
def test_gradients_at_nan_as_pytorch(inplace: bool, device: str) -> None:
    torch = pytest.importorskip("torch")
    data = np.tile(np.array([np.nan, 1.0, -1.0, 4.0], np.float32), 64)  # many: PyTorch's last few are by other code
    calls: dict[str, tuple[Any, ...]] = {"relu6": (), "hardtanh": (), "hardswish": (), "elu": (), "selu": (), "celu": (),
                                         "leaky_relu": (), "rrelu": (), "threshold": (0.5, 7.0), "hardshrink": (), "softshrink": ()}
    for name, arguments in calls.items():
        options = {"inplace": True} if inplace and name not in ("hardshrink", "softshrink") else {}
        found = []
        for lib, where in ((lucid, device), (torch, "cpu")):
            x = lib.tensor(data, device=where, requires_grad=True)
            y = getattr(lib.nn.functional, name)(x * 1, *arguments, **options)
            found.append([t.detach().cpu().numpy() for t in (y, *lib.autograd.grad(y.sum(), x))])
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, err_msg=name)
