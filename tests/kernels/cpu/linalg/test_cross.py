"""Cross products of many vectors on the CPU."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.linalg.cross import cross


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axis"), [((7001, 3), 1), ((3, 500), 0), ((300, 3, 17), 1), ((3,), 0), ((0, 3), 1), ((3, 0), 0)])
def test_values(shape, axis, dtype):
    a, b = np.random.default_rng(0).normal(size=(2, *shape)).astype(dtype)
    expected = np.moveaxis(np.cross(*[np.moveaxis(x.astype("f8"), axis, -1) for x in (a, b)]), -1, axis)
    for given in ((a, b), (np.asfortranarray(a), b[::-1][::-1])):
        found = cross(*given, axis=axis)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=20 * np.finfo(dtype).eps)


def test_nan_and_infinity():
    a, b = np.array([[1.0, np.nan, 3.0], [np.inf, 0.0, 1.0]]), np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(cross(a, b, axis=1), [[np.nan, 0.0, np.nan], [-1.0, -np.inf, np.inf]])
