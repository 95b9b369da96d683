"""Products of all pairs of rows, as NumPy has them: one multiplication each, so to the bit."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.linalg.kron import products_of_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "width"), [(1, 1, 1), (3, 5, 7), (40, 30, 100), (2, 1, 70000), (0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_values(n: int, m: int, width: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((rows, width)).astype(dtype) for rows in (n, m))
    a[1:2, :1], b[:1, 2:3] = np.nan, np.inf
    found = products_of_rows(a, b)
    assert found.dtype == dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(found, (a[:, None] * b).reshape(n * m, width))
