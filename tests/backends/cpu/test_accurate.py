"""Functions of small float32 arrays are as exact as PyTorch's, whatever NumPy's are."""
from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from lucid_kernels import numpy_warnings

import lucid

# name -> (the function in NumPy, the interval of its argument, the largest error in units in the last place: twice PyTorch's)
FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[float, float], float]] = {
    "exp": (np.exp, (-80, 80), 1.1), "expm1": (np.expm1, (-10, 15), 1.0), "log": (np.log, (1e-3, 20), 1.6),
    "log2": (np.log2, (1e-3, 20), 1.2), "log10": (np.log10, (1e-3, 20), 1.3), "log1p": (np.log1p, (-0.99, 10), 1.2),
    "sin": (np.sin, (-100, 100), 1.1), "cos": (np.cos, (-100, 100), 1.1), "tan": (np.tan, (-10, 10), 1.5),
    "asin": (np.arcsin, (-1, 1), 1.3), "acos": (np.arccos, (-1, 1), 1.4), "atan": (np.arctan, (-20, 20), 1.5),
    "sinh": (np.sinh, (-20, 20), 1.0), "cosh": (np.cosh, (-20, 20), 1.0), "tanh": (np.tanh, (-5, 5), 1.0),
    "atanh": (np.arctanh, (-0.999, 0.999), 1.0), "asinh": (np.arcsinh, (-20, 20), 1.6), "acosh": (np.arccosh, (1, 20), 1.6),
}


def largest_error(computed: np.ndarray, wanted: np.ndarray) -> float:
    """In units in the last place."""
    assert computed.dtype == np.float32
    return float((np.abs(computed - wanted) / np.spacing(np.abs(wanted).astype(np.float32))).max())


@pytest.mark.parametrize("size", [8, 100, 1000, 5000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name: str, size: int) -> None:
    exact, interval, bound = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    for _ in range(max(1, 20_000 // size)):
        x = rng.uniform(*interval, size).astype(np.float32)
        wanted = exact(x.astype(np.float64))
        assert largest_error(getattr(lucid, name)(lucid.tensor(x)).numpy(), wanted) <= bound


@pytest.mark.parametrize("size", [8, 1000, 5000])
def test_arctangents_of_two(size: int) -> None:
    for seed in range(20):
        a, b = np.random.default_rng(seed).uniform(-5, 5, (2, size)).astype(np.float32)
        wanted = np.arctan2(a.astype(np.float64), b.astype(np.float64))
        assert largest_error(lucid.atan2(lucid.tensor(a), lucid.tensor(b)).numpy(), wanted) <= 1.6


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_layout_and_dtype(name: str) -> None:
    """0-d, empty, transposed and broadcast arrays; results keep the dtype, and may be written to a given tensor."""
    function, (exact, (low, high), _) = getattr(lucid, name), FUNCTIONS[name]
    x = np.linspace(low, high, 12).reshape(3, 4)
    for dtype, tolerance in ((lucid.float16, 2e-3), (lucid.bfloat16, 2e-2), (lucid.float32, 1e-6), (lucid.float64, 1e-12)):
        value = lucid.tensor(x).clamp(max(low, -5), min(high, 5)).to(dtype)
        for t in (value, value.T, value[1, 2], value[:0], value[0].expand(5, 4), value[:, ::2]):
            with np.errstate(divide="ignore"):  # -0.999 is -1 in bfloat16
                wanted = exact(t.to(lucid.float64).numpy())
            y = function(t)
            assert y.dtype == dtype
            np.testing.assert_allclose(y.to(lucid.float64).numpy(), wanted, rtol=tolerance, atol=tolerance)
            out = lucid.empty(t.shape, dtype=dtype)
            assert function(t, out=out) is out
            np.testing.assert_allclose(out.to(lucid.float64).numpy(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("length", [10, 30, 100, 300])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tan"])
def test_results_lie_in_memory_as_what_they_are_computed_of(name: str, length: int) -> None:
    """As in PyTorch, whichever kernel computes them."""
    x = lucid.rand(length, length) + 0.5
    y = getattr(lucid, name)(x.t())
    assert y.stride() == (1, length)
    np.testing.assert_allclose(y.t().numpy(), getattr(lucid, name)(x).numpy(), rtol=1e-6)


def test_overflows_are_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numpy_warnings.ignore()
        x = lucid.tensor([100.0, 1e30, -1.0, 0.0, float("nan"), float("inf")])
        assert lucid.exp(x).tolist()[:2] == [float("inf")] * 2
        assert lucid.exp(x, out=lucid.empty(6)).tolist()[:2] == [float("inf")] * 2
        assert lucid.cosh(x).tolist()[0] == float("inf")
        assert lucid.log(x).tolist()[3] == -float("inf")
        assert lucid.log(x).isnan().tolist() == [False, False, True, False, True, False]
