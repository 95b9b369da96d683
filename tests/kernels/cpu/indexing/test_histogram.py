"""Counts of small numbers."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.indexing.histogram import count, count_bins

import lucid


@pytest.mark.parametrize("size", [0, 1, 7, 5000])
@pytest.mark.parametrize("largest", [0, 3, 900])
def test_counts(size: int, largest: int) -> None:
    x = np.random.default_rng(0).integers(0, largest + 1, size)
    np.testing.assert_array_equal(count(x, largest + 2), np.bincount(x, minlength=largest + 2))


def test_the_library_uses_it() -> None:
    x = np.random.default_rng(0).integers(0, 50, 10000)
    for values in (x, x[::2], x * 1000):
        assert lucid.bincount(lucid.tensor(values)).tolist() == np.bincount(values).tolist()
    with pytest.raises(RuntimeError, match="non-negative"):
        lucid.bincount(lucid.tensor([1, -1] * 4000))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 10, 37])
def test_equal_bins(dtype, bins):
    """Numbers between, on and outside the edges, and NaN; without edges by the distance from the lowest."""
    rng = np.random.default_rng(bins)
    edges = np.linspace(-2, 3, bins + 1).astype(dtype)
    x = np.concatenate([rng.standard_normal(4999).astype(dtype), edges, np.array([np.nan, np.inf, -np.inf], dtype)])
    found = count_bins(x, edges, low=-2, high=3, bins=bins)
    assert found.dtype == np.int64 and found.shape == (bins,)
    inside = x[(x >= -2) & (x <= 3)]
    places = np.minimum(np.searchsorted(edges, inside, "right") - 1, bins - 1)
    np.testing.assert_array_equal(found, np.bincount(places, minlength=bins))
    places = np.minimum(((inside - dtype(-2)) * bins / dtype(5)).astype(int), bins - 1)
    np.testing.assert_array_equal(count_bins(x, None, low=-2, high=3, bins=bins), np.bincount(places, minlength=bins))
