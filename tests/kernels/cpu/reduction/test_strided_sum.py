"""Sums of rows with gaps between them: of what is in the rows, exact to the blocks that are added up in their own dtype."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.arrays.strided_copy import CHUNK
from lucid_kernels.cpu.reduction import strided_sum

LONG = CHUNK // 4  # float32 numbers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 16), (300, 40), (7, 5, 90), (2, 1, 3, 64), (3, LONG), (2, 2 * LONG - 1), (2, 2 * LONG), (3, 5 * LONG + 7)])
def test_rows_of_any_length(shape: tuple[int, ...], dtype: Any) -> None:
    """What is in the gaps is not looked at."""
    around = np.full([length + 2 for length in shape], np.nan, dtype)
    x = around[(slice(1, -1),) * len(shape)]
    x[...] = np.random.default_rng(0).random(shape) + 1
    for rows in (x, x[::-1], np.ascontiguousarray(x), x[:, None]):
        assert strided_sum.suits(rows)
        sums = strided_sum.row_sums(rows)
        assert sums.dtype == np.float64
        wanted = rows.sum(axis=-1, dtype=np.float64)
        np.testing.assert_allclose(sums, wanted, rtol=4e-7 if dtype == np.float32 else 1e-15, strict=True)


def test_not_finite() -> None:
    x = np.ones((40, 50), np.float32)[:, 1:]
    x[3, 7], x[4, 8], x[5, 9], x[5, 10] = np.nan, np.inf, np.inf, -np.inf
    sums = strided_sum.row_sums(x)
    assert np.flatnonzero(np.isnan(sums)).tolist() == [3, 5]
    assert np.flatnonzero(np.isinf(sums)).tolist() == [4]
    assert (np.delete(sums, [3, 4, 5]) == 49).all()


def test_what_is_not_served() -> None:
    x = np.ones((40, 50), np.float32)
    assert not strided_sum.suits(x[:, ::2])
    assert not strided_sum.suits(x[:, :15])
    assert not strided_sum.suits(x[0])
    assert not strided_sum.suits(x.astype(np.int32))
