"""Slices and elements by index on a GPU, and the gradient of slices, against NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

HALVES = [np.float16, ml_dtypes.bfloat16]
# words of 16, 8, 4, 2 and 1 bytes
DTYPES = [np.complex128, np.float64, np.float32, *HALVES, np.int64, np.uint8, np.bool_]
# (shape, axis)
CASES = [((7, 16), 0), ((7, 5), 0), ((3, 7, 4), 1), ((3, 4, 7), 2), ((2, 7, 3), 1), ((7,), 0)]


def check_selected(dtypes=(np.float32, np.uint8)):
    import cupy as cp
    from lucid_kernels.cuda.indexing import take

    rng = np.random.default_rng(0)
    for dtype in dtypes:
        for shape, axis in CASES:
            x = rng.integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)
            for count, kind in ((9, np.int64), (3, np.int32), (0, np.int64), (4, np.uint8)):
                indices = rng.integers(0, 7, count).astype(kind)
                y = take.index_select(cp.asarray(x), cp.asarray(indices), axis=axis)
                assert y.dtype == x.dtype
                np.testing.assert_array_equal(y.get(), x.take(indices, axis))
            beyond = np.array([7, -1, 2])
            y = take.index_select(cp.asarray(x), cp.asarray(beyond), axis=axis).get()
            np.testing.assert_array_equal(y, np.where((beyond == 2).reshape(-1, *(1,) * (x.ndim - axis - 1)), x.take([2, 2, 2], axis), 0))
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    indices = rng.integers(0, 6, (2, 3))
    np.testing.assert_array_equal(take.embedding(cp.asarray(table), cp.asarray(indices), padding_idx=None).get(), table[indices])


def check_gathered(dtypes=(np.float32, np.uint8)):
    import cupy as cp
    from lucid_kernels.cuda.indexing import take

    rng = np.random.default_rng(0)
    for dtype in dtypes:
        for shape, axis in CASES:
            x = rng.integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)
            for count, shorter in ((9, 0), (2, 1), (0, 0)):
                lengths = [count if dim == axis else length - shorter for dim, length in enumerate(shape)]
                indices = rng.integers(0, 7, lengths)
                y = take.gather(cp.asarray(x), cp.asarray(indices), axis=axis)
                part = x[tuple(slice(None) if dim == axis else slice(length) for dim, length in enumerate(lengths))]
                assert y.dtype == x.dtype
                np.testing.assert_array_equal(y.get(), np.take_along_axis(part, indices, axis))
                if indices.size:
                    indices.flat[0], indices.flat[-1] = 7, -1
                    assert not np.any(take.gather(cp.asarray(x), cp.asarray(indices), axis=axis).get().flat[[0, -1]])


def check_gradients(dtype):
    import cupy as cp
    from lucid_kernels.cuda.indexing import embedding

    rng = np.random.default_rng(0)
    unit = float(ml_dtypes.finfo(dtype).eps) * 0.51
    for shape, axis in CASES:
        for count in (30, 3, 0):
            indices = rng.integers(0, 7, count)
            g = rng.standard_normal([count if dim == axis else length for dim, length in enumerate(shape)]).astype(dtype)
            expected = np.zeros(shape)
            np.add.at(expected, (*(slice(None),) * axis, indices), g.astype(np.float64))
            dx = embedding.index_select_grad(cp.asarray(g), cp.asarray(indices), shape=shape, axis=axis)
            assert dx.dtype == dtype
            np.testing.assert_allclose(dx.get().astype(np.float64), expected, rtol=unit, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices(cp, schedule, dtype):
    check_selected([dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements(cp, schedule, dtype):
    check_gathered([dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, *HALVES])
def test_gradients_of_slices(cp, schedule, dtype):
    check_gradients(dtype)


def test_arrays_with_gaps_and_misaligned_ones(cp):
    from lucid_kernels.cuda.indexing import take

    x = np.arange(65, dtype=np.float32)
    for view in (lambda a: a[1:].reshape(4, 16), lambda a: a[:64].reshape(4, 16)[::2, ::-1], lambda a: a[:64].reshape(16, 4).T):
        here, there = view(x), view(cp.asarray(x))
        indices = np.array([1, 0, 1])
        np.testing.assert_array_equal(take.index_select(there, cp.asarray(indices), axis=0).get(), here[indices])
        along = np.array([[1] * here.shape[1]])
        np.testing.assert_array_equal(take.gather(there, cp.asarray(along), axis=0).get(), np.take_along_axis(here, along, 0))
