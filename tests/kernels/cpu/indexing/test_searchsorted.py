"""Places in sorted sequences against NumPy's, with NaN, infinities and equal numbers."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.indexing import searchsorted


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("length", [1, 2, 3, 63, 64, 1000])
def test_places(length, dtype, right):
    rng = np.random.default_rng(length)
    edges = np.sort((rng.standard_normal(length) * 20).astype(dtype))
    values = np.concatenate([edges, (rng.standard_normal(5003) * 30).astype(dtype)])
    if np.dtype(dtype).kind == "f":
        values[:3] = np.nan, np.inf, -np.inf
        edges[length - length // 3 :] = np.nan
    for count in (0, 1, 3, 15, 64, values.size):
        found = searchsorted.search(edges[None], values[None, :count], right=right)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found[0], np.searchsorted(edges, values[:count], "right" if right else "left"))


def test_rows_of_their_own_and_no_edges():
    rng = np.random.default_rng(0)
    edges, values = np.sort(rng.standard_normal((5, 9))), rng.standard_normal((5, 70))
    expected = [np.searchsorted(row, wanted) for row, wanted in zip(edges, values, strict=True)]
    np.testing.assert_array_equal(searchsorted.search(edges, values, right=False), expected)
    many, few = np.sort(rng.standard_normal((6000, 7))), rng.standard_normal((6000, 3))  # of more rows than one task has
    few[5], many[7, 4:] = np.nan, np.nan
    for right in (False, True):
        expected = [np.searchsorted(row, wanted, "right" if right else "left") for row, wanted in zip(many, few, strict=True)]
        np.testing.assert_array_equal(searchsorted.search(many, few, right=right), expected)
        np.testing.assert_array_equal(searchsorted.search(many[:1], few, right=right), np.searchsorted(
            many[0], few, "right" if right else "left"))
    np.testing.assert_array_equal(searchsorted.search(edges[:, :0], values, right=True), np.zeros((5, 70)))
