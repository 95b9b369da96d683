"""Planes weighed by bands: values against float64, odd shapes, NaN and inf, both instruction loops."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.interpolation.resize import Band, resample


def random_band(length: int, wanted: int, dtype: Any, seed: int) -> Band:
    """A band with 0 to 4 weights in a row."""
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, length, wanted)
    counts = np.minimum(rng.integers(0, 5, wanted), length - starts)
    return Band(starts, counts, rng.standard_normal((wanted, 4)).astype(dtype))


def dense(band: Band | None, length: int) -> np.ndarray:
    if band is None:
        return np.eye(length)
    matrix = np.zeros((band.counts.size, length))
    for row, start, count, weights in zip(matrix, *band, strict=True):
        row[start : start + count] = weights[:count]
    return matrix


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (40, 1, 19), (2, 33, 16), (5, 8, 100)])
@pytest.mark.parametrize("wanted", [(1, 1), (4, 9), (17, 16), (2, 50), (31, 130)])
def test_values(dtype: Any, shape: tuple[int, int, int], wanted: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    bands = [random_band(length, count, dtype, seed) for seed, (length, count) in enumerate(zip(shape[1:], wanted))]
    for rows, columns in (bands, (bands[0], None), (None, bands[1]), (None, None)):
        expected = np.einsum("ih,phw,jw->pij", dense(rows, shape[1]), x.astype(np.float64), dense(columns, shape[2]))
        y = resample(x, rows, columns)
        assert y.dtype == dtype and y.flags.c_contiguous
        np.testing.assert_allclose(y, expected, rtol=0, atol=100 * np.finfo(dtype).eps)


def test_several_tasks() -> None:
    x = np.random.default_rng(0).standard_normal((90, 30, 40)).astype(np.float32)
    rows, columns = random_band(30, 47, np.float32, 1), random_band(40, 61, np.float32, 2)
    expected = np.einsum("ih,phw,jw->pij", dense(rows, 30), x.astype(np.float64), dense(columns, 40), optimize=True)
    np.testing.assert_allclose(resample(x, rows, columns), expected, rtol=0, atol=2e-5)


def test_any_strides_and_out() -> None:
    x = np.random.default_rng(0).standard_normal((20, 6, 30)).astype(np.float32).transpose(1, 2, 0)[:, ::-1]
    band = random_band(20, 33, np.float32, 1)
    out = np.empty((6, 30, 33), np.float32)
    assert resample(x, None, band, out=out) is out
    np.testing.assert_allclose(out, x @ dense(band, 20).T, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0)])
def test_empty(shape: tuple[int, int, int]) -> None:
    band = Band(np.zeros(5, np.int64), np.zeros(5, np.int64), np.zeros((5, 1), np.float32))
    assert not resample(np.ones(shape, np.float32), None, band).any()


@pytest.mark.parametrize("width", [5, 40])
def test_inf_stays_where_it_is_met(width: int) -> None:
    """An inf reaches the sums that it is part of, and makes no NaN of those beside them; -0.0 keeps its sign."""
    x = np.full((18, 2, width), -0.0, np.float32)
    x[:, 1, 3] = np.inf
    band = Band(np.arange(width), np.ones(width, np.int64), np.ones((width, 3), np.float32))
    y = resample(x, None, band)
    np.testing.assert_array_equal(y, x)
    assert np.signbit(y[:, 0]).all()
