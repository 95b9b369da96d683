"""The kernels for depthwise convolutions, as planes and with the channels last, against float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.cuda.convolution import test_conv2d

# (batch, channels, height, width), kernel, stride, padding
CASES = {
    "3x3": ((2, 4, 11, 9), 3, 1, (1, 1)),
    "3x3, pairs": ((1, 6, 9, 12), 3, 2, (1, 1)),
    "3x3, no padding": ((2, 3, 10, 7), 3, 2, (0, 0)),
    "3x3, wide padding": ((1, 2, 5, 6), 3, 1, (4, 3)),
    "5x5": ((1, 4, 12, 8), 5, 1, (2, 2)),
    "5x5, stride": ((2, 3, 9, 13), 5, 2, (2, 2)),
    "5x5, odd padding": ((1, 2, 9, 8), 5, 2, (1, 3)),
    "7x7": ((1, 2, 7, 9), 7, 1, (3, 3)),
    "7x7, stride": ((1, 4, 17, 10), 7, 2, (3, 3)),
    "3x3, four columns": ((2, 3, 11, 12), 3, 1, (1, 1)),
    "3x3, two columns": ((1, 4, 5, 10), 3, 1, (1, 1)),
    "3x3, four columns, stride": ((2, 2, 13, 16), 3, 2, (1, 1)),
    "5x5, four columns": ((1, 2, 9, 8), 5, 1, (2, 2)),
    "5x5, four columns, stride": ((1, 3, 9, 24), 5, 2, (2, 2)),
    "5x5, two columns, stride": ((1, 2, 8, 12), 5, 2, (4, 2)),
    "7x7, four columns": ((1, 2, 9, 12), 7, 1, (3, 3)),
    "7x7, two columns": ((2, 2, 6, 6), 7, 1, (2, 3)),
    "3x3, more channels than lanes": ((1, 70, 5, 6), 3, 1, (1, 1)),
    "3x3, many images": ((70, 2, 12, 32), 3, 1, (1, 1)),
    "3x3, eight columns": ((1, 2, 9, 24), 3, 1, (1, 1)),
    "3x3, packs of four": ((1, 8, 6, 8), 3, 1, (1, 1)),
    "one pixel": ((3, 2, 1, 1), 3, 1, (1, 1)),
}
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.fixture
def conv(cp):
    from lucid_kernels.cuda.convolution import conv2d

    return conv2d


def planes(cp, array):
    return cp.asarray(array)


def channels_last(cp, array):
    return cp.asarray(np.ascontiguousarray(array.transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2)


def run(cp, conv, case, dtype, order):
    """Every result into memory full of NaN, beside what float64 gives."""
    shape, kernel, stride, padding = CASES[case]
    rng = np.random.default_rng(3)
    keywords = {"stride": (stride, stride), "padding": padding, "dilation": (1, 1), "groups": shape[1]}
    x, weight, bias = (rng.standard_normal(size).astype(dtype) for size in (shape, (shape[1], 1, kernel, kernel), shape[1]))
    wide = [array.astype(np.float64) for array in (x, weight, bias)]
    _, g, _, _ = test_conv2d.reference(*wide, 1, **keywords)
    g = g.astype(dtype)
    y, dx, dw = expected(*wide, g.astype(np.float64), **keywords)
    x_, g_ = order(cp, x), order(cp, g)
    poison = lambda array: order(cp, np.full(array.shape, np.nan, dtype))  # noqa: E731
    results = (
        conv.conv2d(x_, cp.asarray(weight), cp.asarray(bias), out=poison(y), **keywords),
        conv.conv2d_grad_input(g_, cp.asarray(weight), input_shape=shape, out=poison(dx), **keywords),
        conv.conv2d_grad_weight(g_, x_, weight_shape=weight.shape, out=cp.asarray(np.full(dw.shape, np.nan, dtype)), **keywords),
    )
    return results, (y, dx, dw)


def expected(x, weight, bias, g, stride, padding, dilation, groups):
    """The result, and the gradients of input and weight for the gradient g of the result."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    y, d_padded, dw = np.zeros(g.shape), np.zeros(padded.shape), np.zeros(weight.shape)
    for i, j, rows, columns in test_conv2d.taps(x.shape, weight.shape[2:], g.shape[2:], stride, dilation):
        seen = padded[..., rows, columns]
        y += seen * weight[:, 0, i, j, None, None]
        d_padded[..., rows, columns] += g * weight[:, 0, i, j, None, None]
        dw[:, 0, i, j] = (g * seen).sum((0, 2, 3))
    dx = d_padded[..., padding[0] : padding[0] + x.shape[2], padding[1] : padding[1] + x.shape[3]]
    return y + bias[:, None, None], dx, dw


@pytest.mark.parametrize("order", [planes, channels_last])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", ml_dtypes.bfloat16], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(cp, schedule, conv, case, dtype, order):
    from lucid_kernels.cuda.runtime import launch

    results, wanted = run(cp, conv, case, dtype, order)
    for result, exact in zip(results, wanted, strict=True):
        assert result.dtype == dtype and result.shape == exact.shape
        test_conv2d.close(result, exact, TOLERANCE[np.dtype(dtype).name])
    assert {"depthwise" if dtype != "float64" and case != "7x7, stride" else "conv2d"} <= {file for file, _ in launch.loaded()}


@pytest.mark.parametrize("stride", [1, 2])
def test_results_have_their_channels_last_where_images_have(cp, conv, stride):
    keywords = {"stride": (stride, stride), "padding": (1, 1), "dilation": (1, 1), "groups": 4}
    x, weight = channels_last(cp, np.ones((2, 4, 6, 8), np.float32)), cp.ones((4, 1, 3, 3), np.float32)
    y = conv.conv2d(x, weight, None, **keywords)
    assert y.transpose(0, 2, 3, 1).flags.c_contiguous
    dx = conv.conv2d_grad_input(y, weight, input_shape=x.shape, **keywords)
    assert dx.transpose(0, 2, 3, 1).flags.c_contiguous


def test_images_that_start_at_an_odd_element(cp, conv):
    keywords = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 2}
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((1, 2, 6, 8)), rng.standard_normal((2, 1, 3, 3))
    g = rng.standard_normal((1, 2, 3, 4))
    y, dx, dw = expected(x, weight, np.zeros(2), g, **keywords)

    def odd(order, array):
        memory = cp.asarray(np.concatenate([[np.nan], order(array).ravel()]).astype(np.float32))[1:]
        return memory.reshape(order(array).shape)

    for order, back in ((lambda a: a, lambda a: a), (lambda a: a.transpose(0, 2, 3, 1), lambda a: a.transpose(0, 3, 1, 2))):
        x_, g_, out = (back(odd(order, array)) for array in (x, g, np.full(x.shape, np.nan)))
        test_conv2d.close(conv.conv2d(x_, cp.asarray(weight, np.float32), None, **keywords), y, 2e-5)
        assert conv.conv2d_grad_input(g_, cp.asarray(weight, np.float32), input_shape=x.shape, out=out, **keywords) is out
        test_conv2d.close(out, dx, 2e-5)
        test_conv2d.close(conv.conv2d_grad_weight(g_, x_, weight_shape=weight.shape, **keywords), dw, 2e-5)


def test_pixels_out_of_reach_have_no_gradient_even_from_infinity(cp, conv):
    """Taps that do not reach a pixel must not bring it 0 * inf."""
    g = np.ones((1, 2, 4, 4), np.float32)
    g[0, 0, 1, 1] = np.inf
    keywords = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 2}
    dx = conv.conv2d_grad_input(cp.asarray(g), cp.ones((2, 1, 3, 3), np.float32), input_shape=(1, 2, 8, 8), **keywords).get()
    reached = np.zeros((8, 8), bool)
    reached[1:4, 1:4] = True
    np.testing.assert_array_equal(np.isinf(dx[0, 0]), reached)
    assert np.isfinite(dx[0, 0][~reached]).all() and np.isfinite(dx[0, 1]).all()
