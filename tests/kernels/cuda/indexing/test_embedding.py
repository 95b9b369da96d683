"""The gradient of looked-up rows on a GPU: values, repeatable sums, padding, dtypes, bounds."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest


@pytest.fixture(params=["compared", "sorted by CuPy", "unsorted"])
def how(request):
    return request.param


@pytest.fixture
def embedding_grad(cp, how, monkeypatch):
    from lucid_kernels.cuda.indexing import embedding
    from lucid_kernels.cuda.runtime import launch

    monkeypatch.setattr(embedding, "MOST_UNSORTED", 300 if how == "unsorted" else 0)
    monkeypatch.setattr(embedding, "MOST_COMPARED", 0 if how == "sorted by CuPy" else 3000)
    yield embedding.embedding_grad
    launch.forget_pending()


def added(g, indices, rows, padding_idx, chunk):
    """The sums in the order of the kernels: those of the runs in chunks of the sorted indices, then these."""
    total = np.zeros((rows, *g.shape[1:]), np.float64 if g.dtype == np.float64 else np.float32)
    order = np.argsort(indices, kind="stable")
    for row in set(indices.tolist()) - {padding_idx}:
        places = np.flatnonzero(indices[order] == row)
        parts = [places[places // chunk == number] for number in np.unique(places // chunk)]
        sums = [g[order[part]].astype(total.dtype).cumsum(0)[-1] for part in parts]
        total[row] = np.array(sums).cumsum(0)[-1]
    return total


@pytest.mark.parametrize("padding_idx", [None, 2])
@pytest.mark.parametrize(("count", "rows", "width"), [(0, 4, 3), (5, 4, 0), (1, 1, 1), (40, 7, 5), (300, 3, 40), (30, 500, 33)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(cp, schedule, embedding_grad, how, count, rows, width, dtype, padding_idx):
    rng = np.random.default_rng(0)
    g, indices = rng.normal(size=(count, width)).astype(dtype), rng.integers(0, rows, count)
    expected = added(g, indices, rows, padding_idx, count + 1 if how == "unsorted" else 16)  # the same bits
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
def test_halves_are_rounded_once(cp, schedule, embedding_grad, how, dtype):
    for width in (2, 8):
        g, indices = np.full((300, width), 1 / 3).astype(dtype), np.zeros(300, np.int64)
        found = embedding_grad(cp.asarray(g), cp.asarray(indices), rows=1, padding_idx=None).get()
        np.testing.assert_array_equal(found, added(g, indices, 1, None, 300 if how == "unsorted" else 16).astype(dtype))


@pytest.mark.parametrize("count", [1024, 1025, 2600])
def test_many(cp, count):
    """Blocks of indices that are compared with those before, among and behind them; runs over many chunks."""
    from lucid_kernels.cuda.indexing import embedding

    rng = np.random.default_rng(0)
    g, indices = rng.normal(size=(count, 4)).astype("f4"), rng.zipf(1.5, count) % 50
    found = embedding.embedding_grad(cp.asarray(g), cp.asarray(indices), rows=51, padding_idx=None)
    np.testing.assert_array_equal(found.get(), added(g, indices, 51, None, 16 if count <= 1024 else 32))


@pytest.mark.parametrize("wrong", [-1, 5, 2**40])
def test_an_index_out_of_range(cp, schedule, embedding_grad, wrong):
    from lucid_kernels.cuda.runtime import launch

    found = embedding_grad(cp.ones((3, 40)), cp.asarray(np.array([0, wrong, 0])), rows=5, padding_idx=None)
    with pytest.raises(IndexError, match=f"index {wrong} is outside the table of 5 rows"):
        launch.raise_pending()
    np.testing.assert_array_equal(found.get()[:, 0], [2.0, 0.0, 0.0, 0.0, 0.0])
