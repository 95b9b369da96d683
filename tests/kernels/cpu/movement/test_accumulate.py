"""Sums of arrays with any strides, in place: those of NumPy, and nothing written beside them."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.movement import accumulate
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

from tests.kernels.cpu.assembly import of_float32

SHAPES = [(), (1,), (70,), (40000,), (3, 40000), (300, 40), (0, 40), (7, 5, 90), (2, 1, 33, 64), (50, 3)]


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def check(source: np.ndarray) -> None:
    """Into a part of an array, of which the rest stays as it is, and into a whole one."""
    around = numbers(tuple(length + 2 for length in source.shape), source.dtype)
    inside = (..., *(slice(1, -1),) * source.ndim)
    for target in (around, np.ones(source.shape, source.dtype)):
        expected, place = target.copy(), inside if target is around else ...
        expected[place] += source
        accumulate.add_into(target[place], source)
        np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_strides(shape: tuple[int, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "ACCUMULATE_FROM", 1)
    x = numbers(shape, dtype)
    check(x)
    check(x.T)
    check(np.broadcast_to(dtype(3), shape))
    if shape:
        check(x[..., ::-1])
        check(x[:: 2 if shape[0] else 1])
        for axis in range(len(shape)):
            if shape[axis]:
                check(np.broadcast_to(np.take(x, [0], axis), shape))


def test_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "ACCUMULATE_FROM", 1)
    x = np.full((40, 50), np.inf, np.float32)
    x[:, ::3] = np.nan
    target = np.full((40, 50), -np.inf, np.float32)
    accumulate.add_into(target, x)
    assert np.isnan(target).all()


@numba.njit
def add_row(like, source, target, count):
    accumulate._add_row(like, source, target, count, False)


def test_rows_are_added_as_vectors() -> None:
    x, y = np.ones(40, np.float32), np.zeros(40, np.float32)
    add_row(x[:0], x.ctypes.data, y.ctypes.data, 40)
    assert y.all()
    assembly = of_float32(add_row)
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    if "%xmm" not in assembly:
        pytest.skip("written for x86")
    assert re.search(rf"vaddps\s.*{register}", assembly)
