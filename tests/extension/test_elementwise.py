"""Operations by formulas: parsing, values, gradients, transforms."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import lucid
from lucid import extension as ext
from lucid.autograd import gradgradcheck
from lucid.extension.formula import FUNCTIONS, Formula

celu = ext.elementwise("x > 0 ? x : a * expm1(x / a)", a=1.0, name="my_celu")


def test_a_formula_on_both_devices(device):
    x = lucid.randn(5, 7).to(device)
    assert lucid.allclose(celu(x, a=2.0), lucid.nn.functional.celu(x, 2.0), atol=1e-6)
    assert celu(x.half()).dtype == lucid.float16
    assert lucid.allclose(lucid.vmap(celu)(x), celu(x))
    assert gradgradcheck(celu, (lucid.randn(3, 4, dtype=lucid.float64).to(device).requires_grad_(),))
    inside = lucid.fuse(lambda x: celu(x) * 2)
    compiled = lucid.compile(lambda x: inside(x))
    with lucid.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")  # it would run eagerly
        assert all(lucid.allclose(compiled(x), 2 * celu(x)) for _ in range(3))
    assert celu(x.to("meta")).shape == (5, 7)
    assert repr(celu) == "<elementwise my_celu(x, *, a=1.0) -> y: x > 0 ? x : a * expm1(x / a)>"


def test_statements_operators_and_several_results(device):
    two = ext.elementwise("t = exp(-abs(x)); s = x < 0 && y > 0 || !(y >= 1); s ? t : x % 3, min(x, 0) ** 2 - -1e-3")
    x = lucid.randn(30)
    a, b = two(x.to(device), (x + 0.5).to(device))
    x = x.numpy()
    s = ((x < 0) & (x + 0.5 > 0)) | ~(x + 0.5 >= 1)
    np.testing.assert_allclose(a.cpu().numpy(), np.where(s, np.exp(-abs(x)), np.fmod(x, 3)), rtol=1e-5)
    np.testing.assert_allclose(b.cpu().numpy(), np.minimum(x, 0) ** 2 + 1e-3, rtol=1e-5)


@pytest.mark.parametrize(("text", "value"), [
    ("2 + 3 * 4 - 1", 13), ("2 ** 3 ** 2", 512), ("-2 ** 2", -4), ("1 < 2 ? 3 : 4", 3), ("0 ? 1 : 0 ? 2 : 5", 5), ("-7 % 3", -1),
    ("1 && 0 || 1", True), ("!1 == 0", True), ("(1 + 2) * 3", 9), ("1.5e2 / 2f", 75), ("8 - 4 - 2", 2), ("a = 2; b = a * a; a + b", 6)])
def test_precedence_is_that_of_c(text, value):
    assert Formula(text)({}) == (value,)


def test_numbers_stand_on_either_side_and_infinities_stay():
    x = lucid.tensor([2.0, float("inf"), float("nan")], dtype=lucid.float64)
    for name in ("maximum", "fmod", "atan2", "pow"):
        function, by_numpy = ext.elementwise(f"{name}(1.5, x)"), {"atan2": np.arctan2, "pow": np.power}.get(name)
        np.testing.assert_allclose(function(x).numpy(), (by_numpy or getattr(np, name))(1.5, x.numpy()))
    assert ext.elementwise("true && x > 1 || false")(x).tolist() == [True, True, False]
    assert ext.elementwise("0 && x")(x).tolist() == [False, False, False]


def test_every_function_can_be_compiled():
    x = lucid.rand(3) * 0.5
    usual = {"clamp": "clamp(x, 0.2, 0.3)", "lerp": "lerp(x, y, 0.3)", "where": "where(x > y, x, y)"}
    pairs = "atan2 fmod logaddexp maximum minimum pow xlogy fmax fmin max min power".split()
    calls = [usual.get(name, f"{name}(x, y)" if name in pairs else f"{name}(x)") for name in sorted(FUNCTIONS)]
    formula = Formula(", ".join(calls))
    x, y = x.to("meta"), (x + 0.1).to("meta")  # traced, and not compiled
    assert len(lucid.fuse(lambda x, y: formula({"x": x, "y": y}))(x, y)) == len(FUNCTIONS)


def test_reductions(device):
    x = (lucid.rand(3, 4, dtype=lucid.float64) + 0.5).to(device).requires_grad_()
    length = ext.reduction("x * x", "sum", "sqrt(r) * k", k=2.0)
    assert lucid.allclose(length(x, dim=1, k=1.0), x.norm(dim=1))
    if device == "gpu":
        return
    assert gradgradcheck(lambda x: length(x, dim=0, keepdim=True), (x,))
    assert ext.reduction("abs(x)", "max")(x, dim=(0, 1)).item() == x.abs().max().item()
    assert lucid.allclose(ext.reduction("x", "prod")(x), x.detach().flatten().prod())
    assert ext.reduction("x > k", "any", k=100.0)(x).item() is False


def test_errors():
    for text, message in {"x +": "a number, a name or a parenthesis", "foo(x)": "there is no function 'foo'; there are abs",
                          "x ? 1": "here should be ':'", "x $ y": "what is this?", "y = x": "here should be ';'",
                          "x y": "should end here"}.items():
        with pytest.raises(ValueError, match=message) as caught:
            ext.elementwise(text)
        assert "^" in str(caught.value)
    with pytest.raises(ValueError, match="'y' in the formula is neither an input nor a scalar"):
        ext.elementwise("x * y", "x")
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'b'"):
        celu(lucid.randn(2), b=1)
    with pytest.raises(ValueError, match="no reduction 'median'"):
        ext.reduction("x", "median")


@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (4, 3), (3, 2, 4)])
@pytest.mark.parametrize("dim", [None, -1, 0])
@pytest.mark.parametrize("keepdim", [False, True])
def test_a_reduction_by_a_formula(shape, dim, keepdim, device):
    """(1 + a)(1 + b) - 1 is the product of all 1 + x, less 1."""
    growth = ext.reduction("x", "a + b + a * b", name="growth")
    x = lucid.rand(shape, dtype=lucid.float64, device=device, requires_grad=True)
    axes = tuple(range(x.ndim)) if dim is None else dim
    expected = x.log1p().sum(axes, keepdim=keepdim).expm1()
    found = growth(x, dim=dim, keepdim=keepdim)
    assert found.shape == expected.shape and lucid.allclose(found, expected)
    assert lucid.allclose(lucid.autograd.grad(found.sum(), x)[0], lucid.autograd.grad(expected.sum(), x)[0])


def test_a_formula_that_reduces_keeps_the_order():
    first = ext.reduction("x", "a + 0 * b", name="first")
    assert first(lucid.arange(1.0, 8.0)).item() == 1 and first(lucid.tensor(3.0)).item() == 3
    with pytest.raises(ValueError, match="first_combine: there is no element to reduce, shape .2, 0., dimensions .1."):
        first(lucid.zeros(2, 0), dim=1)
    with pytest.raises(ValueError, match="there is no reduction 'most'; there are sum, .* and formulas of a and b"):
        ext.reduction("x", "most")
