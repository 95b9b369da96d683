"""NumPy's loops on all threads: its own results, and None for what it has to do itself."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import ufunc_loops

import lucid as _lucid

lucid: Any = _lucid  # its names are re-exports
SIZE = 3 * ufunc_loops._GRAIN + 5
INTEGERS = [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64]
BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.floor_divide, np.remainder, np.fmod, np.equal, np.not_equal,
          np.less, np.less_equal, np.greater, np.greater_equal, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm]
UNARY = [np.negative, np.absolute, np.invert]


def numbers(dtype: Any, seed: int = 0, size: int = SIZE) -> np.ndarray:
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        x = random.integers(-3, 3, size).astype(dtype)
        x[:: size // 7], x[1 :: size // 5] = np.nan, np.inf
        return x
    if np.dtype(dtype).kind == "b":
        return random.random(size) > 0.5
    x = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size, dtype, endpoint=True)
    x[:: size // 7] = 0
    return x


@pytest.fixture(autouse=True)
def raises() -> Iterator[None]:
    """Divisions by zero and overflows are not reported, as elsewhere in lucid."""
    with np.errstate(all="raise"):
        yield


def wanted(ufunc: np.ufunc, *operands: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(ufunc(*operands))


@pytest.mark.parametrize("dtype", [np.bool_, *INTEGERS, np.float32, np.float64], ids=lambda dtype: np.dtype(dtype).name)
def test_arrays_and_numbers(dtype: Any) -> None:
    a, b = numbers(dtype), numbers(dtype, seed=1)
    number: Any = True if dtype is np.bool_ else 3
    for ufunc in BINARY:
        if not any(signature.startswith(2 * a.dtype.char + "->") for signature in ufunc.types):
            assert ufunc_loops.apply(ufunc, a, b) is None
            continue
        for operands in ((a, b), (a, a), (a, number), (number, b), (a, b[7:8].reshape(())), (b[7:8].reshape(()), a)):
            found = ufunc_loops.apply(ufunc, *operands)
            np.testing.assert_array_equal(found, wanted(ufunc, *operands), strict=True)
    for ufunc in UNARY:
        if any(signature.startswith(a.dtype.char + "->") for signature in ufunc.types):
            np.testing.assert_array_equal(ufunc_loops.apply(ufunc, a), wanted(ufunc, a), strict=True)


@pytest.mark.parametrize("size", [0, 1, 63, ufunc_loops._GRAIN, ufunc_loops._GRAIN + 1])
def test_sizes(size: int) -> None:
    a, b = numbers(np.uint8, size=SIZE)[:size], numbers(np.uint8, seed=1)[:size]
    np.testing.assert_array_equal(ufunc_loops.apply(np.add, a, b), a + b, strict=True)
    whole = numbers(np.int32)[: size // 3 * 3].reshape(-1, 3)
    np.testing.assert_array_equal(ufunc_loops.apply(np.negative, whole), -whole, strict=True)


def test_three_operands() -> None:
    clip, x = np._core.umath.clip, numbers(np.int16)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(ufunc_loops.apply(clip, x, -5, 100), x.clip(-5, 100), strict=True)
    low, high = numbers(np.int16, seed=1), numbers(np.int16, seed=2)
    np.testing.assert_array_equal(ufunc_loops.apply(clip, x, low, high), x.clip(low, high), strict=True)


def test_out() -> None:
    a, b = numbers(np.int32), numbers(np.int32, seed=1)
    total, result = a + b, np.empty_like(a)
    assert ufunc_loops.apply(np.add, a, b, out=result) is result
    np.testing.assert_array_equal(result, total)
    assert ufunc_loops.apply(np.add, a, b, out=a) is a
    np.testing.assert_array_equal(a, total)
    for other in (a.view(np.uint32), np.empty(SIZE + 1, np.int32), np.empty(2 * SIZE, np.int32)[::2], np.broadcast_to(a[:1], SIZE)):
        assert ufunc_loops.apply(np.add, b, b, out=other) is None
    both = numbers(np.int32, size=SIZE + 1)
    before = both.copy()
    assert ufunc_loops.apply(np.add, both[1:], 1, out=both[:-1]) is None
    np.testing.assert_array_equal(both, before)


def test_what_is_left_to_numpy() -> None:
    x = numbers(np.uint8)
    for other in (300, -1, 1.5, True, x[1:], x.astype(np.int16), np.broadcast_to(x[:1], SIZE), x.astype(np.float32), None):
        assert ufunc_loops.apply(np.add, x, other) is None
    for number in (1e39, 10**400, 1j):
        assert ufunc_loops.apply(np.less, numbers(np.float32), number) is None
    assert ufunc_loops.apply(np.add, 1, 2) is None
    assert ufunc_loops.apply(np.divmod, x, x) is None  # two results
    assert ufunc_loops.apply(np.add, x.astype(object), x.astype(object)) is None
    assert ufunc_loops.apply(np.add, x.astype(">i4"), x.astype(">i4")) is None
    dates = np.zeros(SIZE, "M8[s]")
    assert ufunc_loops.apply(np.equal, dates, dates) is None


def test_infinite_and_undefined_numbers() -> None:
    x = numbers(np.float32)
    for number in (np.inf, -np.inf, np.nan, 0.1):
        np.testing.assert_array_equal(ufunc_loops.apply(np.less, x, number), wanted(np.less, x, number), strict=True)


def test_another_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ufunc_loops, "_KNOWN", False)
    ufunc_loops.loop_of.cache_clear()
    assert ufunc_loops.apply(np.add, numbers(np.uint8), 1) is None
    ufunc_loops.loop_of.cache_clear()


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64], ids=lambda dtype: np.dtype(dtype).name)
def test_operations(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large tensors they give what they give of small ones, by the loops."""
    calls, kernel = [], ufunc_loops._in_parts
    monkeypatch.setattr(ufunc_loops, "_in_parts", lambda *given: calls.append(given) or kernel(*given))
    functions: list[Any] = [lambda x, y: x == y, lambda x, y: x < y, lambda x, y: x >= 1, lambda x, y: x & y, lambda x, y: x | y,
                            lambda x, y: x ^ y, lambda x, y: ~x]
    if dtype is not np.bool_:
        functions += [lambda x, y: x + y, lambda x, y: x - 3, lambda x, y: 3 * x, lambda x, y: -x, lambda x, y: x.clamp(2, 9),
                      lambda x, y: x.clamp(min=2), lambda x, y: lucid.maximum(x, y), lambda x, y: x % y, lambda x, y: x // y,
                      lambda x, y: x**3, lambda x, y: x.clone().add_(y), lambda x, y: x.int(), lambda x, y: x.long()]
    x, y = lucid.tensor(numbers(dtype, size=1 << 19)), lucid.tensor(numbers(dtype, seed=1, size=1 << 19))
    y[y == 0] = 1
    for number, function in enumerate(functions):
        calls.clear()
        large, few = function(x, y), slice(1 << 18, (1 << 18) + 1000)
        assert calls or number >= 7  # a comparison or a function of bits
        small = function(x[few], y[few])
        assert large.dtype == small.dtype
        assert lucid.equal(large[few], small)
