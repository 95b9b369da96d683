"""Memory that begins at a whole vector."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.simd.aligned import aligned, aligned_empty, whole_vectors
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES


@numba.njit
def make(count, like):
    array = aligned_empty(count, like)
    array[:] = 1
    return array


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_begins_at_a_whole_vector(dtype: Any) -> None:
    like, kept = np.empty(0, dtype), []
    for count in (0, 1, 7, 64, 1000, 100_000):
        array = make(count, like)
        kept.append(array)  # the next one lies elsewhere
        assert array.shape == (count,)
        assert array.dtype == dtype
        assert array.ctypes.data % VECTOR_BYTES == 0
        np.testing.assert_array_equal(array, 1)


@pytest.mark.parametrize("itemsize", [4, 8])
def test_whole_vectors(itemsize: int) -> None:
    lanes = VECTOR_BYTES // itemsize
    assert [whole_vectors(count, itemsize) for count in (0, 1, lanes, lanes + 1)] == [0, lanes, lanes, 2 * lanes]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_made_outside_of_kernels(dtype: Any) -> None:
    kept = [aligned(count, np.dtype(dtype)) for count in (1, 7, 1000, 1 << 20)]
    assert [array.shape for array in kept] == [(1,), (7,), (1000,), (1 << 20,)]
    assert [array.ctypes.data % VECTOR_BYTES for array in kept] == [0] * len(kept)
    assert all(array.dtype == dtype and array.flags.writeable for array in kept)
