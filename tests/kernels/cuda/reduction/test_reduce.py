"""Reductions along any dimensions, against float64."""
from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

from ..runtime.launched import launched

FLOATING = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]


def logsumexp(x, axis):
    peak = x.max(axis, keepdims=True)
    return np.log(np.exp(x - peak).sum(axis)) + peak.reshape(np.log(np.exp(x - peak).sum(axis)).shape)


# name: (reference, numbers as a function of the count, a second dtype)
OPERATIONS = {
    "SumAll": (lambda x, axis: x.sum(axis), lambda n: {}, None),
    "Mean": (lambda x, axis: x.mean(axis), lambda n: {"p": n}, None),
    "NanSum": (lambda x, axis: np.nansum(x, axis), lambda n: {}, None),
    "Product": (lambda x, axis: x.prod(axis), lambda n: {}, None),
    "Maximum": (lambda x, axis: x.max(axis), lambda n: {}, None),
    "Minimum": (lambda x, axis: x.min(axis), lambda n: {}, None),
    "Norm1": (lambda x, axis: np.abs(x).sum(axis), lambda n: {}, None),
    "Norm2": (lambda x, axis: np.sqrt((x * x).sum(axis)), lambda n: {}, None),
    "NormP": (lambda x, axis: (np.abs(x) ** 3).sum(axis) ** (1 / 3), lambda n: {"p": 3, "q": 1 / 3}, None),
    "LogSumExp": (logsumexp, lambda n: {}, None),
    "Variance": (lambda x, axis: x.var(axis), lambda n: {"p": n}, "like"),
    "Deviation": (lambda x, axis: x.std(axis), lambda n: {"p": n}, "like"),
    "ArgMax": (lambda x, axis: x.max(axis), lambda n: {}, np.int64),
    "ArgMin": (lambda x, axis: x.min(axis), lambda n: {}, np.int64),
}
# Rows and columns; short and long; several dimensions that are no neighbours; a warp, a block, chunks.
PROBLEMS = [
    ((5,), 0), ((1,), None), ((3, 7), 1), ((3, 7), 0), ((40, 33), 1), ((40, 33), 0), ((2, 3, 4, 5), (1, 3)), ((2, 3, 4, 5), (0, 2)),
    ((3, 700), 1), ((900, 3), 0), ((3, 4, 129), (0, 2)), ((2, 5000), 1), ((5000, 2), 0), ((70, 300), None), ((4, 1, 6), 1),
    ((20000,), 0), ((1003, 64), 0), ((5, 16), 0), ((3, 50, 2, 8), (0, 1)), ((9, 24, 3), (0, 2)), ((7, 8, 16), 1),
]  # fmt: skip


@pytest.fixture
def reduce(cp):
    from lucid_kernels.cuda.reduction.reduce import reduce

    return reduce


def values(shape, dtype, seed=0):
    # Near 1 for products, apart from it for variances.
    return (1 + np.random.default_rng(seed).standard_normal(shape) / 8).astype(dtype)


def check(cp, reduce, name, x, on_device, axis, keepdims=False):
    reference, numbers, second = OPERATIONS[name]
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = math.prod(x.shape[d] for d in axes)
    wide = x.astype(np.float64)
    if (name == "Product" and count > 300) or (name[:3] == "Arg" and isinstance(axis, tuple)):
        return  # the products leave the range; an index counts along one dimension, or all
    expected = np.asarray(reference(wide, axes))
    second = x.dtype if second == "like" else second
    shape = tuple(1 if d in axes else size for d, size in enumerate(x.shape)) if keepdims else expected.shape
    out = cp.full(shape, np.nan, x.dtype)
    found = reduce(name, on_device, axis, keepdims, x.dtype, second, out=out, **numbers(count))
    other = None
    if second is not None:
        found, other = found
    assert found is out and found.shape == shape
    eps = float(ml_dtypes.finfo(x.dtype).eps)
    tolerance = eps * {2: 4, 4: 40 if name == "Product" else 8, 8: 200}[x.dtype.itemsize]  # the reference has float64 itself
    np.testing.assert_allclose(found.get().astype(np.float64).reshape(expected.shape), expected, rtol=tolerance, atol=tolerance / 8)
    if second == np.int64:
        flat = np.moveaxis(wide, axes, range(-len(axes), 0)).reshape(*expected.shape, -1)
        best = (flat.argmax if name == "ArgMax" else flat.argmin)(-1)
        np.testing.assert_array_equal(other.get().reshape(expected.shape), best)
    elif second is not None:
        np.testing.assert_allclose(other.get().astype(np.float64).reshape(expected.shape), wide.mean(axes), rtol=tolerance)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", OPERATIONS)
def test_values(cp, reduce, name, dtype):
    for (shape, axis), keepdims in itertools.product(PROBLEMS, (False, True)):
        x = values(shape, dtype)
        check(cp, reduce, name, x, cp.asarray(x), axis, keepdims)


@pytest.mark.parametrize("name", OPERATIONS)
def test_under_each_schedule(cp, reduce, schedule, name):
    for shape, axis in (((3, 700), 1), ((9, 33), 0), ((2, 5000), 1), ((5000, 2), 0), ((3, 4, 129), (0, 2))):
        x = values(shape, np.float32)
        check(cp, reduce, name, x, cp.asarray(x), axis)


@pytest.mark.parametrize("name", OPERATIONS)
def test_strides(cp, reduce, name):
    x = values((6, 10, 24), np.float32)
    for view in (lambda v: v.transpose(2, 0, 1), lambda v: v[:, 1:, ::3], lambda v: v[::-1, :, 1:], lambda v: v.transpose(0, 2, 1)[1]):
        host, device = view(x), view(cp.asarray(x))
        for axis in (0, -1, None, (0, 1)):
            if axis is not None:
                axis = tuple(d % host.ndim for d in axis) if isinstance(axis, tuple) else axis % host.ndim
            check(cp, reduce, name, np.ascontiguousarray(host), device, axis)


@pytest.mark.parametrize("shape", [(7,), (40, 33), (2, 9000)])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity(cp, reduce, shape, axis, special):
    x = np.ones(shape, np.float32)
    x[..., -2], x.reshape(-1)[1] = special, special
    with np.errstate(all="ignore"):
        for name, expected in {
            "SumAll": x.sum(axis), "Maximum": x.max(axis), "Minimum": x.min(axis), "Product": x.prod(axis), "NanSum": np.nansum(x, axis),
            "Norm2": np.sqrt((x * x).sum(axis)), "Any": x.any(axis), "All": x.all(axis),
            "LogSumExp": np.log(np.exp(x.astype(np.float64)).sum(axis)),
        }.items():  # fmt: skip
            dtype = bool if name in ("Any", "All") else np.float32
            np.testing.assert_allclose(reduce(name, cp.asarray(x), axis, False, dtype).get(), expected, rtol=1e-5, err_msg=name)
        for name, best in {"ArgMax": x.argmax(axis), "ArgMin": x.argmin(axis)}.items():
            np.testing.assert_array_equal(reduce(name, cp.asarray(x), axis, False, np.float32, np.int64)[1].get(), best)
        np.testing.assert_allclose(reduce("Variance", cp.asarray(x), axis, False, np.float32, np.float32, p=3)[0].get(),
                                   np.where(np.isfinite(x).all(axis), 0, np.nan))
    empty = np.full(shape, -np.inf, np.float32)
    assert (reduce("LogSumExp", cp.asarray(empty), axis, False, np.float32).get() == -np.inf).all()


def test_the_first_of_equal_elements(cp, reduce):
    x = np.zeros((3, 9000), np.float32)
    assert (reduce("ArgMax", cp.asarray(x), 1, False, np.float32, np.int64)[1].get() == 0).all()
    x[:, 4000:] = 1
    assert (reduce("ArgMax", cp.asarray(x), 1, False, np.float32, np.int64)[1].get() == 4000).all()
    assert (reduce("ArgMin", cp.asarray(x.T.copy()), 0, False, np.float32, np.int64)[1].get() == 0).all()


@pytest.mark.parametrize("dtype", [bool, np.int32, np.int64])
def test_whole_numbers(cp, reduce, dtype):
    for shape, axis in PROBLEMS:
        x = (np.random.default_rng(0).integers(-3, 3, shape)).astype(dtype)
        axes = tuple(range(x.ndim)) if axis is None else axis
        np.testing.assert_array_equal(reduce("SumAll", cp.asarray(x), axis, False, np.int64).get(), x.sum(axes))
        np.testing.assert_array_equal(reduce("Any", cp.asarray(x), axis, False, bool).get(), x.any(axes))
        np.testing.assert_array_equal(reduce("All", cp.asarray(x), axis, False, bool).get(), x.all(axes))
        for factors in (x, np.where(x == 0, np.asarray(1, dtype), x)):  # products wrap around
            found = reduce("Product", cp.asarray(factors), axis, False, np.int64)
            np.testing.assert_array_equal(found.get(), factors.prod(axes, dtype=np.int64))


@pytest.mark.parametrize("dtype", FLOATING)
def test_any_and_all(cp, reduce, dtype):
    """One element decides: the last, or one in the middle, or none does."""
    for (shape, axis), place in itertools.product(PROBLEMS, (-1, 0.5, None)):
        x = np.zeros(shape, dtype)
        if place is not None:
            x.reshape(-1)[int(place * x.size) if place > 0 else place] = np.nan if place > 0 else 0.5
        axes = tuple(range(x.ndim)) if axis is None else axis
        np.testing.assert_array_equal(reduce("Any", cp.asarray(x), axis, False, bool).get(), (x != 0).any(axes))
        x = (x == 0).astype(dtype)
        np.testing.assert_array_equal(reduce("All", cp.asarray(x), axis, False, bool).get(), (x != 0).all(axes))


@pytest.mark.parametrize("dtype", FLOATING)
def test_products_of_many_factors(cp, reduce, dtype):
    """Near enough to 1 that the product stays there."""
    for shape, axis in PROBLEMS:
        axes = tuple(range(len(shape))) if axis is None else axis
        x = (1 + np.random.default_rng(0).standard_normal(shape) / 8 / math.sqrt(math.prod(shape))).astype(dtype)
        found = reduce("Product", cp.asarray(x), axis, False, x.dtype)
        rtol = float(ml_dtypes.finfo(dtype).eps) * {2: 0.51, 4: 200, 8: 1000}[x.dtype.itemsize]
        np.testing.assert_allclose(found.get().astype(np.float64), x.astype(np.float64).prod(axes), rtol=rtol)


def test_a_large_mean_loses_no_digits_of_the_variance(cp, reduce):
    x = (1e4 + np.random.default_rng(0).standard_normal((3, 9000))).astype(np.float32)
    for device, axis in ((cp.asarray(x), 1), (cp.asarray(x.T.copy()), 0)):
        found = reduce("Variance", device, axis, False, np.float32, np.float32, p=9000)[0].get()
        np.testing.assert_allclose(found, x.astype(np.float64).var(1), rtol=1e-4)


def test_one_launch_or_two(cp, reduce):
    for shape, axis, count in (((40, 33), 1, 1), ((40, 33), 0, 1), ((1000, 700), 1, 1), ((200000,), 0, 2), ((20000, 3), 0, 2)):
        x = cp.asarray(values(shape, np.float16))
        names = launched(lambda x=x, axis=axis: reduce("SumAll", x, axis, False, x.dtype))
        assert len(names) == count, shape
