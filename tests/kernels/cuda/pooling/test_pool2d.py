"""The CUDA pooling kernels against NumPy, window by window, and against torch where it is installed."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

# (planes shape), kernel, stride, padding, dilation
WINDOWS = {
    "2x2": ((2, 3, 7, 9), (2, 2), (2, 2), (0, 0), (1, 1)),
    "overlap": ((2, 2, 9, 8), (3, 3), (2, 1), (1, 1), (1, 1)),
    "partial": ((1, 2, 8, 10), (3, 4), (2, 3), (1, 1), (1, 1)),  # in ceil mode the last window leaves the padding
    "gaps": ((1, 3, 11, 10), (2, 2), (3, 4), (1, 0), (1, 1)),
    "dilated": ((1, 2, 12, 9), (3, 2), (2, 3), (1, 1), (2, 3)),
    "halving": ((2, 2, 7, 16), (2, 2), (2, 2), (0, 0), (1, 1)),
    "halving by pairs": ((1, 3, 6, 6), (2, 2), (2, 2), (0, 0), (1, 1)),
    "halving, overlap": ((2, 2, 7, 16), (3, 3), (2, 2), (1, 1), (1, 1)),
    "halving, overlap by pairs": ((1, 2, 8, 10), (3, 3), (2, 2), (1, 1), (1, 1)),
    "whole plane": ((3, 1, 5, 6), (5, 6), (5, 6), (0, 0), (1, 1)),
}
ADAPTIVE = [((2, 3, 7, 9), (3, 4)), ((1, 2, 5, 5), (1, 1)), ((2, 1, 3, 4), (5, 7)), ((2, 2, 12, 13), (1, 1)),
            ((1, 1, 33, 17), (2, 1))]  # fmt: skip


@pytest.fixture
def pool(cp):
    from lucid_kernels.cuda.pooling import pool2d
    from lucid_kernels.cuda.runtime import launch

    yield pool2d
    launch.forget_pending()


def starts(size, kernel, stride, padding, dilation, ceil_mode):
    """Where the windows of one axis begin."""
    exact = (size + 2 * padding - dilation * (kernel - 1) - 1) / stride
    count = (math.ceil(exact) if ceil_mode else math.floor(exact)) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return [o * stride - padding for o in range(count)]


def windows(case, ceil_mode):
    """For every output (oh, ow): the input rows and columns of its window, padding included."""
    shape, kernel, stride, padding, dilation = WINDOWS[case]
    axes = [
        [[b + i * d for i in range(k)] for b in starts(n, k, s, p, d, ceil_mode)]
        for n, k, s, p, d in zip(shape[2:], kernel, stride, padding, dilation, strict=True)
    ]
    return axes[0], axes[1]


def max_reference(x, case, ceil_mode):
    rows, columns = windows(case, ceil_mode)
    height, width = x.shape[2:]
    y = np.empty((*x.shape[:2], len(rows), len(columns)), x.dtype)
    where = np.empty(y.shape, np.int64)
    for n, c, i, j in np.ndindex(*y.shape):
        inside = [h * width + w for h in rows[i] for w in columns[j] if 0 <= h < height and 0 <= w < width]
        flat = x[n, c].ravel()
        nans = [k for k in inside if np.isnan(flat[k])]
        where[n, c, i, j] = nans[-1] if nans else inside[int(np.argmax(flat[inside]))]
        y[n, c, i, j] = flat[where[n, c, i, j]]
    return y, where


def avg_reference(x, g, case, ceil_mode, count_include_pad, divisor_override):
    """The averages, and the gradient of x for a gradient g (a function of the shape)."""
    rows, columns = windows(case, ceil_mode)
    (height, width), padding = x.shape[2:], WINDOWS[case][3]
    y = np.zeros((*x.shape[:2], len(rows), len(columns)))
    g = g(y.shape)
    dx = np.zeros(x.shape)
    for i, j in itertools.product(range(len(rows)), range(len(columns))):
        pixels = [(h, w) for h in rows[i] for w in columns[j] if 0 <= h < height and 0 <= w < width]
        padded = sum(h < height + padding[0] and w < width + padding[1] for h in rows[i] for w in columns[j])
        divisor = divisor_override or (padded if count_include_pad else len(pixels))
        for h, w in pixels:
            y[..., i, j] += x[..., h, w] / divisor
            dx[..., h, w] += g[..., i, j] / divisor
    return y, g, dx


def adaptive_windows(shape, output_size):
    """For every output (i, j): the slices of the rows and columns of its window."""
    for i, j in np.ndindex(*output_size):
        rows, columns = (
            slice(math.floor(o * n / m), math.ceil((o + 1) * n / m))
            for o, n, m in zip((i, j), shape[2:], output_size, strict=True)
        )
        yield i, j, rows, columns


def adaptive_max_reference(x, output_size):
    """The maxima and their places; the first of equal ones, but the last NaN."""
    y, where = np.zeros((*x.shape[:2], *output_size)), np.zeros((*x.shape[:2], *output_size), np.int64)
    places = np.arange(x.shape[2] * x.shape[3]).reshape(x.shape[2:])
    for i, j, rows, columns in adaptive_windows(x.shape, output_size):
        for n, c in np.ndindex(*x.shape[:2]):
            flat, there = x[n, c, rows, columns].ravel(), places[rows, columns].ravel()
            nans = np.flatnonzero(np.isnan(flat))
            at = nans[-1] if nans.size else np.argmax(flat)
            y[n, c, i, j], where[n, c, i, j] = flat[at], there[at]
    return y, where


def adaptive_reference(x, g):
    """The averages, and the gradient of x for g, which also tells the output size."""
    y, dx = np.zeros(g.shape), np.zeros(x.shape)
    for i, j, rows, columns in adaptive_windows(x.shape, g.shape[2:]):
        y[..., i, j] = x[..., rows, columns].mean((-1, -2))
        dx[..., rows, columns] += g[..., i, j, None, None] / x[0, 0, rows, columns].size
    return y, dx


def max_attributes(case, ceil_mode):
    names = ("kernel_size", "stride", "padding", "dilation")
    return {**dict(zip(names, WINDOWS[case][1:], strict=True)), "ceil_mode": ceil_mode}


def random(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("ceil_mode", [False, True], ids=["floor", "ceil"])
@pytest.mark.parametrize("case", WINDOWS)
def test_max(cp, schedule, pool, case, ceil_mode):
    shape = WINDOWS[case][0]
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float64)  # many ties
    y, where = max_reference(x, case, ceil_mode)
    g = random(y.shape)
    dx = np.zeros((shape[0] * shape[1], shape[2] * shape[3]))
    for plane, i, gi in zip(dx, where.reshape(len(dx), -1), g.reshape(len(dx), -1), strict=True):
        np.add.at(plane, i, gi)
    for dtype in (np.float32, np.float64):
        x_, g_ = cp.asarray(x.astype(dtype)), cp.asarray(g.astype(dtype))
        y_, where_ = pool.max_pool2d(x_, **max_attributes(case, ceil_mode))
        assert y_.dtype == dtype and where_.dtype == np.int64
        np.testing.assert_array_equal(y_.get(), y)
        np.testing.assert_array_equal(where_.get(), where)
        np.testing.assert_array_equal(pool.max_pool2d_gather(x_, where_).get(), y)
        dx_ = pool.max_pool2d_grad(g_, where_, input_shape=shape)
        np.testing.assert_allclose(dx_.get().ravel(), dx.ravel(), atol=1e-6 if dtype == np.float32 else 1e-14)


def test_max_of_nan_and_inf(cp, pool):
    x = np.full((1, 1, 4, 6), -np.inf)
    x[0, 0, 1, 3] = x[0, 0, 2, 2] = np.nan
    x[0, 0, 0, 0] = np.inf
    for ceil_mode in (False, True):
        y, where = pool.max_pool2d(cp.asarray(x), kernel_size=(2, 3), stride=(1, 2), padding=(1, 1), dilation=(2, 1),
                                   ceil_mode=ceil_mode)  # fmt: skip
        torch = pytest.importorskip("torch")
        expected, there = torch.nn.functional.max_pool2d(
            torch.tensor(x), (2, 3), (1, 2), (1, 1), (2, 1), ceil_mode, return_indices=True
        )
        np.testing.assert_array_equal(y.get(), expected.numpy())
        np.testing.assert_array_equal(where.get(), there.numpy())


def test_max_gradient_adds_in_order(cp, schedule, pool):
    """Bands and lanes do not change the bits: the same as adding one output after the other."""
    rng = np.random.default_rng(3)
    g = (rng.standard_normal((1, 2, 20, 20)) * 10.0 ** rng.integers(-4, 4, (1, 2, 20, 20))).astype(np.float32)
    where = rng.integers(0, 600, g.shape)  # 600 pixels: three bands
    dx = np.zeros((2, 600), np.float32)
    for plane, i, gi in zip(dx, where.reshape(2, -1), g.reshape(2, -1), strict=True):
        np.add.at(plane, i, gi)
    result = pool.max_pool2d_grad(cp.asarray(g), cp.asarray(where), input_shape=(1, 2, 20, 30))
    np.testing.assert_array_equal(result.get().reshape(2, 600), dx)


def test_unpooling_keeps_the_last_of_equal_places(cp, schedule, pool):
    rng = np.random.default_rng(3)
    x, where = rng.standard_normal((1, 2, 20, 20)), rng.integers(0, 600, (1, 2, 20, 20))
    y = np.zeros((2, 600))
    for plane, i, values in zip(y, where.reshape(2, -1), x.reshape(2, -1), strict=True):
        plane[i] = values
    for dtype in (np.float64, np.float32, np.float16):
        result = pool.max_unpool2d(cp.asarray(x.astype(dtype)), cp.asarray(where), output_size=(20, 30))
        assert result.shape == (1, 2, 20, 30) and result.dtype == dtype
        np.testing.assert_array_equal(result.get().reshape(2, 600), y.astype(dtype))


@pytest.mark.parametrize("bad", [-1, 12])
def test_bad_indices(cp, pool, bad):
    from lucid_kernels.cuda.runtime import launch

    where = np.zeros((1, 1, 2, 2), np.int64)
    where[0, 0, 1, 0] = bad
    for call in (
        lambda: pool.max_pool2d_gather(cp.ones((1, 1, 3, 4)), cp.asarray(where)),
        lambda: pool.max_pool2d_grad(cp.ones((1, 1, 2, 2)), cp.asarray(where), input_shape=(1, 1, 3, 4)),
        lambda: pool.max_unpool2d(cp.ones((1, 1, 2, 2)), cp.asarray(where), output_size=(3, 4)),
    ):
        call()
        with pytest.raises(IndexError, match=f"{bad}.*12"):
            launch.raise_pending()
        launch.raise_pending()


@pytest.mark.parametrize("ceil_mode", [False, True], ids=["floor", "ceil"])
@pytest.mark.parametrize("case", [case for case in WINDOWS if case != "dilated"])
def test_average(cp, schedule, pool, case, ceil_mode):
    shape, kernel, stride, padding, _ = WINDOWS[case]
    x = random(shape)
    for count_include_pad, divisor_override in ((True, None), (False, None), (True, 5)):
        keywords = dict(kernel_size=kernel, stride=stride, padding=padding, ceil_mode=ceil_mode,
                        count_include_pad=count_include_pad, divisor_override=divisor_override)  # fmt: skip
        y, g, dx = avg_reference(
            x, lambda shape: random(shape, 1), case, ceil_mode, count_include_pad, divisor_override
        )
        for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-13)):
            y_ = pool.avg_pool2d(cp.asarray(x.astype(dtype)), **keywords)
            assert y_.dtype == dtype
            np.testing.assert_allclose(y_.get(), y, atol=tolerance)
            dx_ = pool.avg_pool2d_grad(cp.asarray(g.astype(dtype)), input_shape=shape, **keywords)
            np.testing.assert_allclose(dx_.get(), dx, atol=tolerance)


@pytest.mark.parametrize(("shape", "output_size"), ADAPTIVE)
def test_adaptive_average(cp, schedule, pool, shape, output_size):
    x, g = random(shape), random((*shape[:2], *output_size), 1)
    y, dx = adaptive_reference(x, g)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-13)):
        y_ = pool.adaptive_avg_pool2d(cp.asarray(x.astype(dtype)), output_size=output_size)
        assert y_.dtype == dtype and y_.shape == y.shape
        np.testing.assert_allclose(y_.get(), y, atol=tolerance)
        dx_ = pool.adaptive_avg_pool2d_grad(cp.asarray(g.astype(dtype)), input_shape=shape)
        np.testing.assert_allclose(dx_.get(), dx, atol=tolerance)


@pytest.mark.parametrize(("shape", "output_size"), ADAPTIVE)
def test_adaptive_maxima(cp, schedule, pool, shape, output_size):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(np.float64)  # many ties
    x[rng.random(shape) < 0.1] = np.nan
    x[0, 0, :2] = -np.inf
    y, where = adaptive_max_reference(x, output_size)
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        y_, where_ = pool.adaptive_max_pool2d(cp.asarray(x.astype(dtype)), output_size=output_size)
        assert y_.dtype == dtype and where_.dtype == np.int64
        np.testing.assert_array_equal(y_.get().astype(float), y)
        np.testing.assert_array_equal(where_.get(), where)


def test_strides_out_and_halves(cp, pool):
    wide = random((2, 3, 6, 16))
    x, x_ = wide[..., ::2], cp.asarray(wide)[..., ::2]
    keywords = dict(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False)
    y = x.reshape(2, 3, 3, 2, 4, 2)
    maximum, average = y.max((3, 5)), y.mean((3, 5))
    out = cp.empty(maximum.shape), cp.empty(maximum.shape, np.int64)
    result = pool.max_pool2d(x_, dilation=(1, 1), out=out, **keywords)
    assert result[0] is out[0] and result[1] is out[1]
    np.testing.assert_array_equal(out[0].get(), maximum)
    strided = cp.empty((2, 3, 3, 8))[..., ::2]
    result = pool.max_pool2d(x_, dilation=(1, 1), out=(strided, None), **keywords)
    assert result[0] is strided and result[1].dtype == np.int64
    np.testing.assert_array_equal(strided.get(), maximum)
    keywords |= dict(count_include_pad=True, divisor_override=None)
    assert pool.avg_pool2d(x_, out=strided, **keywords) is strided
    np.testing.assert_allclose(strided.get(), average, atol=1e-14)
    out = cp.empty(x.shape)
    assert pool.avg_pool2d_grad(strided, input_shape=x.shape, out=out, **keywords) is out
    np.testing.assert_allclose(out.get(), np.repeat(np.repeat(average, 2, 2), 2, 3) / 4, atol=1e-14)
    assert pool.adaptive_avg_pool2d(x_, output_size=(3, 4), out=strided) is strided
    np.testing.assert_allclose(strided.get(), average, atol=1e-14)
    assert pool.adaptive_avg_pool2d_grad(strided, input_shape=x.shape, out=out) is out
    for dtype in (np.float16, ml_dtypes.bfloat16):
        half = cp.asarray(x.astype(dtype))
        y_, where = pool.max_pool2d(
            half, dilation=(1, 1), kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False
        )
        assert y_.dtype == dtype and where.dtype == np.int64
        np.testing.assert_array_equal(y_.get().astype(float), maximum.astype(dtype).astype(float))
        assert pool.max_pool2d_grad(y_, where, input_shape=x.shape).dtype == dtype
        y_ = pool.avg_pool2d(half, **keywords)
        exact = x.astype(dtype).astype(np.float64).reshape(2, 3, 3, 2, 4, 2).mean((3, 5))
        assert y_.dtype == dtype
        np.testing.assert_allclose(y_.get().astype(float), exact, rtol=float(ml_dtypes.finfo(dtype).eps), atol=1e-6)


def channels_last(cp, x):
    return cp.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2)


def is_channels_last(array):
    return array.transpose(0, 2, 3, 1).flags.c_contiguous


def tolerance_of(dtype):
    """Of averages: halves are rounded once."""
    if np.dtype(dtype).itemsize == 2:
        return {"rtol": float(ml_dtypes.finfo(dtype).eps) * 0.51, "atol": 1e-6}
    return {"rtol": 1e-13, "atol": 1e-14} if dtype == np.float64 else {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("case", "channels"), [
    ("overlap", 16), ("partial", 3), ("dilated", 8), ("whole plane", 8), ("halving", 2), ("halving by pairs", 2),
    ("halving, overlap", 2), ("halving, overlap by pairs", 2)])
def test_halves_and_channels_last(cp, schedule, pool, case, dtype, channels):
    shape, kernel, stride, padding, _ = WINDOWS[case]
    shape = (shape[0], channels, *shape[2:])
    x = random(shape).astype(dtype)
    y, where = max_reference(x.astype(np.float64), case, True)
    tolerance = tolerance_of(dtype)
    for order in (channels_last, lambda cp, array: cp.asarray(array)):
        out = order(cp, np.full(y.shape, np.nan, dtype)), order(cp, np.full(y.shape, -5))
        results = pool.max_pool2d(order(cp, x), out=out, **max_attributes(case, True))
        assert all(a is b for a, b in zip(results, out, strict=True))
        np.testing.assert_array_equal(out[0].get().astype(np.float64), y)
        np.testing.assert_array_equal(out[1].get(), where)
        g = random(y.shape, 1).astype(dtype)
        wanted = np.zeros(shape)
        for n, c, i, j in np.ndindex(*y.shape):
            wanted[n, c].ravel()[where[n, c, i, j]] += float(g[n, c, i, j])
        dx = pool.max_pool2d_grad(order(cp, g), out[1], input_shape=shape, out=order(cp, np.full(shape, np.nan, dtype)))
        np.testing.assert_allclose(dx.get().astype(np.float64), wanted, **tolerance)
        gathered = pool.max_pool2d_grad(order(cp, g), out[1], input_shape=shape, window=WINDOWS[case][1:])
        np.testing.assert_array_equal(gathered.get().astype(np.float64), dx.get().astype(np.float64))
        assert is_channels_last(gathered) or order is not channels_last or case == "whole plane"
        np.testing.assert_array_equal(pool.max_pool2d_gather(order(cp, x), out[1]).get().astype(np.float64), y)
        keywords = dict(kernel_size=kernel, stride=stride, padding=padding, ceil_mode=True, count_include_pad=True,
                        divisor_override=None)
        if case == "dilated":
            continue
        average, g, wanted = avg_reference(x.astype(np.float64), lambda size: random(size, 1).astype(dtype).astype(np.float64), case, True,
                                           True, None)
        got = pool.avg_pool2d(order(cp, x), **keywords)
        np.testing.assert_allclose(got.get().astype(np.float64), average, **tolerance)
        dx = pool.avg_pool2d_grad(order(cp, g.astype(dtype)), input_shape=shape, **keywords)
        np.testing.assert_allclose(dx.get().astype(np.float64), wanted, **tolerance)
        if order is channels_last:
            assert is_channels_last(got) and (is_channels_last(dx) or case == "whole plane")  # whose result has no order


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("case", ["2x2", "halving", "halving by pairs", "even", "overlap", "dilated", "halving, overlap"])
def test_winners(cp, schedule, pool, case, dtype, relu):
    """Indices that only gradients need are smaller, and lead to the same gradients."""
    shape, *window = WINDOWS.get(case, ((2, 8, 8, 32), *WINDOWS["2x2"][1:]))
    names = ("kernel_size", "stride", "padding", "dilation")
    keywords = {**dict(zip(names, window, strict=True)), "ceil_mode": False, "relu": relu}
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    x[0, 0, 2, 3] = np.nan
    x[0, 1, :4, :4] = -np.inf
    for order in (lambda cp, array: cp.asarray(array), channels_last):
        y, indices = pool.max_pool2d(order(cp, x), **keywords)
        exact = max_reference(x.astype(np.float64), case, False)[0] if case in WINDOWS else y.get().astype(float)
        np.testing.assert_array_equal(y.get().astype(float), np.where(exact < 0, 0, exact) if relu else exact)
        out = order(cp, np.full(y.shape, np.nan, dtype)), None
        y_, winners = pool.max_pool2d(order(cp, x), winners=True, out=out, **keywords)
        assert y_ is out[0] and winners.dtype == (np.uint8 if window[:2] == [(2, 2), (2, 2)] else np.int32)
        np.testing.assert_array_equal(y_.get().astype(float), y.get().astype(float))
        if winners.dtype == np.int32:
            np.testing.assert_array_equal(winners.get(), indices.get())
        else:
            at = indices.get()
            np.testing.assert_array_equal(winners.get(), np.where(at < 0, 4, at // shape[3] % 2 * 2 + at % shape[3] % 2))
        g = order(cp, random(y.shape, 1).astype(dtype))
        dx = pool.max_pool2d_grad(g, winners, input_shape=shape, relu=relu, out=order(cp, np.full(shape, np.nan, dtype)))
        assert dx.dtype == dtype
        out = order(cp, np.full(shape, np.nan, dtype))
        assert pool.max_pool2d_grad(g, winners, input_shape=shape, relu=relu, window=tuple(window), out=out) is out
        np.testing.assert_array_equal(out.get().astype(float), dx.get().astype(float))
        wanted = pool.max_pool2d_grad(g, indices, input_shape=shape, relu=relu)
        np.testing.assert_array_equal(dx.get().astype(float), wanted.get().astype(float))
        if not (relu and winners.dtype == np.int32):  # -1 is no index to gather from
            gathered = pool.max_pool2d_gather(order(cp, x), winners).get().astype(float)
            np.testing.assert_array_equal(gathered, np.where(indices.get() < 0, 0, y.get().astype(float)))


@pytest.mark.parametrize("first", [0, 1])
def test_planes_that_start_anywhere(cp, pool, first):
    """Halving reads pairs, which not every address allows."""
    memory = np.concatenate([np.full(first, np.nan), random(2 * 4 * 8)]).astype(np.float32)
    x, x_ = memory[first:].reshape(1, 2, 4, 8), cp.asarray(memory)[first:].reshape(1, 2, 4, 8)
    keywords = dict(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False)
    tiles = x.astype(np.float64).reshape(1, 2, 2, 2, 4, 2)
    y, winners = pool.max_pool2d(x_, dilation=(1, 1), winners=True, **keywords)
    np.testing.assert_array_equal(y.get(), tiles.max((3, 5)))
    out = cp.asarray(np.full(64 + first, np.nan, np.float32))[first:].reshape(1, 2, 4, 8)
    assert pool.max_pool2d_grad(y, winners, input_shape=x.shape, out=out) is out
    np.testing.assert_array_equal(out.get(), np.where(x == np.repeat(np.repeat(y.get(), 2, 2), 2, 3), x, 0))
    keywords |= dict(count_include_pad=True, divisor_override=None)
    np.testing.assert_allclose(pool.avg_pool2d(x_, **keywords).get(), tiles.mean((3, 5)), rtol=1e-6, atol=1e-6)
    assert pool.avg_pool2d_grad(y, input_shape=x.shape, out=out, **keywords) is out
    np.testing.assert_array_equal(out.get(), np.repeat(np.repeat(y.get(), 2, 2), 2, 3) / 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("shape", "output_size"), [((2, 16, 7, 9), (3, 4)), ((2, 8, 8, 16), (1, 1)), ((2, 3, 8, 9), (1, 1)),
                                                    ((1, 2, 17, 9), (2, 1))])
def test_adaptive_halves_and_channels_last(cp, schedule, pool, dtype, shape, output_size):
    x, g = random(shape).astype(dtype), random((*shape[:2], *output_size), 1).astype(dtype)
    tolerance = tolerance_of(dtype)
    average, wanted = adaptive_reference(x.astype(np.float64), g.astype(np.float64))
    maxima, where = adaptive_max_reference(x.astype(np.float64), output_size)
    for order in (channels_last, lambda cp, array: cp.asarray(array)):
        y = order(cp, np.full(g.shape, np.nan, dtype))
        assert pool.adaptive_avg_pool2d(order(cp, x), output_size=output_size, out=y) is y
        np.testing.assert_allclose(y.get().astype(np.float64), average, **tolerance)
        dx = pool.adaptive_avg_pool2d_grad(order(cp, g), input_shape=shape, out=order(cp, np.full(shape, np.nan, dtype)))
        np.testing.assert_allclose(dx.get().astype(np.float64), wanted, **tolerance)
        dx = pool.adaptive_avg_pool2d_grad(order(cp, g), input_shape=shape, channels_last=True)
        assert dx.transpose(0, 2, 3, 1).flags.c_contiguous
        np.testing.assert_allclose(dx.get().astype(np.float64), wanted, **tolerance)
        results = pool.adaptive_max_pool2d(order(cp, x), output_size=output_size, out=(y, None))
        np.testing.assert_array_equal(y.get().astype(np.float64), maxima)
        np.testing.assert_array_equal(results[1].get(), where)


def test_empty(cp, pool):
    x = cp.empty((0, 3, 4, 4))
    keywords = dict(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False)
    y, where = pool.max_pool2d(x, dilation=(1, 1), **keywords)
    assert y.shape == where.shape == (0, 3, 2, 2)
    for window in (None, ((2, 2), (2, 2), (0, 0), (1, 1))):
        assert pool.max_pool2d_grad(y, where, input_shape=x.shape, window=window).shape == x.shape
    assert pool.max_pool2d_gather(x, where).shape == y.shape
    keywords |= dict(count_include_pad=True, divisor_override=None)
    assert pool.avg_pool2d(x, **keywords).shape == y.shape
    assert pool.avg_pool2d_grad(y, input_shape=x.shape, **keywords).shape == x.shape
    assert pool.adaptive_avg_pool2d(x, output_size=(1, 1)).shape == (0, 3, 1, 1)
    assert pool.adaptive_max_pool2d(x, output_size=(1, 1))[1].shape == (0, 3, 1, 1)


@pytest.mark.parametrize("case", WINDOWS)
def test_same_as_cpu(cp, pool, case):
    cpu = pytest.importorskip("lucid_kernels.cpu.pooling.pool2d")
    x = random(WINDOWS[case][0])
    for ceil_mode in (False, True):
        keywords = max_attributes(case, ceil_mode)
        y, where = cpu.max_pool2d(x, **keywords)
        y_, where_ = pool.max_pool2d(cp.asarray(x), **keywords)
        np.testing.assert_array_equal(y_.get(), y)
        np.testing.assert_array_equal(where_.get(), where)
        dx_ = pool.max_pool2d_grad(y_, where_, input_shape=x.shape)
        np.testing.assert_allclose(dx_.get(), cpu.max_pool2d_grad(y, where, input_shape=x.shape), atol=1e-14)
        gathered = pool.max_pool2d_grad(y_, where_, input_shape=x.shape, window=WINDOWS[case][1:])
        np.testing.assert_array_equal(gathered.get(), dx_.get())
        np.testing.assert_array_equal(cpu.max_pool2d_gather(x, where), y)
        clipped, where = cpu.max_pool2d(x, **keywords, relu=True)
        clipped_, where_ = pool.max_pool2d(cp.asarray(x), **keywords, relu=True)
        np.testing.assert_array_equal(clipped_.get(), clipped)
        np.testing.assert_array_equal(where_.get(), where)
        dx_ = pool.max_pool2d_grad(y_, where_, input_shape=x.shape, relu=True)
        np.testing.assert_allclose(dx_.get(), cpu.max_pool2d_grad(y, where, input_shape=x.shape, relu=True), atol=1e-14)
        del keywords["dilation"]
        keywords |= dict(count_include_pad=False, divisor_override=None)
        y = cpu.avg_pool2d(x, **keywords)
        np.testing.assert_allclose(pool.avg_pool2d(cp.asarray(x), **keywords).get(), y, atol=1e-14)
        dx_ = pool.avg_pool2d_grad(cp.asarray(y), input_shape=x.shape, **keywords)
        np.testing.assert_allclose(dx_.get(), cpu.avg_pool2d_grad(y, input_shape=x.shape, **keywords), atol=1e-14)
    y = cpu.adaptive_avg_pool2d(x, output_size=(3, 2))
    np.testing.assert_allclose(pool.adaptive_avg_pool2d(cp.asarray(x), output_size=(3, 2)).get(), y, atol=1e-14)
    dx_ = pool.adaptive_avg_pool2d_grad(cp.asarray(y), input_shape=x.shape)
    np.testing.assert_allclose(dx_.get(), cpu.adaptive_avg_pool2d_grad(y, input_shape=x.shape), atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_adaptive_maxima_of_channels_that_come_last(cp, schedule, pool, dtype):
    x = np.random.default_rng(0).standard_normal((2, 16, 7, 5)).astype(dtype)
    y, where = adaptive_max_reference(x.astype(np.float64), (3, 2))
    got, indices = pool.adaptive_max_pool2d(channels_last(cp, x), output_size=(3, 2))
    np.testing.assert_array_equal(got.get().astype(np.float64), y)
    np.testing.assert_array_equal(indices.get(), where)
