"""Pooling against naive loops in float64, adjoints and PyTorch."""
import itertools

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.pooling.pool2d import (
    adaptive_avg_pool2d,
    adaptive_avg_pool2d_grad,
    adaptive_max_pool2d,
    avg_pool2d,
    avg_pool2d_grad,
    max_pool2d,
    max_pool2d_gather,
    max_pool2d_grad,
)
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

# (input shape, kernel_size, stride, padding, dilation): odd sizes, 1xN, kernel as large as the padded input, strides 1-3.
WINDOWS = [
    ((2, 3, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((1, 2, 7, 9), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 1, 5, 6), (1, 3), (1, 1), (0, 1), (1, 1)),
    ((1, 1, 4, 5), (6, 7), (1, 1), (1, 1), (1, 1)),
    ((1, 2, 11, 10), (3, 2), (1, 3), (1, 0), (2, 3)),
    ((1, 2, 6, 7), (2, 3), (3, 4), (1, 1), (1, 1)),
    ((1, 1, 5, 5), (2, 2), (4, 3), (1, 0), (1, 2)),
    ((2, 20, 45, 46), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((0, 3, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
]
NAIVE = [case for case in WINDOWS if np.prod(case[0]) < 1000]


def pooled(length, kernel, stride, padding, dilation, ceil_mode):
    """Count the windows by trying them one after the other."""
    count = 0
    while True:
        start = count * stride - padding
        stop = start + dilation * (kernel - 1) + 1
        if stop > length + padding and not (ceil_mode and start < length and stop - stride < length + padding):
            return count
        count += 1


def taps(oh, ow, shape, kernel, stride, padding, dilation):
    """The positions (ih, iw) inside the input that the window of output (oh, ow) covers, in row order."""
    for a, b in itertools.product(range(kernel[0]), range(kernel[1])):
        ih = oh * stride[0] - padding[0] + a * dilation[0]
        iw = ow * stride[1] - padding[1] + b * dilation[1]
        if 0 <= ih < shape[2] and 0 <= iw < shape[3]:
            yield ih, iw


def naive_max(x, kernel, stride, padding, dilation, ceil_mode):
    sizes = [pooled(*axis, ceil_mode) for axis in zip(x.shape[2:], kernel, stride, padding, dilation)]
    y = np.empty((*x.shape[:2], *sizes))
    indices = np.empty(y.shape, np.int64)
    for n, c, oh, ow in np.ndindex(y.shape):
        best = None
        for ih, iw in taps(oh, ow, x.shape, kernel, stride, padding, dilation):
            if best is None or x[n, c, ih, iw] > x[n, c, best[0], best[1]]:
                best = ih, iw
        y[n, c, oh, ow] = x[n, c, best[0], best[1]]
        indices[n, c, oh, ow] = best[0] * x.shape[3] + best[1]
    return y, indices


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation"), WINDOWS)
def test_max_with_relu(shape, kernel, stride, padding, dilation, dtype):
    options = {"kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": False}
    x = np.random.default_rng(0).integers(-6, 2, shape).astype(dtype)
    x[:, :, 1, 2:4] = np.nan
    x[:, :, -1, -1] = -np.inf
    plain, places = max_pool2d(x, **options)
    y, indices = max_pool2d(x, **options, relu=True)
    assert y.dtype == dtype
    plain = plain.astype(float)
    np.testing.assert_array_equal(y.astype(float), np.where(plain < 0, 0, plain))
    np.testing.assert_array_equal(indices, np.where(plain <= 0, -1, places))
    g = np.random.default_rng(1).standard_normal(y.shape).astype(dtype)
    masked = np.where(y.astype(float) == 0, 0, g).astype(dtype)  # passes where the maximum is positive or NaN
    dx, expected = max_pool2d_grad(g, indices, input_shape=shape, relu=True), max_pool2d_grad(masked, places, input_shape=shape)
    np.testing.assert_array_equal(dx.astype(float), expected.astype(float))
    if (indices == -1).any():
        with pytest.raises(IndexError):
            max_pool2d_grad(g, indices, input_shape=shape)
        with pytest.raises(IndexError):
            max_pool2d_grad(g, indices * 2, input_shape=shape, relu=True)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (1, 2, 7, 9), (3, 1, 2, 3), (0, 3, 8, 8), (8, 16, 28, 30)])
def test_winners_are_the_same_as_positions(shape, dtype, relu):
    """Bytes where windows lie side by side: the maxima, their gradient and what the double gradient gathers."""
    options = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceil_mode": False, "relu": relu}
    rng = np.random.default_rng(0)
    x = rng.integers(-6, 2, shape).astype(dtype)
    x[:, :, 0, :2] = np.nan
    x[:, :, 1, -1] = -np.inf
    wanted, positions = max_pool2d(x, **options)
    y, winners = max_pool2d(x.swapaxes(2, 3).copy().swapaxes(2, 3), **options, winners=True)
    assert winners.dtype == np.uint8 and y.dtype == dtype
    np.testing.assert_array_equal(y.astype(float), wanted.astype(float))
    out = np.full(y.shape, np.nan, dtype), np.full(y.shape, 9, np.uint8)
    max_pool2d(x, **options, winners=True, out=out)
    np.testing.assert_array_equal(out[1], winners)
    g, closed = rng.standard_normal(y.shape).astype(dtype), positions < 0
    dx = max_pool2d_grad(g, winners, input_shape=shape, relu=relu, out=np.full(shape, np.nan, dtype))
    np.testing.assert_array_equal(dx, max_pool2d_grad(g, positions, input_shape=shape, relu=relu))
    gathered = max_pool2d_gather(x, winners, out=np.full(y.shape, np.nan, dtype)).astype(float)
    there = max_pool2d_gather(x, np.maximum(positions, 0)).astype(float)
    np.testing.assert_array_equal(gathered, np.where(closed, 0, there))


def test_other_windows_have_positions():
    x = np.random.default_rng(0).standard_normal((1, 2, 6, 6))
    for kernel, stride, ceil_mode in ((3, 3, False), (2, 1, False), (2, 2, True)):
        x = x[..., : 5 if ceil_mode else 6, :]
        options = {"kernel_size": (kernel,) * 2, "stride": (stride,) * 2, "padding": (0, 0), "dilation": (1, 1), "ceil_mode": ceil_mode}
        for one, other in zip(max_pool2d(x, **options), max_pool2d(x, **options, winners=True)):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation"), NAIVE)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max(shape, kernel, stride, padding, dilation, ceil_mode):
    x = np.random.default_rng(0).integers(-3, 3, shape).astype(np.float64)  # with ties
    before = x.copy()
    y, indices = max_pool2d(
        x, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )
    wanted, wanted_indices = naive_max(x, kernel, stride, padding, dilation, ceil_mode)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(indices, wanted_indices)
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(max_pool2d_gather(x, indices), y)
    g = np.random.default_rng(1).normal(size=y.shape)
    dx = max_pool2d_grad(g, indices, input_shape=shape)
    assert (dx * x).sum() == pytest.approx((g * max_pool2d_gather(x, indices)).sum())
    assert dx.shape == shape


@pytest.mark.parametrize("shape", [(64, 32, 8, 8), (3, 2, 7, 9), (2, 3, 56, 56), (1, 1, 2, 2), (1, 2, 1, 1), (20, 60, 6, 10)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_of_2x2_is_that_of_pytorch(shape, ceil_mode, dtype):
    """With ties, infinities and NaN; both the own loop of 2x2 windows and, where ceil_mode cuts windows, the general one."""
    torch = pytest.importorskip("torch")
    if min(shape[2:]) < 2 and not ceil_mode:
        shape = (*shape[:2], 2, 3)
    values = np.array([-np.inf, -1, 0, 1, 1, np.inf, np.nan], dtype)
    x = np.random.default_rng(0).choice(values, shape)
    pair = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}
    y, indices = max_pool2d(x, **pair, ceil_mode=ceil_mode)
    wanted, where = torch.nn.functional.max_pool2d(torch.tensor(x), 2, ceil_mode=ceil_mode, return_indices=True)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(indices, where)


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(64, 32, 8, 8), (3, 2, 7, 9), (2, 3, 56, 55), (1, 1, 1, 1), (2, 2, 1, 6), (2, 2, 6, 2), (1, 1, 2, 1)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_of_3x3_is_that_of_pytorch(shape, ceil_mode, dtype):
    """Stride 2 and padding 1, with ties, infinities and NaN."""
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).choice(np.array([-np.inf, -1, 0, 1, 1, np.inf, np.nan], dtype), shape)
    window = {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}
    y, indices = max_pool2d(x, **window, ceil_mode=ceil_mode)
    wanted, where = torch.nn.functional.max_pool2d(torch.tensor(x), 3, 2, 1, ceil_mode=ceil_mode, return_indices=True)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(indices, where)


@pytest.mark.torch
@pytest.mark.parametrize("window", [((3, 3), (1, 1), (1, 1)), ((5, 5), (1, 1), (2, 2)), ((2, 3), (1, 2), (1, 0)), ((1, 4), (1, 2), (0, 2)),
                                    ((3, 2), (3, 1), (1, 1)), ((3, 3), (3, 3), (0, 0)), ((4, 5), (1, 4), (2, 2)), ((2, 6), (2, 3), (1, 1))])
@pytest.mark.parametrize("shape", [(2, 3, 5, 9), (20, 30, 7, 40), (1, 2, 3, 100)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_of_other_windows_is_that_of_pytorch(window, shape, ceil_mode, dtype):
    """With ties, infinities and NaN."""
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).choice(np.array([-np.inf, -1, 0, 1, 1, np.inf, np.nan], dtype), shape)
    names = dict(zip(("kernel_size", "stride", "padding"), window))
    y, indices = max_pool2d(x, **names, dilation=(1, 1), ceil_mode=ceil_mode)
    wanted, where = torch.nn.functional.max_pool2d(torch.tensor(x), **names, ceil_mode=ceil_mode, return_indices=True)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(indices, where)


@pytest.mark.torch
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(4, 4, 0), (3, 3, 1), (7, 3, 3), (2, 4, 1), (6, 5, 2)])
@pytest.mark.parametrize("shape", [(3, 2, 1, 9), (40, 30, 1, 61), (1, 2, 1, 1500)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_of_rows_is_that_of_pytorch(kernel, stride, padding, shape, dtype):
    """Planes of one row, as those of one-dimensional pooling."""
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).choice(np.array([-np.inf, -1, 0, 1, 1, np.inf, np.nan], dtype), shape)
    window = {"kernel_size": (1, kernel), "stride": (1, stride), "padding": (0, padding)}
    y, indices = max_pool2d(x, **window, dilation=(1, 1), ceil_mode=True)
    wanted, where = torch.nn.functional.max_pool2d(torch.tensor(x), **window, ceil_mode=True, return_indices=True)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(indices, where)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(2, 3, 7, 9), (1, 2, 1, 5), (20, 30, 13, 14), (1, 1, 40, 700), (0, 2, 4, 4)])
@pytest.mark.parametrize("size", [(1, 1), (3, 6), (7, 9), (15, 20), (2, 0)])
def test_adaptive_maxima_are_those_of_pytorch(dtype, shape, size):
    """With ties, infinities and NaN; windows longer than what is transposed at a time, more results than elements, none."""
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).choice(np.array([-np.inf, -1, 0, 1, 1, np.inf, np.nan]), shape)
    if shape[3] == 700:
        x = np.random.default_rng(0).integers(-9, 9, shape)
    y, indices = adaptive_max_pool2d(x.astype(dtype), output_size=size)
    assert y.dtype == dtype and indices.dtype == np.int64
    wanted, where = torch.nn.functional.adaptive_max_pool2d(torch.tensor(x.astype(np.float64)), size, return_indices=True)
    np.testing.assert_array_equal(y.astype(float), wanted)
    np.testing.assert_array_equal(indices, where)


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(64, 32, 8, 8), (3, 2, 7, 9), (2, 3, 56, 55), (1, 1, 2, 2), (1, 2, 1, 3)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_average_of_2x2_is_that_of_pytorch(shape, ceil_mode, dtype):
    """Both the own loops of 2x2 windows and, for odd planes, the general ones."""
    torch = pytest.importorskip("torch")
    if min(shape[2:]) < 2 and not ceil_mode:
        shape = (*shape[:2], 2, 3)
    x = torch.tensor(np.random.default_rng(0).normal(size=shape).astype(dtype), requires_grad=True)
    wanted = torch.nn.functional.avg_pool2d(x, 2, ceil_mode=ceil_mode)
    window = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "ceil_mode": ceil_mode, "count_include_pad": True}
    y = avg_pool2d(x.detach().numpy(), **window, divisor_override=None)
    tolerance = 8 * np.finfo(dtype).eps  # the general loops add up the columns of a window first
    np.testing.assert_allclose(y, wanted.detach(), rtol=0, atol=tolerance)
    g = np.random.default_rng(1).normal(size=y.shape).astype(dtype)
    wanted.backward(torch.tensor(g))
    np.testing.assert_array_equal(avg_pool2d_grad(g, input_shape=shape, **window, divisor_override=None), x.grad)
    overridden = avg_pool2d(x.detach().numpy(), **window, divisor_override=3)
    wanted = torch.nn.functional.avg_pool2d(x.detach(), 2, ceil_mode=ceil_mode, divisor_override=3)
    np.testing.assert_allclose(overridden, wanted, rtol=0, atol=tolerance)


def test_results_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(0).normal(size=(70, 30, 8, 8)).astype(np.float32)
    window = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "ceil_mode": False}
    average = {**window, "count_include_pad": True, "divisor_override": None}

    def results():
        y, indices = max_pool2d(x, **window, dilation=(1, 1))
        yield from (y, indices, max_pool2d_grad(y, indices, input_shape=x.shape), max_pool2d_gather(x, indices))
        yield avg_pool2d(x, **average)
        yield avg_pool2d_grad(y, input_shape=x.shape, **average)
        for size in ((1, 1), (3, 3)):
            yield from adaptive_max_pool2d(x, output_size=size)
            y = adaptive_avg_pool2d(x, output_size=size)
            yield from (y, adaptive_avg_pool2d_grad(y, input_shape=x.shape))

    threads = get_num_threads()
    several = list(results())
    set_num_threads(1)
    try:
        for one, other in zip(results(), several):
            np.testing.assert_array_equal(one, other)
    finally:
        set_num_threads(threads)


def naive_average(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    sizes = [pooled(*axis, 1, ceil_mode) for axis in zip(x.shape[2:], kernel, stride, padding)]
    y = np.empty((*x.shape[:2], *sizes))
    for n, c, oh, ow in np.ndindex(y.shape):
        inside = [x[n, c, ih, iw] for ih, iw in taps(oh, ow, x.shape, kernel, stride, padding, (1, 1))]
        padded = 1
        for o, axis in ((oh, 0), (ow, 1)):
            start = o * stride[axis] - padding[axis]
            padded *= min(start + kernel[axis], x.shape[2 + axis] + padding[axis]) - start
        y[n, c, oh, ow] = sum(inside) / (divisor_override or (padded if count_include_pad else len(inside)))
    return y


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation"), NAIVE)
@pytest.mark.parametrize(
    ("ceil_mode", "count_include_pad", "divisor_override"),
    [(False, True, None), (True, True, None), (True, False, None), (False, True, 5), (True, False, -2)],
)
def test_average(shape, kernel, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override):
    x = np.random.default_rng(0).normal(size=shape)
    attributes = {
        "kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode,
        "count_include_pad": count_include_pad, "divisor_override": divisor_override,
    }
    y = avg_pool2d(x, **attributes)
    wanted = naive_average(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-12)
    g = np.random.default_rng(1).normal(size=y.shape)
    dx = avg_pool2d_grad(g, input_shape=shape, **attributes)
    assert dx.shape == shape
    assert (dx * x).sum() == pytest.approx((g * y).sum())


@pytest.mark.parametrize("shape", [(2, 3, 7, 9), (1, 2, 3, 2), (0, 2, 4, 4), (3, 20, 40, 30)])
@pytest.mark.parametrize("output_size", [(1, 1), (3, 4), (5, 2)])
def test_adaptive(shape, output_size):
    x = np.random.default_rng(0).normal(size=shape)
    y = adaptive_avg_pool2d(x, output_size=output_size)
    for oh, ow in np.ndindex(output_size):
        rows, columns = (
            slice(int(np.floor(o * length / size)), int(np.ceil((o + 1) * length / size)))
            for o, length, size in zip((oh, ow), shape[2:], output_size)
        )
        np.testing.assert_allclose(y[:, :, oh, ow], x[:, :, rows, columns].mean((2, 3)), rtol=1e-10, atol=1e-12)
    g = np.random.default_rng(1).normal(size=y.shape)
    dx = adaptive_avg_pool2d_grad(g, input_shape=shape)
    assert dx.shape == shape
    assert (dx * x).sum() == pytest.approx((g * y).sum())


MAX = {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 1), "dilation": (1, 1), "ceil_mode": False}
AVERAGE = {
    "kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 1), "ceil_mode": True, "count_include_pad": False,
    "divisor_override": None,
}


def strided_like(array):
    return np.empty((*array.shape[:3], 2 * array.shape[3]), array.dtype)[..., ::2]


def test_strides_and_out():
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 8))
    view = np.asfortranarray(x)
    y, indices = max_pool2d(x, **MAX)
    out = (strided_like(y), strided_like(indices))
    results = max_pool2d(view, **MAX, out=out)
    assert results[0] is out[0]
    assert results[1] is out[1]
    np.testing.assert_array_equal(results[0], y)
    np.testing.assert_array_equal(results[1], indices)
    average = avg_pool2d(x, **AVERAGE)
    calls = [
        (max_pool2d_grad, (y, indices), (out[0], out[1]), {"input_shape": x.shape}),
        (max_pool2d_gather, (x, indices), (view, out[1]), {}),
        (avg_pool2d, (x,), (view,), AVERAGE),
        (avg_pool2d_grad, (average,), (np.asfortranarray(average),), {"input_shape": x.shape, **AVERAGE}),
        (adaptive_avg_pool2d, (x,), (view,), {"output_size": (3, 3)}),
        (adaptive_avg_pool2d_grad, (average,), (np.asfortranarray(average),), {"input_shape": x.shape}),
    ]
    for kernel, plain, strided, attributes in calls:
        wanted = kernel(*plain, **attributes)
        given = strided_like(wanted)
        assert kernel(*strided, **attributes, out=given) is given
        np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("planes", [2, 2000])
@pytest.mark.parametrize("bad", [-1, 36, 2**40])
def test_index_out_of_range(planes, bad):
    x, g = np.zeros((1, planes, 6, 6)), np.zeros((1, planes, 3, 3))
    indices = np.zeros(g.shape, np.int64)
    indices[0, -1, 2, 2] = bad
    with pytest.raises(IndexError, match="6x6"):
        max_pool2d_grad(g, indices, input_shape=x.shape)
    with pytest.raises(IndexError, match="6x6"):
        max_pool2d_gather(np.zeros((1, planes, 6, 6)), np.concatenate([indices] * 4, axis=3))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype):
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 8)).astype(dtype)
    y, indices = max_pool2d(x, **MAX)
    assert (y.dtype, indices.dtype) == (dtype, np.int64)
    average = avg_pool2d(x, **AVERAGE)
    np.testing.assert_array_equal(average, avg_pool2d(x.astype(np.float32), **AVERAGE).astype(dtype))
    assert max_pool2d_grad(y, indices, input_shape=x.shape).dtype == dtype


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation"), WINDOWS)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_like_torch(shape, kernel, stride, padding, dilation, ceil_mode):
    torch = pytest.importorskip("torch")
    if any(2 * p > k for p, k in zip(padding, kernel)) or shape[0] == 0:
        pytest.skip("PyTorch refuses it")
    functional = torch.nn.functional
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    x.reshape(-1)[::11] = np.nan
    x.reshape(-1)[1::13] = -np.inf
    t_x = torch.tensor(x, requires_grad=True)
    t_y, t_indices = functional.max_pool2d(t_x, kernel, stride, padding, dilation, ceil_mode, return_indices=True)
    y, indices = max_pool2d(
        x, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )
    np.testing.assert_array_equal(y, t_y.detach())
    np.testing.assert_array_equal(indices, t_indices)
    g = np.random.default_rng(1).normal(size=y.shape).astype(np.float32)
    (wanted,) = torch.autograd.grad(t_y, t_x, torch.tensor(g))
    np.testing.assert_allclose(max_pool2d_grad(g, indices, input_shape=shape), wanted, rtol=1e-6, atol=1e-6)

    for count_include_pad, override in ((True, None), (False, None), (True, 3)):
        t_y = functional.avg_pool2d(t_x, kernel, stride, padding, ceil_mode, count_include_pad, override)
        attributes = {
            "kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode,
            "count_include_pad": count_include_pad, "divisor_override": override,
        }
        np.testing.assert_array_equal(avg_pool2d(x, **attributes), t_y.detach())
        g = np.random.default_rng(1).normal(size=t_y.shape).astype(np.float32)
        (wanted,) = torch.autograd.grad(t_y, t_x, torch.tensor(g))
        np.testing.assert_allclose(avg_pool2d_grad(g, input_shape=shape, **attributes), wanted, rtol=1e-5, atol=1e-6)

    t_y = functional.adaptive_avg_pool2d(t_x, (3, 2))
    np.testing.assert_allclose(adaptive_avg_pool2d(x, output_size=(3, 2)), t_y.detach(), rtol=1e-5, atol=1e-5)
    g = np.random.default_rng(1).normal(size=t_y.shape).astype(np.float32)
    (wanted,) = torch.autograd.grad(t_y, t_x, torch.tensor(g))
    np.testing.assert_allclose(adaptive_avg_pool2d_grad(g, input_shape=shape), wanted, rtol=1e-5, atol=1e-6)
