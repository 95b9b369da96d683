"""Sums and maxima of bags of rows on the CPU: widths of any number of vectors, empty bags, factors, strides, NaN."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.indexing.embedding_bag import find_maxima, sum_bags

EDGES = np.array([0, 0, 1, 12, 12, 40, 40])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [0, 1, 7, 16, 33, 100, 240])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums(dtype: Any, width: int, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    weight, indices = rng.standard_normal((30, width)).astype(dtype), rng.integers(0, 30, 40)
    factors = rng.standard_normal(40).astype(dtype) if weighted else None
    rows = weight[indices].astype(np.float64) * (1 if factors is None else factors[:, None])
    expected = np.stack([rows[a:b].sum(0) for a, b in zip(EDGES[:-1], EDGES[1:])])
    y = sum_bags(weight, indices, EDGES, factors)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, expected, atol=2e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_array_equal(sum_bags(np.asfortranarray(weight), indices.repeat(2)[::2], EDGES, factors), y)


def test_many_bags() -> None:
    rng = np.random.default_rng(0)
    weight, indices, edges = rng.standard_normal((100, 64)), rng.integers(0, 100, 6000), np.arange(0, 6001, 3)
    np.testing.assert_allclose(sum_bags(weight, indices, edges, None), weight[indices].reshape(2000, 3, 64).sum(1), atol=1e-13)
    where = weight[indices].reshape(2000, 3, 64).argmax(1)
    np.testing.assert_array_equal(find_maxima(weight, indices, edges), np.take_along_axis(indices.reshape(2000, 3), where, 1))


def test_maxima() -> None:
    """The first of equal ones; NaN only where it comes first; -1 for an empty bag."""
    weight = np.array([[1.0, np.nan], [1.0, 2.0], [0.0, np.nan], [-np.inf, 3.0]])
    found = find_maxima(weight, np.array([0, 1, 1, 2, 3, 2, 3]), np.array([0, 2, 2, 5, 7]))
    np.testing.assert_array_equal(found, [[0, 0], [-1, -1], [1, 3], [2, 2]])


def test_nan_and_inf_stay_in_their_bags() -> None:
    weight = np.array([[np.nan] * 20, [np.inf] * 20, [-np.inf] * 20, [1.0] * 20])
    y = sum_bags(weight, np.array([3, 1, 3, 0, 3, 1, 2]), np.array([0, 1, 3, 5, 7]), None)
    np.testing.assert_array_equal(y[:, 0], [1.0, np.inf, np.nan, np.nan])
