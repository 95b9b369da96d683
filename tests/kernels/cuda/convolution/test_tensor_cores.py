"""Convolutions on tensor cores against NumPy, tap by tap in float64, from the same rounded operands."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cuda.convolution.configurations import TILES

from lucid.backends import cudnn

DTYPES = {"tf32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
#: Of the largest result: what sums in float32 and the rounding of the result leave.
TOLERANCE = {"tf32": 3e-6, "float16": 6e-4, "bfloat16": 5e-3}
# shape of the input, out channels, kernel, stride, padding, dilation, groups
CASES = {
    "3x3": ((2, 9, 7, 9), 17, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "groups": ((2, 24, 9, 8), 32, (3, 2), (2, 3), (1, 2), (2, 1), 2),
    "odd groups": ((2, 15, 6, 5), 27, (2, 3), (1, 1), (0, 1), (1, 1), 3),
    "stem": ((1, 3, 18, 19), 24, (7, 7), (2, 2), (3, 3), (1, 1), 1),
    "1x1": ((2, 40, 5, 7), 66, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "thin": ((2, 64, 9, 9), 33, (1, 1), (2, 2), (0, 0), (1, 1), 1),
    "whole slabs": ((2, 32, 6, 6), 70, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "stride beyond the kernel": ((2, 9, 12, 12), 9, (3, 3), (4, 4), (0, 0), (2, 2), 1),
    "input not covered": ((2, 10, 8, 9), 8, (2, 2), (3, 5), (1, 1), (1, 1), 1),
    "one output": ((1, 8, 4, 4), 8, (4, 4), (1, 1), (0, 0), (1, 1), 1),
    "dilated by its stride": ((1, 8, 9, 9), 16, (3, 3), (2, 3), (2, 3), (2, 3), 1),
    "volume": ((2, 6, 4, 5, 6), 20, (2, 3, 3), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
    "volumes in groups": ((1, 16, 5, 4, 3), 16, (3, 1, 2), (2, 1, 1), (0, 1, 1), (1, 2, 1), 2),
}


@pytest.fixture
def tensor_cores(cp):
    from lucid_kernels.cuda.convolution import tensor_cores

    if int(tensor_cores.capability()) < 80:
        pytest.skip("needs a GPU of compute capability 8.0 or later")
    with cudnn.flags(allow_tf32=True):
        yield tensor_cores


def rounded(array, kind):
    """To the nearest number of a kind, in float64."""
    if kind != "tf32":
        return array.astype(DTYPES[kind]).astype(np.float64)
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def reference(x, weight, bias, g, stride, padding, dilation, groups):
    """The output and the gradients of input and weight, in float64."""
    size, kernel = x.shape[2:], weight.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    split = padded.reshape(x.shape[0], groups, -1, *padded.shape[2:])
    w = weight.reshape(groups, -1, *weight.shape[1:])
    g = g.reshape(x.shape[0], groups, -1, *g.shape[2:])
    y, d_split, dw = np.zeros_like(g), np.zeros_like(split), np.zeros_like(w)
    for tap in itertools.product(*map(range, kernel)):
        seen = (..., *(slice(t * d, t * d + s * (n - 1) + 1, s)
                       for t, d, s, n in zip(tap, dilation, stride, g.shape[3:], strict=True)))  # fmt: skip
        y += np.einsum("ngc...,goc->ngo...", split[seen], w[(..., *tap)])
        d_split[seen] += np.einsum("ngo...,goc->ngc...", g, w[(..., *tap)])
        flat = (g.reshape(*g.shape[:3], -1), split[seen].reshape(*split.shape[:3], -1))
        dw[(..., *tap)] = np.einsum("ngop,ngcp->goc", *flat)
    inner = (..., *(slice(p, p + n) for p, n in zip(padding, size, strict=True)))
    dx = d_split.reshape(padded.shape)[inner]
    y = y.reshape(x.shape[0], -1, *y.shape[3:])
    return y + (0 if bias is None else bias.reshape(-1, *(1,) * len(size))), dx, dw.reshape(weight.shape)


def data(case, kind):
    """x, weight, bias, g as numbers of a kind, and the keywords."""
    shape, outs, kernel, stride, padding, dilation, groups = CASES[case]
    rng = np.random.default_rng(7)
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1
           for n, k, s, p, d in zip(shape[2:], kernel, stride, padding, dilation, strict=True)]  # fmt: skip
    shapes = shape, (outs, shape[1] // groups, *kernel), (outs,), (shape[0], outs, *out)
    keywords = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return [rounded(rng.standard_normal(each), kind) for each in shapes], keywords


def on_device(cp, array, kind, last=False):
    if not last:
        return cp.asarray(array.astype(DTYPES[kind]))
    return cp.asarray(np.ascontiguousarray(np.moveaxis(array, 1, -1)).astype(DTYPES[kind])).transpose(
        0, array.ndim - 1, *range(1, array.ndim - 1)
    )


def fresh(cp, shape, kind, last):
    """A result that is NaN where nothing is written."""
    return on_device(cp, np.full(shape, np.nan), kind, last)


def close(actual, expected, kind):
    error = np.abs(actual.get().astype(np.float64) - expected).max() / max(1.0, np.abs(expected).max())
    assert error < TOLERANCE[kind], error


def check(cp, tensor_cores, case, kind, last, tile, slices):
    """Product, input gradient and weight gradient with a tile and a number of slices."""
    (x, weight, bias, g), keywords = data(case, kind)
    y, dx, dw = reference(x, weight, bias, g, **keywords)
    geometry = tensor_cores.geometry_of(x.shape, weight.shape, **keywords)
    x_, g_ = (on_device(cp, each, kind, last) for each in (x, g))
    weight_, bias_ = (on_device(cp, each, kind) for each in (weight, bias))
    y_, dx_, dw_ = fresh(cp, y.shape, kind, last), fresh(cp, x.shape, kind, last), fresh(cp, weight.shape, kind, False)
    tensor_cores.product(x_, weight_, bias_, y_, geometry, False, tile, slices)
    close(y_, y, kind)
    tensor_cores.product(g_, weight_, None, dx_, geometry, True, tile, slices)
    close(dx_, dx, kind)
    tensor_cores.grad_weight(g_, x_, dw_, geometry, tile, slices)
    close(dw_, dw, kind)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(cp, tensor_cores, case, kind, last):
    check(cp, tensor_cores, case, kind, last, TILES[-1], 1 if last else 2)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_tiles(cp, tensor_cores, tile, kind, last):
    check(cp, tensor_cores, "whole slabs", kind, last, tile, 2 if last else 3)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("kind", ["tf32", "bfloat16"])
def test_orders(cp, schedule, tensor_cores, kind, last):
    check(cp, tensor_cores, "groups", kind, last, TILES[-1], 2)
    check(cp, tensor_cores, "whole slabs", kind, last, TILES[-1], 1)
