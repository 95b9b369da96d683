"""Products with a matrix that is packed once, against float64."""
import numpy as np
import pytest
from lucid_kernels.cpu.matmul import prepacked
from lucid_kernels.cpu.matmul.prepacked import PackedColumns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("depth", "columns"), [(1, 1), (5, 16), (40, 33), (300, 100)])
def test_values(depth, columns, turned, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    b = rng.standard_normal((columns, depth)).astype(dtype).T if turned else rng.standard_normal((depth, columns)).astype(dtype)
    packed = PackedColumns(b)
    for rows in (1, 7, 8, 9, 33):
        a = rng.standard_normal((rows, depth)).astype(dtype)
        expected, close = a.astype(np.float64) @ b.astype(np.float64), depth * np.finfo(dtype).eps
        y = packed.product(a)
        assert y.dtype == dtype and y.flags.c_contiguous
        np.testing.assert_allclose(y, expected, rtol=0, atol=8 * close)
        monkeypatch.setattr(prepacked, "_SHARE", 1)  # each panel by itself: the same bits
        np.testing.assert_array_equal(packed.product(a), y)
        monkeypatch.undo()


def test_nan_and_infinity():
    a, b = np.ones((3, 20), np.float32), np.ones((20, 40), np.float32)
    a[1, 3], b[7, 39] = np.nan, np.inf
    y = PackedColumns(b).product(a)
    assert np.isnan(y[1]).all() and (y[::2, 39] == np.inf).all() and (y[::2, :39] == 20).all()
