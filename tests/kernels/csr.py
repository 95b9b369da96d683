"""Matrices of which only some elements are kept, for the tests of their products on both sides."""
from __future__ import annotations

from typing import Any

import numpy as np

#: rows, columns, width of the other factor, how many elements are kept.
SHAPES = [(1, 1, 1, 1), (5, 7, 3, 0), (0, 4, 3, 0), (6, 3, 0, 5), (9, 17, 1, 40), (7, 300, 33, 600), (40, 5, 9, 90)]


def matrix(rows: int, columns: int, kept: int, dtype: Any = np.float64) -> tuple[Any, Any, Any, Any]:
    """Values, where rows begin, columns, and the dense matrix of float64; some rows are empty."""
    rng = np.random.default_rng(rows + columns + kept)
    kept = min(kept, rows * columns)
    places = np.sort(rng.choice(max(rows * columns, 1), kept, replace=False))
    values = rng.normal(size=kept).astype(dtype)
    row, column = places // max(columns, 1), places % max(columns, 1)
    dense = np.zeros((rows, columns))
    dense[row, column] = values.astype("f8")
    return values, np.concatenate([[0], np.bincount(row, minlength=rows).cumsum()[:rows]]).astype("i8"), column, dense


def check(to_array: Any, kernels: Any, shape: tuple[int, int, int, int], dtype: Any, tolerance: float, poisoned: Any) -> None:
    """Both products of a shape against float64; the results are written into memory full of NaN."""
    rows, columns, width, kept = shape
    values, compressed, plain, dense = matrix(rows, columns, kept, dtype)
    rng = np.random.default_rng(0)
    other = rng.normal(size=(width, columns)).astype(dtype).T
    out = poisoned((rows, width), dtype)
    arrays = [to_array(array) for array in (values, compressed, plain, other)]
    found = kernels.csr_matmul(*arrays, out=out)
    assert found is out
    scale = np.abs(dense) @ np.abs(other.astype("f8"))
    np.testing.assert_array_less(np.abs(host(found) - dense @ other.astype("f8")), tolerance * (scale + 1))
    a, b = rng.normal(size=(rows, width)).astype(dtype), other
    out = poisoned(plain.shape, dtype)
    found = host(kernels.csr_sampled(*[to_array(array) for array in (a, b, compressed, plain)], out=out))
    row = np.repeat(np.arange(rows), np.diff(compressed))
    expected = (a.astype("f8")[row] * b.astype("f8")[plain]).sum(1)
    scale = (np.abs(a.astype("f8"))[row] * np.abs(b.astype("f8"))[plain]).sum(1)
    np.testing.assert_array_less(np.abs(found - expected), tolerance * (scale + 1))


def host(array: Any) -> np.ndarray:
    """An array of either side as float64."""
    found: np.ndarray = (array.get() if hasattr(array, "get") else array).astype("f8")
    return found
