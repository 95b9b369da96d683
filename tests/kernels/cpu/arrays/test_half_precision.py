"""Conversions between float32 and float16: every float16, every kind of rounding, and through the library."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.arrays import half_precision
from lucid_kernels.cpu.simd import nontemporal

import lucid as _lucid

lucid: Any = _lucid  # its names are re-exports
native = pytest.mark.skipif(not half_precision.AVAILABLE, reason="the processor does not convert float16")
EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@native
@pytest.mark.parametrize("streaming", [False, True])
def test_every_float16_and_back(streaming: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if streaming:
        monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
    halves = np.tile(EVERY, 9)  # large enough for memory of the pool, which is aligned
    wide = half_precision.widen(halves)
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, halves.astype(np.float32))
    narrow = half_precision.narrow(wide)
    assert narrow.dtype == np.float16
    np.testing.assert_array_equal(narrow, halves)
    known = ~np.isnan(halves)
    np.testing.assert_array_equal(narrow[known].view(np.uint16), halves[known].view(np.uint16))  # zeros keep their signs


@native
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_rounding_is_to_the_nearest_and_to_even(shift: int) -> None:
    """Halfway between neighbours, and just beside, to infinity and below the normal numbers."""
    finite = EVERY[np.isfinite(EVERY)].astype(np.float32)
    finite = np.unique(finite)
    halfway = (finite[1:] + finite[:-1]) / 2
    given = np.concatenate([halfway, np.float32([65519, 65520, 65536, 1e30, -1e30, 2e-8, 3e-8, 1e-30])])
    given = np.nextafter(given, np.float32(shift * np.inf)) if shift else given
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(half_precision.narrow(given), given.astype(np.float16))


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_bfloat16(shift: int) -> None:
    """Every number and back, halves between neighbours and just beside, infinities, overflow and NaN, with their signs."""
    kind = np.dtype(lucid.bfloat16)
    every = np.tile(np.arange(1 << 16, dtype=np.uint16), 2)
    wide = half_precision.widen(every.view(kind))
    np.testing.assert_array_equal(wide.view(np.uint32), every.astype(np.uint32) << 16)
    halfway = np.concatenate([(wide.view(np.uint32) + np.uint32((1 << 15) + shift)).view(np.float32), wide])
    with np.errstate(invalid="ignore"):
        narrow, expected = half_precision.narrow(halfway, kind), halfway.astype(kind)
    missing = np.isnan(halfway)
    np.testing.assert_array_equal(narrow.view(np.uint16)[~missing], expected.view(np.uint16)[~missing])
    assert np.isnan(narrow[missing].astype(np.float32)).all()
    assert (lucid.tensor(halfway).bfloat16().numpy().view(np.uint16) == narrow.view(np.uint16)).all()


@pytest.mark.parametrize("length", [0, 1, 5000, 40000])
def test_through_the_library(length: int) -> None:
    values = np.random.default_rng(0).standard_normal(2 * length).astype(np.float32) * 100
    x = lucid.tensor(values, requires_grad=True)
    half = x.half()
    assert half.dtype == lucid.float16
    np.testing.assert_array_equal(half.detach().numpy(), values.astype(np.float16))
    np.testing.assert_array_equal(half.float().detach().numpy(), values.astype(np.float16).astype(np.float32))
    (half.float() * 3).sum().backward()
    assert x.grad.dtype == lucid.float32 and (x.grad == 3).all()
    part = x.detach()[::2]
    np.testing.assert_array_equal(part.half().numpy(), values[::2].astype(np.float16))
    np.testing.assert_array_equal(half.detach().relu().numpy(), np.maximum(values.astype(np.float16), 0))


@pytest.mark.parametrize("wanted", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize("given", ["float16", "float32", "float64", "int64", "bool"])
def test_large_casts_of_all_dtypes(given: str, wanted: str) -> None:
    values = np.arange(8192).astype(given)
    np.testing.assert_array_equal(lucid.tensor(values).to(getattr(lucid, wanted)).numpy(), values.astype(wanted))
