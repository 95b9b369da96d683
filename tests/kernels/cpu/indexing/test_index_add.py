"""Slices added by index: against `np.add.at`, along each dimension, for one and several tasks."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.indexing.index_add import scatter_add

import lucid as _lucid

lucid: Any = _lucid  # its names are re-exports
add_at: Any = np.add.at  # its annotation knows no slices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axis", "count"), [((5,), 0, 9), ((3, 4), 0, 7), ((3, 4), 1, 1), ((40, 70, 30), 1, 90),
                                                      ((2, 3000), 1, 20000), ((7, 1100), 0, 60), ((300, 20, 1), 2, 8)])
def test_like_numpy(dtype: Any, shape: tuple[int, ...], axis: int, count: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((*shape[:axis], count, *shape[axis + 1 :])).astype(dtype)
    indices = rng.integers(0, shape[axis], count)
    found, wanted = rng.standard_normal((2, *shape)).astype(dtype)
    wanted[...] = found
    scatter_add(found, indices, values, axis)
    add_at(wanted, (slice(None),) * axis + (indices,), values)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("transposed", [False, True])
def test_through_the_library(transposed: bool) -> None:
    """What is not contiguous goes another way."""
    x = lucid.randn(30, 40, 20, dtype=lucid.float64)
    values = np.random.default_rng(1).standard_normal((30, 40, 25))
    if transposed:
        values = np.ascontiguousarray(values.transpose(2, 0, 1)).transpose(1, 2, 0)
    index, wanted = np.random.default_rng(2).integers(0, 20, 25), x.numpy().copy()
    add_at(wanted, (slice(None), slice(None), index), values)
    np.testing.assert_array_equal(x.index_add(2, lucid.tensor(index), lucid.from_numpy(values)).numpy(), wanted)


def test_gradient_of_rows() -> None:
    x = lucid.randn(50, 200, requires_grad=True)
    rows = lucid.tensor(np.random.default_rng(0).integers(-50, 50, 300))
    x[rows].sum().backward()
    counts = np.bincount(rows.numpy() % 50, minlength=50)
    np.testing.assert_array_equal(x.grad.numpy(), np.repeat(counts[:, None], 200, 1))
