"""Arrays combined with numbers, masks and one another: against NumPy, for serial, parallel, streaming and in-place kernels."""
from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import ternary
from lucid_kernels.cpu.simd import nontemporal

import lucid as _lucid

lucid: Any = _lucid  # its names are re-exports

LENGTHS = [0, 1, 7, 16385, 263001]
NATIVE = [np.float32, np.float64]
ALL = [*NATIVE, np.float16, ml_dtypes.bfloat16, np.int64, np.int8, np.bool_, np.complex64]


@pytest.fixture(params=[False, True], ids=["cached", "streaming"])
def streaming(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)


def numbers(length: int, dtype: Any, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(length) * 4
    if np.dtype(dtype).kind in "fVc":
        values[: length // 5 : 3] = np.nan
        values[1 : length // 5 : 7] = np.inf
    with np.errstate(invalid="ignore"):
        return values.astype(dtype)


def assert_near(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal but for the rounding of products, which may be left out."""
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(found.dtype).eps, atol=64 * np.finfo(found.dtype).eps)


@pytest.mark.parametrize("dtype", NATIVE)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("alpha", [0.3, -2, float("inf")])
def test_add_scaled(length: int, dtype: Any, alpha: float, streaming: None) -> None:
    a, b = numbers(length, dtype), numbers(length, dtype, 1)
    with np.errstate(all="ignore"):
        wanted = a + b * dtype(alpha)
    assert_near(ternary.add_scaled(a, b, alpha=alpha), wanted)


@pytest.mark.parametrize("dtype", NATIVE)
@pytest.mark.parametrize("length", LENGTHS)
def test_add_scaled_in_place(length: int, dtype: Any) -> None:
    a, b = numbers(length, dtype), numbers(length, dtype, 1)
    wanted = ternary.add_scaled(a, b, alpha=0.3)
    for first in (True, False):
        operands = [a.copy(), b.copy()]
        out = operands[0 if first else 1]
        assert ternary.add_scaled(*operands, alpha=0.3, out=out) is out
        assert_near(out, wanted)


@pytest.mark.parametrize("dtype", NATIVE)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("weight", [0.1, 0.5, 1, -3.0, None])
def test_lerp(length: int, dtype: Any, weight: float | None, streaming: None) -> None:
    x, end = numbers(length, dtype), numbers(length, dtype, 1)
    given: Any = np.random.default_rng(2).random(length).astype(dtype) if weight is None else weight
    weights = np.broadcast_to(np.asarray(given, dtype), x.shape)
    with np.errstate(all="ignore"):
        wanted = np.where(np.abs(weights) < 0.5, x + weights * (end - x), end - (1 - weights) * (end - x))
    assert_near(ternary.lerp(x, end, given), wanted)
    out = x.copy()
    assert ternary.lerp(out, end, given, out=out) is out
    assert_near(out, wanted)


@pytest.mark.parametrize("dtype", NATIVE)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("slope", [0.01, -2.0, float("inf")])
def test_leaky_relu(length: int, dtype: Any, slope: float, streaming: None) -> None:
    x = numbers(length, dtype)
    with np.errstate(all="ignore"):
        wanted = np.where(x > 0, x, x * dtype(slope))
    np.testing.assert_array_equal(ternary.leaky_relu(x, slope=slope), wanted)
    assert ternary.leaky_relu(x, slope=slope, out=x) is x
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("dtype", NATIVE)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.7), (0.7, -0.5), (-math.inf, 0.1), (0, math.inf), (-1e300, 1e300)])
def test_clip(length: int, dtype: Any, low: float, high: float, streaming: None) -> None:
    x = numbers(length, dtype)
    with np.errstate(over="ignore"):
        wanted = np.clip(x, dtype(low), dtype(high))
    np.testing.assert_array_equal(ternary.clip(x, low, high), wanted)
    assert ternary.clip(x, low, high, out=x) is x
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("length", LENGTHS)
def test_choices_keep_every_bit(length: int, dtype: Any, streaming: None) -> None:
    a, b, condition = numbers(length, dtype), numbers(length, dtype, 1), np.random.default_rng(2).random(length) < 0.4
    value = np.asarray(3, dtype)

    def assert_same(found: np.ndarray, wanted: np.ndarray) -> None:
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()

    assert_same(ternary.where(condition, a, b), np.where(condition, a, b))
    assert_same(ternary.where(condition, a, value), np.where(condition, a, value))
    assert_same(ternary.where(condition, value, b), np.where(condition, value, b))
    wanted = np.where(condition, value, a)
    assert_same(ternary.masked_fill(a, condition, value), wanted)
    assert ternary.masked_fill(a, condition, value, out=a) is a
    assert_same(a, wanted)


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.bfloat16, lucid.bool, lucid.complex128])
@pytest.mark.parametrize("layout", [lambda x: x, lambda x: x.t(), lambda x: x[:, ::2]], ids=["plain", "transposed", "gaps"])
@pytest.mark.parametrize("mask_shape", ["whole", "row", "column"])
def test_choices_through_the_library(dtype: Any, layout: Any, mask_shape: str) -> None:
    """Broadcast masks, numbers, and what is not contiguous or has too many bytes, which goes another way."""
    x, y = (layout(lucid.tensor(numbers(90 * 120, np.float32, seed).reshape(90, 120)).to(dtype)) for seed in (0, 1))
    mask = lucid.rand(x.shape) < 0.4
    mask = {"whole": mask, "row": mask[0], "column": mask[:, :1]}[mask_shape]
    full, a, b = np.broadcast_to(mask.numpy(), x.shape), x.numpy(), y.numpy()
    one = np.ones((), a.dtype)

    def assert_same(found: Any, wanted: np.ndarray) -> None:
        assert found.dtype == dtype and found.numpy().tobytes() == wanted.tobytes()

    assert_same(lucid.where(mask, x, y), np.where(full, a, b))
    assert_same(lucid.where(mask, x, lucid.ones((), dtype=dtype)), np.where(full, a, one))
    assert_same(x.masked_fill(mask, 1), np.where(full, one, a))
    if dtype != lucid.bool:
        assert_same(lucid.where(mask, 1, y), np.where(full, one, b))
    wanted = np.where(full, one, a)
    assert_same(x.masked_fill_(mask, 1), wanted)


@pytest.mark.parametrize("exponent", [3, -1, -2, 4, -3, 0, 5.0, 0.5])
@pytest.mark.parametrize("dtype", NATIVE)
def test_powers_of_both_signs(exponent: float, dtype: Any) -> None:
    x = np.array([-np.inf, -3.5, -1, -0.0, 0, 1e-3, 1, 2.5, np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        wanted = np.sqrt(x) if exponent == 0.5 else np.power(x, dtype(exponent))
    for found in ((lucid.tensor(x) ** exponent).numpy(), lucid.tensor(x).pow_(exponent).numpy()):
        np.testing.assert_allclose(found, wanted, rtol=3 * np.finfo(dtype).eps)
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))
