"""The gradient of looked-up rows on the CPU: values, order of the sums, padding, dtypes, bounds."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.indexing.embedding import embedding_grad
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads


def reference(g: np.ndarray, indices: np.ndarray, rows: int, padding_idx: int | None) -> np.ndarray:
    total = np.zeros((rows, g.shape[1]))
    keep = indices != padding_idx if padding_idx is not None else slice(None)
    np.add.at(total, indices[keep], g[keep].astype(np.float64))
    return total


@pytest.mark.parametrize("padding_idx", [None, 0, 3])
@pytest.mark.parametrize(("count", "rows", "width"), [(0, 4, 3), (5, 4, 0), (1, 1, 1), (40, 7, 5), (3000, 11, 13), (2000, 300, 130),
                                                      (300, 2000, 64), (100, 17, 1200)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(count, rows, width, dtype, padding_idx):
    rng = np.random.default_rng(0)
    g, indices = rng.normal(size=(count, width)).astype(dtype), rng.integers(0, rows, count)
    for numbers in (indices, indices.astype(np.int32)):
        found = embedding_grad(g, numbers, rows=rows, padding_idx=padding_idx)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, reference(g, indices, rows, padding_idx), rtol=1e-4 if dtype == np.float32 else 1e-11,
                                   atol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("width", [3, 64, 1100])
def test_sums_are_in_the_order_of_the_indices_for_any_number_of_threads(width):
    rng = np.random.default_rng(1)
    g, indices = rng.normal(size=(4000, width)).astype("f4"), rng.integers(0, 5, 4000)
    expected = np.zeros((5, width), "f4")
    for row, index in zip(g, indices, strict=True):
        expected[index] += row
    threads = get_num_threads()
    try:
        for number in range(1, threads + 1):
            set_num_threads(number)
            np.testing.assert_array_equal(embedding_grad(g, indices, rows=5, padding_idx=None), expected)
    finally:
        set_num_threads(threads)


def test_strides_out_and_special_values():
    g, indices = np.arange(12.0).reshape(3, 4).T[:, ::-1], np.array([1, 9, 1, 9, 0, 9, 1, 9])[::2]
    out = np.full((6, 3), 7.0).T[:, ::2]  # 3 rows of 3
    assert embedding_grad(g, indices, rows=3, padding_idx=None, out=out) is out
    np.testing.assert_array_equal(out, reference(g, indices, 3, None))
    g = np.array([[np.nan, 1.0], [np.inf, -np.inf], [1.0, np.inf]])
    np.testing.assert_array_equal(embedding_grad(g, np.array([0, 1, 1]), rows=3, padding_idx=None),
                                  [[np.nan, 1.0], [np.inf, np.nan], [0.0, 0.0]])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(dtype):
    g = np.full((3000, 2), 1 / 3).astype(dtype)
    found = embedding_grad(g, np.zeros(3000, np.int64), rows=1, padding_idx=None)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, (g.astype("f4") * 3000).astype(dtype)[:1])


@pytest.mark.parametrize("count", [3, 3000])
@pytest.mark.parametrize("wrong", [-1, 5, 2**40])
def test_an_index_out_of_range(count, wrong):
    indices = np.zeros(count, np.int64)
    indices[-1] = wrong
    with pytest.raises(IndexError, match="outside the table of 5 rows"):
        embedding_grad(np.ones((count, 40)), indices, rows=5, padding_idx=None)
