"""Largest and smallest elements of large arrays over adjacent axes, against NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.reduction import max_min, reduction

# (shape, axis): wide rows, few columns that are read as wide rows, an odd number of them, tiles, planes in the middle, one row.
CASES: list[tuple[tuple[int, ...], Any]] = [
    ((300, 70), 0), ((512, 3), 0), ((77, 40), 0), ((6, 2000), 0), ((3, 50, 40), 1), ((2, 4, 8, 33), (1, 2)), ((1, 40), 0),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_over_columns(shape: tuple[int, ...], axis: Any, dtype: type) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x.flat[5], x.flat[x.size // 2], x.flat[-1] = -np.inf, np.nan, np.inf
    view = reduction.view_of(x, axis)
    assert view is not None and view[2] > 1
    for smallest, numpy in ((False, np.max), (True, np.min)):
        values = max_min.extreme_values(x, view, smallest=smallest)
        assert values.dtype == dtype
        np.testing.assert_array_equal(values.reshape(-1), numpy(x, axis).reshape(-1))


def test_what_goes_to_numpy() -> None:
    """Few columns: their positions always, their values where no rows can be read as one."""
    assert max_min.suits((1, 1000, 1), located=True)
    assert max_min.suits((1, 1 << 10, 3), located=False) and not max_min.suits((1, 1 << 10, 3), located=True)
    assert not max_min.suits((1, 1001, 3), located=False)
