"""The gradient of looked-up rows on a GPU: values, repeatable sums, padding, dtypes, bounds."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest


@pytest.fixture(params=["sorted", "unsorted"])
def embedding_grad(cp, request, monkeypatch):
    from lucid_kernels.cuda.indexing import embedding
    from lucid_kernels.cuda.runtime import launch

    monkeypatch.setattr(embedding, "MOST_UNSORTED", 0 if request.param == "sorted" else 300)
    yield embedding.embedding_grad
    launch.forget_pending()


@pytest.mark.parametrize("padding_idx", [None, 2])
@pytest.mark.parametrize(("count", "rows", "width"), [(0, 4, 3), (5, 4, 0), (1, 1, 1), (40, 7, 5), (300, 3, 40), (30, 500, 33)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(cp, schedule, embedding_grad, count, rows, width, dtype, padding_idx):
    rng = np.random.default_rng(0)
    g, indices = rng.normal(size=(count, width)).astype(dtype), rng.integers(0, rows, count)
    expected = np.zeros((rows, width), dtype)
    for row, index in zip(g, indices, strict=True):
        if index != padding_idx:
            expected[index] += row  # in this order: the same bits
    for numbers in (indices, indices.astype(np.int32)):
        found = embedding_grad(cp.asarray(g), cp.asarray(numbers), rows=rows, padding_idx=padding_idx)
        np.testing.assert_array_equal(found.get(), expected)
        assert found.dtype == dtype


def test_strides_out_and_special_values(cp, schedule, embedding_grad):
    g = cp.asarray(np.arange(12.0).reshape(3, 4)).T[:, ::-1]
    indices = cp.asarray(np.array([1, 9, 1, 9, 0, 9, 1, 9]))[::2]
    out = cp.full((3, 6), 7.0)[:, ::2]
    assert embedding_grad(g, indices, rows=3, padding_idx=None, out=out) is out
    np.testing.assert_array_equal(out.get(), [g.get()[2], g.get()[[0, 1, 3]].sum(0), np.zeros(3)])
    g = cp.asarray(np.array([[np.nan, 1.0], [np.inf, -np.inf], [1.0, np.inf]]))
    np.testing.assert_array_equal(embedding_grad(g, cp.asarray(np.array([0, 1, 1])), rows=3, padding_idx=None).get(),
                                  [[np.nan, 1.0], [np.inf, np.nan], [0.0, 0.0]])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("width", [2, 8])
def test_halves_are_rounded_once(cp, schedule, embedding_grad, dtype, width):
    g = np.full((300, width), 1 / 3).astype(dtype)
    found = embedding_grad(cp.asarray(g), cp.zeros(300, np.int64), rows=1, padding_idx=None).get()
    np.testing.assert_array_equal(found, g.astype("f4").cumsum(0, dtype="f4")[-1:].astype(dtype))


@pytest.mark.parametrize("wrong", [-1, 5, 2**40])
def test_an_index_out_of_range(cp, schedule, embedding_grad, wrong):
    from lucid_kernels.cuda.runtime import launch

    found = embedding_grad(cp.ones((3, 40)), cp.asarray(np.array([0, wrong, 0])), rows=5, padding_idx=None)
    with pytest.raises(IndexError, match=f"index {wrong} is outside the table of 5 rows"):
        launch.raise_pending()
    np.testing.assert_array_equal(found.get()[:, 0], [2.0, 0.0, 0.0, 0.0, 0.0])
