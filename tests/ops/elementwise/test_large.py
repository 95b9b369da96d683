"""Operations that run as one, by a kernel or step by step, give what their own operations give: values, gradients, NaN and infinity."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lucid as _lucid
from lucid.backends.cpu import interpreter
from lucid.nn import functional as F
from lucid.ops.elementwise import fused as _fused

lucid: Any = _lucid  # its names are re-exports
SPECIAL = np.array([0.0, -0.0, 1, -1, 3, -3, 0.5, -0.5, 6, 1e-30, -1e-30, 88, -104, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
NORMAL = np.random.default_rng(0).standard_normal((2, 500), dtype=np.float32)

ONE: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(F, name) for name in (
        "celu", "elu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu6", "selu",
        "softplus", "softshrink", "softsign", "tanhshrink")},
    **{name: getattr(lucid, name) for name in (
        "abs", "asin", "asinh", "atan", "atanh", "acos", "erf", "erfc", "frac", "log10", "log1p", "log2", "nan_to_num", "reciprocal",
        "rsqrt", "sign", "sqrt", "square", "tan")},
    "threshold": lambda x: F.threshold(x, 0.5, -2.0),
    "erfinv": lucid.special.erfinv, "ndtr": lucid.special.ndtr, "ndtri": lucid.special.ndtri,
}  # fmt: skip
TWO: dict[str, Callable[[Any, Any], Any]] = {
    **{name: functools.partial(getattr(F, name), reduction="none") for name in (
        "binary_cross_entropy_with_logits", "huber_loss", "kl_div", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
        "soft_margin_loss")},
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x.sigmoid().nan_to_num(), y.detach().sigmoid().nan_to_num(),
                                                                reduction="none"),
    "weighted logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=lucid.tensor(2.0), reduction="none"),
    "logarithms": lambda x, y: F.kl_div(x, y, log_target=True, reduction="none"),
    "rates": lambda x, y: F.poisson_nll_loss(x, y, log_input=False, reduction="none"),
    **{name: getattr(lucid, name) for name in ("logaddexp", "logaddexp2", "remainder", "xlogy")},
    **{f"rounded to {mode}": lambda x, y, mode=mode: lucid.div(x, y, rounding_mode=mode) for mode in ("floor", "trunc")},
    "quotient": lambda x, y: x / y,
    "prelu": lambda x, y: F.prelu(x.reshape(2, 2, -1), y[:2]),
}  # fmt: skip


def values_and_gradients(function: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
    """The results, and the gradients for an upstream gradient that differs from element to element."""
    leaves = [lucid.tensor(array, requires_grad=True) for array in arrays]
    y = function(*leaves)
    gradients = lucid.autograd.grad(y, leaves, lucid.linspace(1, 2, y.numel()).reshape(y.shape), allow_unused=True)
    return [result.detach().numpy() for result in (y, *gradients) if result is not None]


def ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Formulas are computed by a kernel, then step by step, then by their own operations."""
    for way, large, few in (("kernel", 1, 0), ("steps", sys.maxsize, sys.maxsize), ("plain", sys.maxsize, 0)):
        with monkeypatch.context() as patch:
            patch.setattr(_fused, "LARGE", large)
            patch.setattr(interpreter, "INTERPRETER_FROM", few)
            if way == "plain":
                patch.setattr(_fused, "_floats", lambda input, arguments: None)
            yield way


@pytest.fixture
def agree(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Compares what a function of tensors gives in all ways."""
    def compare(function: Callable[..., Any], *arrays: np.ndarray) -> None:
        results = [values_and_gradients(function, *arrays) for _ in ways(monkeypatch)]
        for kernel, steps, plain in zip(*results, strict=True):
            # Functions within a unit in the last place of each other are subtracted from 1 or x.
            np.testing.assert_allclose(kernel, plain, rtol=2e-6, atol=5e-7)
            np.testing.assert_allclose(steps, plain, rtol=2e-6, atol=5e-7)

    return compare


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_tensor(name: str, agree: Callable[..., None]) -> None:
    agree(ONE[name], np.concatenate([SPECIAL, NORMAL[0]]))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_tensors(name: str, agree: Callable[..., None]) -> None:
    pairs = np.stack([array.ravel() for array in np.meshgrid(SPECIAL, SPECIAL)])
    agree(TWO[name], *np.concatenate([pairs, NORMAL], axis=1))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_dtypes_devices_and_second_gradients(dtype: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for _ in ways(monkeypatch):
        x = lucid.tensor(NORMAL[0], dtype=getattr(lucid, dtype), device=device, requires_grad=True)
        y = F.elu(x) * F.hardswish(x)
        (first,) = lucid.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = lucid.autograd.grad(first.sum(), x)
        assert y.dtype == first.dtype == second.dtype == x.dtype
        results.append([tensor.detach().cpu().double().numpy() for tensor in (y, first, second)])
    for kernel, steps, plain in zip(*results, strict=True):
        # Fused, half precision is rounded once at the end.
        tolerance = {"atol": 0.06} if dtype == "bfloat16" else {"rtol": 1e-12, "atol": 1e-14}
        np.testing.assert_allclose(kernel, plain, **tolerance)
        np.testing.assert_allclose(steps, plain, **tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", [*ONE, "smooth_l1_loss", "huber_loss", "soft_margin_loss"])
def test_numbers_are_as_vectors_of_one(name: str, dtype: str) -> None:
    """Step by step they are computed as such; results have no dimensions, and memory of their own."""
    function = ONE.get(name) or (lambda x: TWO[name](x, x * 0.5 + 0.25))
    for value in SPECIAL:
        found = []
        for shape in ((), (1,)):
            x = lucid.full(shape, float(value)).to(getattr(lucid, dtype)).requires_grad_()
            y = function(x)
            (first,) = lucid.autograd.grad(y, x, lucid.full_like(y, 2), create_graph=True)
            again = lucid.autograd.grad(first, x, lucid.full_like(y, 3), allow_unused=True) if first.requires_grad else [None]
            assert y.shape == first.shape == x.shape and y.dtype == first.dtype == x.dtype
            assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())
            found.append([0.0 if tensor is None else tensor.item() for tensor in (y, first, *again)])
        np.testing.assert_array_equal(*found)


def test_complex_targets_and_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fused, "LARGE", 1)
    assert F.l1_loss(lucid.zeros(3), lucid.full((3,), 3 + 4j)).item() == 5
    assert F.hardswish(lucid.empty(3, 4, device="meta")).shape == (3, 4)


def test_what_is_fused_is_chosen_for_each_combination_of_arguments() -> None:
    x = lucid.tensor([-1.0, 2.0])
    for _ in range(2):  # first traced, or found not to be for formulas, then known
        assert lucid.equal(F.elu(input=x, alpha=0.5), F.elu(x, 0.5))
        assert lucid.equal(F.softplus(beta=2.0, input=x), F.softplus(x, 2.0))
        assert F.mse_loss(x, x.to(lucid.complex64) * 1j, reduction="none").dtype == lucid.complex64
        assert F.softsign(lucid.tensor([1, -3])).tolist() == [0.5, -0.75]
        assert F.l1_loss(lucid.tensor([1, 5]), x, reduction="none").tolist() == [2.0, 3.0]
        with pytest.raises(NotImplementedError):
            F.elu(lucid.tensor([1, 2]))
        out = lucid.empty(2)
        assert lucid.hardshrink(x, 1.5, out=out) is out
        assert out.tolist() == [0.0, 2.0]


def test_a_formula_that_reads_only_later_arguments() -> None:
    @lucid.fuse
    def second(a: Any, b: Any, c: Any) -> Any:
        return b * 2

    a, b = lucid.tensor([1.0]), lucid.tensor([3.0, 4.0], requires_grad=True)
    y = second(a, b, a)
    y.sum().backward()
    assert (y.tolist(), b.grad.tolist()) == ([6.0, 8.0], [2.0, 2.0])
    x, slopes = lucid.tensor([-2.0, 3.0], requires_grad=True), lucid.tensor(0.5)
    F.prelu(x, slopes.reshape(1)).sum().backward()  # the gradient reads the upstream one and x, then the slope
    assert x.grad.tolist() == [0.5, 1.0]
