"""Bags of rows on a GPU, against NumPy in float64: sums, maxima, empty bags, factors, halves, NaN, offsets that are none."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

EDGES = np.array([0, 0, 1, 12, 12, 40, 40])
TOLERANCES = {np.float32: 1e-6, np.float64: 1e-14, np.float16: 2e-3, ml_dtypes.bfloat16: 2e-2}


@pytest.fixture
def kernels(cp):
    from lucid_kernels.cuda.indexing import embedding_bag
    from lucid_kernels.cuda.runtime import launch

    yield embedding_bag
    launch.forget_pending()


def check_sums(cp, kernels, dtype, width):
    rng = np.random.default_rng(0)
    weight, indices = rng.standard_normal((30, width)).astype(dtype), rng.integers(0, 30, 40)
    factors = rng.standard_normal(40).astype(dtype)
    arrays = cp.asarray(weight), cp.asarray(indices), cp.asarray(EDGES)
    for given in (None, factors):
        rows = weight[indices].astype(np.float64) * (1 if given is None else given[:, None].astype(np.float64))
        expected = np.stack([rows[a:b].sum(0) for a, b in zip(EDGES[:-1], EDGES[1:], strict=True)])
        y = kernels.bag_sums(*arrays, None if given is None else cp.asarray(given), None)
        assert y.dtype == dtype and y.shape == expected.shape
        bound = np.abs(rows).max(initial=0) * 28 * TOLERANCES[dtype]
        np.testing.assert_allclose(y.get().astype(np.float64), expected, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_sums(cp, kernels, dtype):
    for width in (0, 1, 7, 16):
        check_sums(cp, kernels, dtype, width)


def test_sums_under_each_schedule(cp, kernels, schedule):
    check_sums(cp, kernels, np.float32, 8)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_maxima(cp, kernels, dtype):
    """The first of equal ones; NaN only where it comes first; -1 for an empty bag."""
    weight = np.array([[1.0, np.nan], [1.0, 2.0], [0.0, np.nan], [-np.inf, 3.0]]).astype(dtype)
    indices, edges = np.array([0, 1, 1, 2, 3, 2, 3]), np.array([0, 2, 2, 5, 7])
    for table in (cp.asarray(weight), cp.asarray(weight.repeat(2, 1))[:, ::2]):
        found = kernels.bag_maxima(table, cp.asarray(indices), cp.asarray(edges)).get()
        np.testing.assert_array_equal(found, [[0, 0], [-1, -1], [1, 3], [2, 2]])


def test_strides_nan_and_infinity(cp, kernels):
    weight = cp.asarray(np.array([[np.nan] * 4, [np.inf] * 4, [-np.inf] * 4, [1.0] * 4]).repeat(2, 1))[:, ::2]
    indices = cp.asarray(np.array([3, 1, 3, 0, 3, 1, 2]).repeat(2))[::2]
    y = kernels.bag_sums(weight, indices, cp.asarray(np.array([0, 1, 3, 5, 7])), None, None).get()
    np.testing.assert_array_equal(y[:, 0], [1.0, np.inf, np.nan, np.nan])


def test_rows_out_of_range_are_left_out(cp, kernels):
    weight = cp.asarray(np.arange(1.0, 7).reshape(3, 2))
    given = cp.asarray(np.array([0, 3, -1, 2])), cp.asarray(np.array([0, 2, 4]))
    assert kernels.bag_sums(weight, *given, None, None).get().tolist() == [[1, 2], [5, 6]]
    assert kernels.bag_maxima(weight, *given).get().tolist() == [[0, 0], [2, 2]]


def test_edges_lengths_and_bags(cp, kernels):
    for dtype in (np.int32, np.int64):
        offsets = cp.asarray(np.array([0, 0, 3, 9, 3]).astype(dtype))[:3]
        assert kernels.bag_edges(offsets, count=5, include_last=False).get().tolist() == [0, 0, 3, 5]
        assert kernels.bag_edges(offsets, count=5, include_last=True).get().tolist() == [0, 0, 3]
    assert kernels.bag_edges(offsets[:0], count=5, include_last=False).get().tolist() == [5]
    with pytest.raises(RuntimeError, match="number of offset should be at least 1"):
        kernels.bag_edges(offsets[:0], count=5, include_last=True)
    edges = cp.asarray(EDGES)
    np.testing.assert_array_equal(kernels.bag_indices(edges, count=40).get(), np.repeat(np.arange(6), np.diff(EDGES)))
    assert kernels.bag_indices(edges[:2], count=3).get().tolist() == [0, 0, 0]
    assert kernels.bag_indices(edges, count=0).shape == (0,)
    for dtype in TOLERANCES:
        found = kernels.bag_lengths(edges, dtype=np.dtype(dtype))
        assert found.dtype == dtype and found.get().astype(int).tolist() == [[1], [1], [11], [1], [28], [1]]


@pytest.mark.parametrize(("offsets", "message"), [
    ([1, 2], r"offsets\[0\] has to be 0, .* However, got 1"), ([0, 2, 1, 3], "offsets must not decrease"),
    ([0, 6], r"greater than input's length 5 but got offsets\[-1\] of 6"), ([0, -2], "offsets must not decrease")])
def test_offsets_that_are_none(cp, kernels, offsets, message):
    """The error comes with the next wait, and what follows reads nothing out of range."""
    from lucid_kernels.cuda.runtime import launch

    edges = kernels.bag_edges(cp.asarray(np.array(offsets)), count=5, include_last=True)
    kernels.bag_sums(cp.ones((3, 2)), cp.zeros(5, np.int64), edges, None, None)
    with pytest.raises(RuntimeError, match=message):
        launch.raise_pending()
    launch.raise_pending()
