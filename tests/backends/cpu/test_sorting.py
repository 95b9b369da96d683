"""Large arrays in order on the CPU: as NumPy's ways, which serve the small ones, have them."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lucid.backends.common import sorting
from lucid.backends.cpu.backend import TABLE

DTYPES = ["f4", "f8", "f2", ml_dtypes.bfloat16, "i8", "i4", "i2", "u1", "u8", "?"]


def by_numpy(x: np.ndarray, *, axis: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    indices = sorting.order(np.argsort, x, axis, descending)
    return np.take_along_axis(x, indices, axis), indices


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, shape).astype(dtype)
    if x.dtype.kind in "fV":
        x[rng.random(shape) < 0.1] = np.nan
        x[rng.random(shape) < 0.1] = -np.inf
    return x


def check(found: Any, wanted: Any) -> None:
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype == two.dtype and one.flags.c_contiguous
        np.testing.assert_array_equal(one.astype("f8"), two.astype("f8"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "axis"), [((5000,), 0), ((90, 60), 0), ((90, 60), 1), ((30, 20, 50), 1)], ids=str)
def test_sort_and_topk(shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    x = numbers(shape, dtype)
    before = x.copy()
    for given in (x, np.flip(x, axis), np.broadcast_to(x[:1], shape)):
        for largest in (False, True):
            wanted = by_numpy(given, axis=axis, descending=largest)
            check(TABLE["sort"](given, axis=axis, descending=largest), wanted)
            for k in (0, 1, 4, 15, shape[axis]):
                values, indices = TABLE["topk"](given, k=k, axis=axis, largest=largest)
                check((values, indices), [part.take(range(k), axis) for part in wanted])
                check((np.take_along_axis(given, indices, axis),), (values,))
    np.testing.assert_array_equal(x.astype("f8"), before.astype("f8"))


def test_argsort() -> None:
    x = np.random.default_rng(0).integers(0, 1 << 63, 10_000)
    np.testing.assert_array_equal(TABLE["argsort"](x, axis=0), np.argsort(x))


@pytest.mark.parametrize("largest", [2, 300, 1 << 40])
@pytest.mark.parametrize("shape", [(2000, 3), (300, 40)])
def test_lexsort_of_many_rows(shape: tuple[int, int], largest: int) -> None:
    """Few columns as numbers, many as bytes; equal rows stay in their order."""
    rows = np.random.default_rng(0).integers(-1, 2, shape) * largest
    rows[7:90] = rows[100:183]
    for given in (rows, rows.astype(np.float32) * np.float32(-1)):  # with zeros of both signs
        np.testing.assert_array_equal(TABLE["lexsort"](given), np.lexsort(given.T[::-1]))


def test_complex_numbers_and_empty_rows() -> None:
    x = numbers((80, 90), "f4") + 1j
    np.testing.assert_array_equal(TABLE["sort"](x, axis=1, descending=False)[0], by_numpy(x, axis=1, descending=False)[0])
    values, indices = TABLE["sort"](np.zeros((9000, 0)), axis=1, descending=False)
    assert values.shape == indices.shape == (9000, 0)
