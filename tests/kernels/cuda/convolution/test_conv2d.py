"""The CUDA convolution kernels against NumPy, tap by tap in float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

TOLERANCE = {"float64": 1e-12, "float32": 2e-5}
# (batch, channels, height, width), out channels, kernel, stride, padding, dilation, groups
CASES = {
    "3x3": ((2, 3, 7, 9), 5, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "tile": ((2, 16, 9, 8), 24, (3, 2), (2, 3), (1, 2), (2, 1), 2),
    "depthwise": ((3, 12, 11, 10), 12, (3, 3), (2, 2), (1, 1), (1, 1), 12),
    "depthwise, long sum": ((3, 2, 12, 11), 2, (3, 3), (1, 1), (1, 1), (1, 1), 2),
    "pairs of channels": ((3, 8, 11, 10), 8, (3, 3), (2, 2), (1, 1), (1, 1), 4),
    "pairs of channels, long sum": ((3, 2, 12, 11), 2, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "multiplier": ((1, 4, 6, 5), 8, (2, 3), (1, 2), (0, 1), (1, 1), 4),
    "1x1, two tiles each way": ((3, 70, 5, 5), 66, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "stride beyond the kernel": ((2, 9, 12, 12), 9, (3, 3), (4, 4), (0, 0), (2, 2), 1),
    "input not covered": ((2, 10, 8, 9), 8, (2, 2), (3, 5), (1, 1), (1, 1), 1),
    "patches": ((1, 9, 8, 8), 9, (4, 4), (4, 4), (0, 0), (1, 1), 1),
    "one output": ((1, 8, 4, 4), 8, (4, 4), (1, 1), (0, 0), (1, 1), 1),
    "few in, many out": ((2, 2, 6, 6), 17, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "split sum": ((6, 2, 19, 18), 9, (2, 2), (1, 1), (0, 0), (1, 1), 1),
}


@pytest.fixture
def conv(cp):
    from lucid_kernels.cuda.convolution import conv2d

    return conv2d


def taps(shape, kernel, out_hw, stride, dilation):
    """For each tap (i, j) the slices of the padded image that it sees."""
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            begin = i * dilation[0], j * dilation[1]
            yield i, j, *(slice(b, b + s * (n - 1) + 1, s) for b, s, n in zip(begin, stride, out_hw, strict=True))


def reference(x, weight, bias, g_seed, stride, padding, dilation, groups):
    """y, a gradient g of its shape, and the gradients of x and weight, all float64."""
    batch, channels, height, width = x.shape
    outs, _, *kernel = weight.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    out_hw = [(padded.shape[2 + a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)]
    split = padded.reshape(batch, groups, channels // groups, *padded.shape[2:])
    w = weight.reshape(groups, outs // groups, channels // groups, *kernel)
    y = np.zeros((batch, groups, outs // groups, *out_hw))
    g = np.random.default_rng(g_seed).standard_normal(y.shape)
    d_split, dw = np.zeros_like(split), np.zeros_like(w)
    for i, j, rows, columns in taps(x.shape, kernel, out_hw, stride, dilation):
        seen = split[..., rows, columns]
        y += np.einsum("ngchw,goc->ngohw", seen, w[..., i, j])
        dw[..., i, j] = np.einsum("ngohw,ngchw->goc", g, seen)
        d_split[..., rows, columns] += np.einsum("ngohw,goc->ngchw", g, w[..., i, j])
    dx = d_split.reshape(padded.shape)[..., padding[0] : padding[0] + height, padding[1] : padding[1] + width]
    y = y.reshape(batch, outs, *out_hw) + (0 if bias is None else bias[:, None, None])
    return y, g.reshape(y.shape), dx, dw.reshape(weight.shape)


def data(case):
    shape, outs, kernel, *_, groups = CASES[case]
    rng = np.random.default_rng(7)
    return (
        rng.standard_normal(shape),
        rng.standard_normal((outs, shape[1] // groups, *kernel)),
        rng.standard_normal(outs),
    )


def attributes(case):
    return dict(zip(("stride", "padding", "dilation", "groups"), CASES[case][3:], strict=True))


def close(actual, expected, tolerance):
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(actual.get().astype(np.float64), expected, rtol=0, atol=tolerance * scale)


def same(expected, found):
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a.get().astype(np.float64), b.get().astype(np.float64))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(cp, schedule, conv, case, dtype):
    x, weight, bias = data(case)
    keywords = attributes(case)
    y, g, dx, dw = reference(x, weight, bias, 1, **keywords)
    x_, weight_, bias_, g_ = (cp.asarray(a.astype(dtype)) for a in (x, weight, bias, g))
    result = conv.conv2d(x_, weight_, bias_, **keywords)
    assert result.dtype == dtype and result.shape == y.shape
    close(result, y, TOLERANCE[dtype])
    close(conv.conv2d(x_, weight_, None, **keywords), y - bias[:, None, None], TOLERANCE[dtype])
    close(conv.conv2d_grad_input(g_, weight_, input_shape=x.shape, **keywords), dx, TOLERANCE[dtype])
    close(conv.conv2d_grad_weight(g_, x_, weight_shape=weight.shape, **keywords), dw, TOLERANCE[dtype])
    both = conv.conv2d_grad_parameters(g_, x_, weight_shape=weight.shape, **keywords)
    assert both[1].dtype == dtype
    close(both[0], dw, TOLERANCE[dtype])
    close(both[1], g.sum((0, 2, 3)), 10 * TOLERANCE[dtype])
    same([conv.conv2d_grad_input(g_, weight_, input_shape=x.shape, **keywords), *both],
         conv.conv2d_grad(g_, x_, weight_, with_bias=True, **keywords))


@pytest.mark.parametrize("case", ["3x3", "tile", "split sum"])
def test_strides_and_out(cp, schedule, conv, case):
    x, weight, bias = data(case)
    keywords = attributes(case)
    y, g, dx, dw = reference(x, weight, bias, 1, **keywords)

    def strided(array):
        wide = np.empty((*array.shape[:-1], 2 * array.shape[-1]))
        wide[..., ::2] = array
        return cp.asarray(wide)[..., ::2]

    for make in (cp.empty, lambda shape: cp.empty((*shape[:-1], 2 * shape[-1]))[..., ::2]):
        out = make(y.shape)
        assert conv.conv2d(strided(x), strided(weight), strided(bias), out=out, **keywords) is out
        close(out, y, 1e-12)
        dx_out = make(x.shape)
        assert conv.conv2d_grad_input(strided(g), strided(weight), input_shape=x.shape, out=dx_out, **keywords) is dx_out
        close(dx_out, dx, 1e-12)
        out = make(weight.shape)
        assert conv.conv2d_grad_weight(strided(g), strided(x), weight_shape=weight.shape, out=out, **keywords) is out
        close(out, dw, 1e-12)
        both = make(weight.shape), make(bias.shape)
        given = conv.conv2d_grad_parameters(strided(g), strided(x), weight_shape=weight.shape, out=both, **keywords)
        assert given[0] is both[0] and given[1] is both[1]
        close(both[0], dw, 1e-12)
        close(both[1], g.sum((0, 2, 3)), 1e-12)
        three = make(x.shape), make(weight.shape), make(bias.shape)
        given = conv.conv2d_grad(strided(g), strided(x), strided(weight), with_bias=True, out=three, **keywords)
        assert all(a is b for a, b in zip(given, three, strict=True))
        same([dx_out, *both], three)


@pytest.mark.parametrize("case", ["tile", "depthwise", "multiplier", "depthwise, long sum"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
def test_halves_are_rounded_once(cp, conv, dtype, case):
    keywords = attributes(case)
    x, weight, bias = (a.astype(dtype) for a in data(case))
    y, g, _, _ = reference(*(a.astype(np.float64) for a in (x, weight, bias)), 1, **keywords)
    g = g.astype(dtype)
    results = (
        conv.conv2d(cp.asarray(x), cp.asarray(weight), cp.asarray(bias), **keywords),
        conv.conv2d_grad_input(cp.asarray(g), cp.asarray(weight), input_shape=x.shape, **keywords),
        *conv.conv2d_grad_parameters(cp.asarray(g), cp.asarray(x), weight_shape=weight.shape, **keywords),
    )
    assert all(result.dtype == dtype for result in results)
    np.testing.assert_allclose(
        results[0].get().astype(np.float64), y, rtol=float(ml_dtypes.finfo(dtype).eps), atol=1e-4
    )


def test_empty(cp, conv):
    keywords = dict(stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1)
    for outs in (3, 16):  # direct, tiles
        weight, bias, x = cp.ones((outs, 9, 2, 2)), cp.ones(outs), cp.ones((0, 9, 4, 4))
        y = conv.conv2d(x, weight, bias, **keywords)
        assert y.shape == (0, outs, 3, 3)
        assert conv.conv2d_grad_input(y, weight, input_shape=x.shape, **keywords).shape == x.shape
        np.testing.assert_array_equal(conv.conv2d_grad_weight(y, x, weight_shape=weight.shape, **keywords).get(), 0)
    # no input channels: the sum is empty, the bias stays
    y = conv.conv2d(cp.ones((1, 0, 4, 4)), cp.ones((16, 0, 2, 2)), cp.full(16, 2.5), **keywords)
    np.testing.assert_array_equal(y.get(), np.full((1, 16, 3, 3), 2.5))


def test_pixels_out_of_reach_have_no_gradient_even_from_nan(cp, conv):
    """The stride jumps over odd pixels: a NaN weight must not reach them."""
    weight = cp.full((16, 16, 1, 1), np.nan)
    dx = conv.conv2d_grad_input(
        cp.ones((1, 16, 2, 2)),
        weight,
        input_shape=(1, 16, 4, 4),
        stride=(2, 2),
        padding=(0, 0),
        dilation=(1, 1),
        groups=1,
    ).get()
    np.testing.assert_array_equal(np.isnan(dx[0, 0]), np.outer([1, 0, 1, 0], [1, 0, 1, 0]))
    assert not np.nan_to_num(dx).any()


@pytest.mark.parametrize("case", CASES)
def test_same_as_cpu(cp, conv, case):
    cpu = pytest.importorskip("lucid_kernels.cpu.convolution.conv2d")
    x, weight, bias = data(case)
    keywords = attributes(case)
    _, g, _, _ = reference(x, weight, bias, 1, **keywords)
    close(conv.conv2d(cp.asarray(x), cp.asarray(weight), cp.asarray(bias), **keywords),
          cpu.conv2d(x, weight, bias, **keywords), 1e-12)  # fmt: skip
    close(conv.conv2d_grad_input(cp.asarray(g), cp.asarray(weight), input_shape=x.shape, **keywords),
          cpu.conv2d_grad_input(g, weight, input_shape=x.shape, **keywords), 1e-12)  # fmt: skip
    close(conv.conv2d_grad_weight(cp.asarray(g), cp.asarray(x), weight_shape=weight.shape, **keywords),
          cpu.conv2d_grad_weight(g, x, weight_shape=weight.shape, **keywords), 1e-12)  # fmt: skip
