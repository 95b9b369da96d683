"""Slices by their indices: those of NumPy's `take`, for every size of slices and any dtype."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.indexing import index_select as kernels


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dtype", [np.bool_, np.float16, ml_dtypes.bfloat16, np.float32, np.complex128])
def test_as_numpy(dtype: Any, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "streams", lambda moved: stream)
    generator = np.random.default_rng(0)
    for shape in ((7, 1), (7, 63), (1, 64), (30, 128), (3, 70000), (5, 6, 64), (2, 9, 3, 16)):
        x = generator.integers(0, 100, shape).astype(dtype)
        for axis in range(len(shape)):
            for count in (0, 1, 5, 300):
                indices = generator.integers(0, shape[axis], count)
                selected = kernels.index_select(x, indices, axis)
                np.testing.assert_array_equal(selected, x.take(indices, axis=axis))
                assert selected.dtype == x.dtype and selected.flags.c_contiguous
