"""Reductions of large arrays on all threads, against NumPy in float64."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.reduction import reduction

# (shape, axis): rows, long rows in pieces, columns in tiles, pieces of few columns, adjacent axes, everything.
CASES = [
    ((300, 7), 1), ((3, 100_000), 1), ((300, 7), 0), ((5, 33, 5000), 1), ((1, 70_001), 0), ((50_000, 3), 0), ((5, 3000, 2), 1), ((5, 300, 70), (0, 1)),
    ((5, 300, 70), (2, 1)), ((40, 50, 60), None), ((2, 33, 1025), 1), ((1, 1), 0),
]  # fmt: skip


def data(shape, dtype, mean=100.0):
    return (np.random.default_rng(0).standard_normal(shape) + mean).astype(dtype)


@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_and_squares(shape, axis, dtype):
    """To float64's precision also for float32, but for sums, which are float32 within blocks."""
    x = data(shape, dtype)
    view = reduction.view_of(x, axis)
    exact = x.astype(np.float64)
    rtol = 2e-7 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(reduction.total(x, view).reshape(-1), exact.sum(axis).reshape(-1), rtol=rtol)
    squares = reduction.square_total(x, view)
    assert squares.shape == (view[0], view[2])
    np.testing.assert_allclose(squares.reshape(-1), exact.var(axis).reshape(-1) * view[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(9, 1), (300, 8), (3, 40_000), (700, 65)])
def test_sums_of_integers(shape, dtype):
    """Of the largest ones, whose sums are not of their dtype."""
    x = np.full(shape, np.iinfo(dtype).max // (1 if dtype != np.int64 else 1 << 20), dtype)
    np.testing.assert_array_equal(reduction.integer_total(x, (*shape, 1))[:, 0], x.sum(1, dtype=np.int64))
    if x.itemsize <= 4 and shape[1] > 1:
        np.testing.assert_array_equal(reduction.total(x, (1, *shape)).reshape(-1), x.sum(0, dtype=np.int64))


@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_the_variance_of_numbers_far_from_zero(mean):
    x = data((4, 50_000), np.float64, mean=mean * 1e4)
    for array, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
        squares = reduction.square_total(array, reduction.view_of(array, axis))
        np.testing.assert_allclose(squares.reshape(-1) / 50_000, array.var(axis), rtol=1e-7)


@pytest.mark.parametrize(("shape", "axis"), [((300, 7), 1), ((3, 100_000), 1), ((5, 300, 70), (1, 2)), ((40, 50, 60), None)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logsumexp(shape, axis, dtype):
    x = data(shape, dtype, mean=500.0)
    view = reduction.view_of(x, axis)
    exact = x.astype(np.float64)
    peak = exact.max(axis, keepdims=True)
    wanted = np.log(np.exp(exact - peak).sum(axis, keepdims=True)) + peak
    np.testing.assert_allclose(reduction.logsumexp(x, view).reshape(-1), wanted.reshape(-1), rtol=3e-7)


@pytest.mark.parametrize("width", [5, 40_000])
def test_logsumexp_of_nan_and_infinities(width):
    x = data((5, width), np.float32)
    x[0] = -np.inf
    x[1, 2] = np.inf
    x[2, 3] = np.nan
    x[3, :3] = -np.inf
    result = reduction.logsumexp(x, reduction.view_of(x, 1))[:, 0]
    assert result[0] == -np.inf and result[1] == np.inf and np.isnan(result[2]) and np.isfinite(result[3:]).all()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("width", [8, 300])
def test_nan_and_infinity_stay_in_their_row(axis, width):
    x = data((300, width), np.float32)
    x[3, 3], x[7, 7] = np.nan, np.inf
    view = reduction.view_of(x, axis)
    total, squares = reduction.total(x, view).reshape(-1), reduction.square_total(x, view).reshape(-1)
    assert np.isnan(total[3]) and total[7] == np.inf and np.isnan(squares[[3, 7]]).all()
    assert np.isfinite(np.delete(total, [3, 7])).all() and np.isfinite(np.delete(squares, [3, 7])).all()


def test_what_goes_to_numpy():
    """Strides, other dtypes, empty arrays and axes with others in between."""
    x = data((4, 5, 6), np.float32)
    assert reduction.view_of(x, 1) == (4, 5, 6) and reduction.view_of(x, None) == (1, 120, 1)
    for array, axis in ((x[:, ::2], 1), (x.T, 0), (x.astype(np.float16), 1), (x.astype(np.int64), 1), (x[:0], 1), (x, (0, 2)), (x, ())):
        assert reduction.view_of(array, axis) is None


@pytest.mark.parametrize(("of", "dtype"), [("total", np.float16), ("total", ml_dtypes.bfloat16), ("product", np.float16)])
def test_folds_of_half_precision_are_those_of_float32(of, dtype):
    x = data((3, 33_000), np.float32, mean=1.0).astype(dtype)
    x[1, 20_000] = np.nan
    wide = x.astype(np.float32)
    got, want = (reduction.fold(array, reduction.view_of(array, 1, True), of) for array in (x, wide))
    np.testing.assert_array_equal(got, want)
    assert reduction.view_of(x, 1) is None
