"""Elements written and added by index, against NumPy in float64; atomic, in the order of few elements, and of many."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.int32, np.int16, np.uint8, bool, np.complex64, np.complex128]
COUNTS = (7, 400)


@pytest.fixture
def kernels(cp):
    from lucid_kernels.cuda.indexing import scatter

    return scatter


def values(shape, dtype, seed=0):
    x = np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float64)
    return (x + 1j * x[::-1] if np.dtype(dtype).kind == "c" else x if np.dtype(dtype) != bool else x > 2).astype(dtype)


def widened(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64 if x.dtype.kind in "fV" else np.uint64 if x.dtype.kind == "u" else np.int64)


def check(found, expected, dtype):
    """Small whole numbers: sums are exact but in halves."""
    if np.dtype(dtype).itemsize == 2 and np.dtype(dtype).kind in "fV":
        np.testing.assert_allclose(found.get().astype(np.float64), expected, rtol=1e-2)
    else:
        np.testing.assert_array_equal(found.get(), expected.astype(dtype))


def check_along(cp, kernels, dtype, count, in_order):
    x, source = values((6, count, 3), dtype), values((5, 2 * count, 3), dtype, 1)
    index = np.random.default_rng(2).integers(0, count, (5, 2 * count, 3))
    places = np.arange(5)[:, None, None], index, np.arange(3)
    expected = widened(x)
    np.add.at(expected, places, widened(source))
    given = cp.asarray(x), cp.asarray(index), cp.asarray(source)
    check(kernels.scatter(*given, axis=1, accumulate=True, in_order=in_order), expected, dtype)
    target = given[0].transpose(1, 2, 0)  # in place, into an array of other strides, of values and indices of others too
    out = kernels.scatter(target, given[1].transpose(1, 2, 0), given[2].transpose(1, 2, 0), axis=0, accumulate=True,
                          in_order=in_order, out=target)
    assert out is target
    check(out, expected.transpose(1, 2, 0), dtype)
    zeros = np.zeros(x.shape, expected.dtype)
    np.add.at(zeros, places, widened(source))
    check(kernels.gather_grad(given[2], given[1], shape=x.shape, axis=1, in_order=in_order), zeros, dtype)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_along_a_dimension(cp, kernels, dtype, in_order):
    for count in COUNTS[: 1 + (dtype in (np.float32, np.float16, bool))]:
        check_along(cp, kernels, dtype, count, in_order)


def check_at(cp, kernels, dtype, in_order):
    rng = np.random.default_rng(3)
    x = values((4, 5, 6, 3), dtype)
    one, two, three = rng.integers(-4, 4, (7, 1)), rng.integers(0, 5, (1, 9)), rng.integers(-3, 3, (9,))
    for index in ((one,), (slice(None), two), (one, two), (one, slice(None), three + 3), (slice(None), two, three), (one, two, three)):
        dims = tuple(d for d, item in enumerate(index) if item.__class__ is not slice)
        shape = widened(x)[index].shape
        for source in (values(shape, dtype, 4), values(shape[-1:], dtype, 5)):
            expected = widened(x)
            np.add.at(expected, index, np.broadcast_to(widened(source), shape))
            arrays = [cp.asarray(index[d]) for d in dims]
            given = cp.asarray(x), cp.asarray(source), *arrays
            check(kernels.index_put(*given, dims=dims, accumulate=True, in_order=in_order), expected, dtype)
            zeros = np.zeros(x.shape, expected.dtype)
            np.add.at(zeros, index, np.broadcast_to(widened(source), shape))
            new = kernels.scatter_new(given[1], *arrays, shape=x.shape, dims=dims, unique=False, in_order=in_order)
            check(new, zeros, dtype)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.int64, np.int32, np.complex64])
def test_at_arrays_of_indices(cp, kernels, dtype, in_order):
    check_at(cp, kernels, dtype, in_order)


@pytest.mark.parametrize("dtype", DTYPES)
def test_written_once(cp, kernels, dtype):
    x, source = values((4, 6), dtype), values((4, 3), dtype, 1)
    index = np.array([[5, 0, 2]] * 4)
    expected = x.copy()
    np.put_along_axis(expected, index, source, 1)
    given = cp.asarray(x), cp.asarray(index)
    np.testing.assert_array_equal(kernels.scatter(*given, cp.asarray(source), axis=1).get(), expected)
    number = True if dtype is bool else 3
    np.put_along_axis(expected, index, np.asarray(number).astype(dtype), 1)
    np.testing.assert_array_equal(kernels.scatter(*given, number, axis=1).get(), expected)
    rows = np.array([3, 1])
    x[rows] = source[:2, :1]
    np.testing.assert_array_equal(kernels.index_put(given[0], cp.asarray(source[:2, :1]), cp.asarray(rows), dims=(0,)).get(), x)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_written_at_arrays_of_indices(cp, kernels, dtype, count):
    x, indices = values((4, 5, 6), dtype), (np.array([3, 0, 2]), np.array([1, 4, 4]), np.array([5, 0, 1]))[:count]
    source = values(x[indices].shape, dtype, 1)
    found = kernels.index_put(cp.asarray(x), cp.asarray(source), *map(cp.asarray, indices), dims=tuple(range(count)))
    x[indices] = source
    np.testing.assert_array_equal(found.get(), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_are_added_in_order(cp, kernels, dtype):
    """So many that they are sorted by their places."""
    x, source = values((7,), dtype), values((1100,), dtype, 1)
    index = np.random.default_rng(2).integers(0, 7, 1100)
    expected = widened(x)
    np.add.at(expected, index, widened(source))
    given = cp.asarray(x), cp.asarray(index), cp.asarray(source)
    check(kernels.scatter(*given, axis=0, accumulate=True, in_order=True), expected, dtype)


def check_placed(cp, kernels, dtype, shape, axis):
    length, of_one = shape[axis], tuple(1 if d == axis else n for d, n in enumerate(shape))
    g, index = values(of_one, dtype), np.random.default_rng(0).integers(-length, length, of_one)
    expected = np.zeros(shape, dtype)
    np.put_along_axis(expected, index, g, axis)
    for given in ((cp.asarray(g), cp.asarray(index)), (cp.asarray(g.repeat(2, 0))[::2], cp.asarray(index.astype(np.int32)))):
        assert kernels.suits_place(*given, shape, axis)
        np.testing.assert_array_equal(kernels.place(*given, shape=shape, axis=axis).get(), expected)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if np.dtype(dtype).itemsize <= 8])
def test_one_element_of_each_slice(cp, kernels, dtype):
    for shape, axis in (((5, 16), 1), ((5, 7), 1), ((6, 4, 3), 1), ((9, 5), 0), ((40,), 0), ((3, 1), 1), ((0, 4), 1)):
        check_placed(cp, kernels, dtype, shape, axis)
    assert not kernels.suits_place(cp.zeros((1, 4)), cp.zeros((1, 4), int), (0, 4), 0)


def test_each_element_once(cp, kernels):
    """Where every one is written nothing is filled; NaN and infinity pass."""
    g = np.array([[np.nan, np.inf, 1.0], [-np.inf, 2.0, 3.0]])
    index = np.array([[2, 0, 1], [1, 2, 0]])
    for shape in ((2, 3), (2, 5)):
        expected = np.zeros(shape)
        np.put_along_axis(expected, index, g, 1)
        for in_order in (False, True):
            found = kernels.gather_grad(cp.asarray(g), cp.asarray(index), shape=shape, axis=1, unique=True, in_order=in_order)
            np.testing.assert_array_equal(found.get(), expected)


COMBINED = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def check_combined(cp, kernels, dtype, count, in_order):
    """Products of few factors, so that they are exact but in halves; extremes of any."""
    for reduce, function in COMBINED.items():
        x, source = values((6, 2 * count, 3), dtype), values((5, count, 3), dtype, 1)
        if reduce == "prod" and dtype is not bool:
            x, source = np.sign(x).astype(dtype), np.sign(source).astype(dtype)
        index = np.random.default_rng(2).integers(0, count, (5, count, 3))
        expected = widened(x)
        function.at(expected, (np.arange(5)[:, None, None], index, np.arange(3)), widened(source))
        given = cp.asarray(x), cp.asarray(index), cp.asarray(source)
        check(kernels.scatter_reduce(*given, axis=1, reduce=reduce, in_order=in_order), expected, dtype)
        turned = [array.transpose(1, 2, 0) for array in given]
        found = kernels.scatter_reduce(*turned, axis=0, reduce=reduce, in_order=in_order)
        check(found, expected.transpose(1, 2, 0), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.uint64, np.int32, np.uint32,
                                   np.int8, bool])
def test_combined(cp, kernels, dtype):
    check_combined(cp, kernels, dtype, 9, False)
    if np.dtype(dtype).kind in "fV":
        check_combined(cp, kernels, dtype, 9, True)
    if dtype in (np.float32, np.float16):
        check_combined(cp, kernels, dtype, 120, False)
        check_combined(cp, kernels, dtype, 120, True)


def test_combined_under_each_schedule(cp, kernels, schedule):
    check_combined(cp, kernels, np.float32, 5, False)


def test_nan_and_infinity_are_combined(cp, kernels):
    index, source = np.array([0, 0, 1, 1, 2, 2]), np.array([1, np.nan, np.inf, 2, -np.inf, 0])
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        for reduce, function in COMBINED.items():
            expected = np.array([3.0, -1.0, 1.0])
            with np.errstate(invalid="ignore"):
                function.at(expected, index, source)
            for where in (np.array([3.0, -1.0, 1.0, np.nan]), np.array([3.0, -1.0, 1.0, 5.0])):
                given = cp.asarray(where.astype(dtype)), cp.asarray(index), cp.asarray(source.astype(dtype))
                for in_order in (False, True):
                    found = kernels.scatter_reduce(*given, axis=0, reduce=reduce, in_order=in_order).get().astype(np.float64)
                    np.testing.assert_array_equal(found, [*expected, where[3]])


def test_products_in_order(cp, kernels):
    """Of factors whose product overflows in another order."""
    for count in (20, 3000):
        source = np.tile(np.array([1e30, 1e-30], np.float32), count // 2)
        given = cp.ones(1, np.float32), cp.zeros(count, np.int64), cp.asarray(source)
        assert abs(float(kernels.scatter_reduce(*given, axis=0, reduce="prod", in_order=True)[0]) - 1) < 1e-2


def test_more_than_three_arrays_of_indices(cp, kernels):
    rng = np.random.default_rng(0)
    x = values((3, 4, 2, 5, 3), np.float32)
    index = rng.integers(-3, 3, (6, 1)), rng.integers(0, 4, (1, 7)), rng.integers(-2, 2, (7,)), rng.integers(0, 5, (6, 7)), rng.integers(0, 3, ())
    for dims in ((0, 1, 2, 3), (0, 1, 3, 4), (0, 1, 2, 3, 4)):
        chosen = {d: index[d] % x.shape[d] if d in (1, 3, 4) else np.where(index[d] < -x.shape[d], 0, index[d]) for d in dims}
        where = tuple(chosen.get(d, slice(None)) for d in range(5))
        source = values(x[where].shape, np.float32, 1)
        for target in (x, np.asfortranarray(x)):
            expected = widened(target)
            np.add.at(expected, where, widened(source))
            given = cp.asarray(target, order="K"), cp.asarray(source), *map(cp.asarray, chosen.values())
            for in_order in (False, True):
                check(kernels.index_put(*given, dims=dims, accumulate=True, in_order=in_order), expected, np.float32)
            out = cp.asarray(x.transpose(4, 3, 2, 1, 0).copy()).transpose(4, 3, 2, 1, 0)
            assert kernels.index_put(out, *given[1:], dims=dims, accumulate=True, out=out) is out
            check(out, expected, np.float32)
    far = cp.asarray(np.array([9, 0]))
    zeros = [cp.zeros(2, np.int64)] * 3
    for arrays in ((far, *zeros), (*zeros, far)):  # out of range: left out, as somebody has reported it
        found = kernels.index_put(cp.zeros((3, 4, 2, 5)), cp.ones(2), *arrays, dims=(0, 1, 2, 3), accumulate=True)
        assert found.get().sum() == 1


@pytest.mark.parametrize("count", [20, 3000])
def test_the_last_value_stays_in_order(cp, kernels, schedule, count):
    index = np.random.default_rng(0).integers(0, 5, count)
    source = np.arange(count)
    expected = np.zeros(5, np.int64)
    expected[index] = source
    given = cp.zeros(5, np.int64), cp.asarray(index), cp.asarray(source)
    np.testing.assert_array_equal(kernels.scatter(*given, axis=0, in_order=True).get(), expected)
    found = kernels.scatter(*given, axis=0).get()  # any of them
    assert (index[found] == np.arange(5)).all()


@pytest.mark.parametrize("in_order", [False, True])
def test_under_each_schedule(cp, kernels, schedule, in_order):
    check_along(cp, kernels, np.float32, 7, in_order)


def test_in_order_the_sums_of_halves_are_rounded_once(cp, kernels):
    for count in (1000, 3000):
        source = cp.full(count, 0.25, np.float16)
        found = kernels.scatter(cp.full(2, 1024, np.float16), cp.zeros(count, np.int64), source, axis=0, accumulate=True)
        assert found.get().tolist() == [1024 + count / 4, 1024]


def test_whole_numbers_wrap_around_and_keep_all_digits(cp, kernels):
    x, big = cp.asarray([2**62 + 1, 5]), cp.asarray([2**62, 2**62 + 3, 7])
    for in_order in (False, True):
        found = kernels.scatter(x, cp.asarray([0, 0, 1]), big, axis=0, accumulate=True, in_order=in_order)
        assert found.get().tolist() == [2**62 + 4 + 2**63 - 2**64, 12]


def test_empty_and_without_dimensions(cp, kernels):
    x = cp.asarray(values((3, 4), np.float32))
    none = cp.zeros((0, 4), np.int64)
    assert kernels.scatter(x, none, cp.zeros((0, 4), np.float32), axis=0, accumulate=True).get().tolist() == x.get().tolist()
    assert kernels.gather_grad(cp.zeros((0, 4), np.float32), none, shape=(3, 4), axis=0).get().tolist() == [[0.0] * 4] * 3
    assert kernels.gather_grad(cp.asarray(2.0), cp.asarray(0), shape=(), axis=0).get() == 2
    assert kernels.scatter_new(cp.ones((0, 4)), cp.zeros(0, np.int64), shape=(0, 4), dims=(0,), unique=False).shape == (0, 4)


def test_indices_out_of_range_are_left_out(cp, kernels):
    """Somebody has reported them."""
    for in_order in (False, True):
        found = kernels.scatter(cp.zeros(3), cp.asarray([3, -4, 1]), cp.ones(3), axis=0, accumulate=True, in_order=in_order)
        assert found.get().tolist() == [0, 1, 0]


def test_nan_and_infinity_are_added(cp, kernels):
    source = cp.asarray([np.nan, np.inf, -np.inf, 1.0])
    found = kernels.scatter(cp.zeros(3), cp.asarray([0, 1, 2, 2]), source, axis=0, accumulate=True).get()
    np.testing.assert_array_equal(found, [np.nan, np.inf, -np.inf])
