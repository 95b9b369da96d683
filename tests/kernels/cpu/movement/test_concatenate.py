"""Joined arrays: rows shorter and longer than a unit of work, of other lengths, streamed too."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.arrays.strided_copy import CHUNK
from lucid_kernels.cpu.movement import concatenate

# Shapes but for the axis, their lengths along it, and the axis.
CASES = [
    ((), (1, 5, 3), 0), ((7,), (1, 1), 0), ((500,), (32, 1, 33), 1), ((3000, 3), (4, 4), 1), ((2, 3), (30_000, 1), 1),
    ((), (CHUNK, CHUNK // 4, 3 * CHUNK + 5), 0), ((5,), (CHUNK // 4, 7, CHUNK // 4 + 1), 1), ((3, 70), (100, 200), 1),
    ((2,), (700,) * 90, 1), ((), (3, CHUNK, 1) * 4, 0),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex128])
@pytest.mark.parametrize(("shape", "lengths", "axis"), CASES)
def test_join(shape: Any, lengths: Any, axis: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(*shape[:axis], length, *shape[axis:])).astype(dtype) for length in lengths]
    joined = concatenate.join(arrays, axis)
    assert joined.dtype == dtype
    np.testing.assert_array_equal(joined, np.concatenate(arrays, axis))


@pytest.mark.parametrize("shape", [(64, 600), (3, 40_000)])
def test_streamed_rows(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    monkeypatch.setattr(concatenate, "streams", lambda moved: True)
    arrays = [np.arange(start, start + shape[0] * shape[1], dtype=np.float32).reshape(shape) for start in (0, 5, 9)]
    np.testing.assert_array_equal(concatenate.join(arrays, 1), np.concatenate(arrays, 1))
