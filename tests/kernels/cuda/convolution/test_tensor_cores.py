"""Convolutions on tensor cores against NumPy, tap by tap in float64, from the same rounded operands."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cuda.convolution.configurations import TILES, WARP_TILES, WARPGROUP_TILES

from lucid.backends import cudnn

DTYPES = {"tf32": np.float32, "exact": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
#: Of the largest result: what sums in float32 and the rounding of the result leave.
TOLERANCE = {"tf32": 3e-6, "exact": 2e-6, "float16": 6e-4, "bfloat16": 5e-3}
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
    if kind in ("float64", "exact"):
        return array
    if kind != "tf32":
        return array.astype(DTYPES[kind]).astype(np.float64)
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def reference(x, weight, bias, g, kind, *, stride, padding, dilation, groups):
    """The output and the gradients of input and weight, in float64, of factors that are rounded to a kind."""
    x, weight, g = (rounded(each, kind) for each in (x, weight, g))
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
    """x, weight, bias, g as numbers of the dtype of a kind, and the keywords."""
    shape, outs, kernel, stride, padding, dilation, groups = CASES[case]
    rng = np.random.default_rng(7)
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1
           for n, k, s, p, d in zip(shape[2:], kernel, stride, padding, dilation, strict=True)]  # fmt: skip
    shapes = shape, (outs, shape[1] // groups, *kernel), (outs,), (shape[0], outs, *out)
    keywords = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return [rng.standard_normal(each).astype(DTYPES[kind]).astype(np.float64) for each in shapes], keywords


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
    """Product, with ReLU too, input gradient and weight gradient with a tile and a number of slices."""
    (x, weight, bias, g), keywords = data(case, kind)
    y, dx, dw = reference(x, weight, bias, g, kind, **keywords)
    residual = np.random.default_rng(8).standard_normal(y.shape).astype(DTYPES[kind]).astype(np.float64)
    geometry = tensor_cores.geometry_of(x.shape, weight.shape, **keywords)
    x_, g_, residual_ = (on_device(cp, each, kind, last) for each in (x, g, residual))
    weight_, bias_ = (on_device(cp, each, kind) for each in (weight, bias))
    y_, dx_, dw_ = fresh(cp, y.shape, kind, last), fresh(cp, x.shape, kind, last), fresh(cp, weight.shape, kind, False)
    with cudnn.flags(allow_tf32=kind != "exact"):
        tensor_cores.product(x_, weight_, bias_, y_, geometry, False, tile, slices)
        close(y_, y, kind)
        tensor_cores.product(x_, weight_, bias_, y_, geometry, False, tile, slices, relu=True, residual=residual_)
        close(y_, np.maximum(y + residual, 0), kind)
        tensor_cores.product(g_, weight_, None, dx_, geometry, True, tile, slices)
        close(dx_, dx, kind)
        if tile in WARP_TILES or kind != "tf32":
            tensor_cores.grad_weight(g_, x_, dw_, geometry, tile, slices)
            close(dw_, dw, kind)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(cp, tensor_cores, case, kind, last):
    check(cp, tensor_cores, case, kind, last, WARP_TILES[-1], 1 if last else 2)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_tiles(cp, tensor_cores, tile, kind, last):
    if kind == "exact" and tile not in WARP_TILES[1:]:
        pytest.skip("not compiled: its registers would not suffice")
    if tile in WARPGROUP_TILES and not tensor_cores.warpgroups():
        pytest.skip("needs wgmma")
    check(cp, tensor_cores, "whole slabs", kind, last, tile, 2 if last else 3)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("kind", ["tf32", "exact", "bfloat16"])
def test_orders(cp, schedule, tensor_cores, kind, last):
    check(cp, tensor_cores, "groups", kind, last, WARP_TILES[-1], 2)
    check(cp, tensor_cores, "whole slabs", kind, last, WARP_TILES[-1], 1)


@pytest.mark.parametrize("kind", ["tf32", "exact"])
def test_numbers_that_are_not_finite(cp, tensor_cores, kind):
    """A NaN stays one whatever its bits are, an infinity does not become one, and TF32 rounds no finite number to inf."""
    x = np.zeros((6, 8, 4, 4), np.float32)
    x.view(np.uint32)[range(4), range(4), 0, 0] = 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0x7FC00000
    x[4, 4, 3, 3] = np.inf
    largest = x[5, 5, 3, 3] = np.finfo(np.float32).max
    weight = np.zeros((16, 8, 1, 1), np.float32)
    weight[range(8), range(8)] = 1
    keywords = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    geometry = tensor_cores.geometry_of(x.shape, weight.shape, **keywords)
    for last in (False, True):
        x_ = on_device(cp, x, kind, last)
        y_, dw_ = fresh(cp, (6, 16, 4, 4), kind, last), fresh(cp, weight.shape, kind, False)
        with cudnn.flags(allow_tf32=kind != "exact"):
            tensor_cores.product(x_, cp.asarray(weight), None, y_, geometry, False, WARP_TILES[-1], 1)
            y = y_.get()
            tensor_cores.product(x_, cp.asarray(-weight), None, y_, geometry, False, WARP_TILES[-1], 1, relu=True)
            positive = y_.get()
            tensor_cores.grad_weight(cp.ones((6, 16, 4, 4), np.float32), x_, dw_, geometry, WARP_TILES[-1], 1)
            dw = dw_.get()
        assert np.isnan(y[:4, :, 0, 0]).all()  # NaN times 1 or 0
        assert y[4, 4, 3, 3] == np.inf
        assert np.isnan(positive[:4, :, 0, 0]).all() and positive[4, 4, 3, 3] == 0 and not (positive < 0).any()
        assert np.isnan(dw[:, :4]).all() and np.isposinf(dw[:, 4]).all() and not dw[:, 6:].any()
        if kind == "exact":
            assert y[5, 5, 3, 3] >= 0.999 * largest and np.isfinite(dw[:, 5]).all()


def test_exact_products_are_as_exact_as_those_without_tensor_cores(cp, tensor_cores):
    from lucid_kernels.cuda.convolution import conv2d

    rng = np.random.default_rng(0)
    x, weight, g = (rng.standard_normal(shape) for shape in ((2, 96, 8, 8), (24, 96, 3, 3), (2, 24, 8, 8)))
    x, weight, g = (each.astype(np.float32).astype(np.float64) for each in (x, weight, g))
    keywords = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    wanted = reference(x, weight, None, g, "float64", **keywords)
    x_, weight_, g_ = (on_device(cp, each, "exact") for each in (x, weight, g))
    found = [fresh(cp, each.shape, "exact", False) for each in wanted]
    geometry = tensor_cores.geometry_of(x.shape, weight.shape, **keywords)
    with cudnn.flags(allow_tf32=False):
        tensor_cores.product(x_, weight_, None, found[0], geometry, False, WARP_TILES[-1], 1)
        tensor_cores.product(g_, weight_, None, found[1], geometry, True, WARP_TILES[-1], 1)
        tensor_cores.grad_weight(g_, x_, found[2], geometry, WARP_TILES[-1], 1)
    others = (conv2d.simt_conv2d(x_, weight_, None, **keywords),
              conv2d.simt_conv2d_grad_input(g_, weight_, input_shape=x.shape, **keywords),
              conv2d.simt_conv2d_grad_weight(g_, x_, weight_shape=weight.shape, **keywords))
    for got, other, exact in zip(found, others, wanted, strict=True):
        errors = [np.linalg.norm(each.get() - exact) / np.linalg.norm(exact) for each in (got, other)]
        assert errors[0] < max(1.5 * errors[1], 2e-7), errors


def test_pixels_out_of_reach_have_no_gradient_even_from_nan(cp, tensor_cores):
    """The stride jumps over odd pixels: a NaN weight must not reach them."""
    dx = tensor_cores.convolve_grad_input(
        cp.ones((1, 16, 2, 2), np.float32), cp.full((16, 16, 1, 1), np.nan, np.float32), input_shape=(1, 16, 4, 4),
        stride=(2, 2), padding=(0, 0), dilation=(1, 1), groups=1).get()  # fmt: skip
    np.testing.assert_array_equal(np.isnan(dx[0, 0]), np.outer([1, 0, 1, 0], [1, 0, 1, 0]))
    assert not np.nan_to_num(dx).any()


@pytest.mark.parametrize("kind", ["tf32", "float16", "bfloat16"])
def test_layouts_and_out(cp, tensor_cores, kind):
    """Views with any strides, results in given memory, a weight with the channels last; results lie as the input does."""
    from lucid_kernels.cuda.convolution import conv2d, layout

    (x, weight, bias, g), keywords = data("groups", kind)
    y, dx, dw = reference(x, weight, bias, g, kind, **keywords)
    first = [on_device(cp, each, kind) for each in (x, weight, bias, g)]

    def strided(array):
        wide = np.full((*array.shape[:-1], 2 * array.shape[-1]), np.nan)
        wide[..., ::2] = array
        return on_device(cp, wide, kind)[..., ::2]

    for make in (lambda shape: None, lambda shape: fresh(cp, shape, kind, False), lambda shape: strided(np.full(shape, np.nan))):
        for x_, weight_, bias_, g_ in (first, [strided(each) for each in (x, weight, bias, g)],
                                       [on_device(cp, each, kind, each.ndim > 1) for each in (x, weight, bias, g)]):  # fmt: skip
            out = make(y.shape)
            found = conv2d.conv2d(x_, weight_, bias_, out=out, **keywords)
            assert (out is None or found is out) and found.dtype == DTYPES[kind]
            assert layout.is_channels_last(found) == (out is None and layout.is_channels_last(x_))
            close(found, y, kind)
            found = conv2d.conv2d_grad_input(g_, weight_, input_shape=x.shape, out=make(x.shape), **keywords)
            close(found, dx, kind)
            found = conv2d.conv2d_grad_parameters(g_, x_, weight_shape=weight.shape, out=(make(weight.shape), None), **keywords)
            close(found[0], dw, kind)
            close(found[1], g.sum((0, 2, 3)), kind)
            both = conv2d.conv2d_grad(g_, x_, weight_, with_bias=False, out=(make(x.shape), make(weight.shape), None), **keywords)
            close(both[0], dx, kind)
            close(both[1], dw, kind)
            assert both[2] is None


@pytest.mark.parametrize(("kind", "groups", "first", "packs"), [
    ("bfloat16", 1, 0, False), ("float16", 2, 0, False), ("bfloat16", 1, 1, True), ("tf32", 1, 0, True)])
def test_a_weight_that_lies_as_it_is_read(cp, tensor_cores, monkeypatch, kind, groups, first, packs):
    """With its channels last, whole tiles of them at an address of 16, a weight is not packed."""
    rng, packed = np.random.default_rng(0), []
    x, weight, g = (rng.standard_normal(shape).astype(DTYPES[kind]).astype(np.float64)
                    for shape in ((2, 16 * groups, 5, 6), (64 * groups, 16, 3, 3), (2, 64 * groups, 5, 6)))
    keywords = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": groups}
    y, dx, _ = reference(x, weight, None, g, kind, **keywords)
    flat = np.concatenate([np.zeros(first), np.moveaxis(weight, 1, -1).reshape(-1)])
    weight_ = on_device(cp, flat, kind)[first:].reshape(64 * groups, 3, 3, 16).transpose(0, 3, 1, 2)
    pack = tensor_cores.pack
    monkeypatch.setattr(tensor_cores, "pack", lambda *given: packed.append(given[3]) or pack(*given))
    geometry, tile = tensor_cores.geometry_of(x.shape, weight.shape, **keywords), WARP_TILES[-1]
    y_, dx_ = fresh(cp, y.shape, kind, True), fresh(cp, x.shape, kind, True)
    tensor_cores.product(on_device(cp, x, kind, True), weight_, None, y_, geometry, False, tile, 1)
    close(y_, y, kind)
    tensor_cores.product(on_device(cp, g, kind, True), weight_, None, dx_, geometry, True, tile, 1)
    close(dx_, dx, kind)
    assert packed == [False] * packs + [True]


def test_a_view_that_begins_anywhere(cp, tensor_cores):
    """Copies of 16 bytes want addresses of 16: a view with the channels last that has none is brought into order."""
    from lucid_kernels.cuda.convolution import layout

    (x, weight, _, _), keywords = data("1x1", "bfloat16")
    y = reference(x, weight, None, np.zeros((2, 66, 5, 7)), "bfloat16", **keywords)[0]
    flat = np.concatenate([[0.0], np.moveaxis(x, 1, -1).reshape(-1)])
    view = on_device(cp, flat, "bfloat16")[1:].reshape(2, 5, 7, 40).transpose(0, 3, 1, 2)
    assert layout.is_channels_last(view) and view.data.ptr % 16
    close(tensor_cores.convolve(view, on_device(cp, weight, "bfloat16"), None, **keywords), y, "bfloat16")


@pytest.mark.parametrize("kind", ["tf32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_both_gradients_at_once_have_the_bits_of_each(cp, tensor_cores, name, kind, monkeypatch):
    from lucid_kernels.cuda.convolution import conv2d, layout

    (x, weight, _, g), keywords = data(name, kind)
    if x.ndim != 4:
        return
    for last in (False, True):
        g_, x_, weight_ = (on_device(cp, each, kind, last) for each in (g, x, weight))
        alone = (conv2d.conv2d_grad_input(g_, weight_, input_shape=x.shape, **keywords),
                 conv2d.conv2d_grad_weight(g_, x_, weight_shape=weight.shape, **keywords))
        both = conv2d.conv2d_grad(g_, x_, weight_, with_bias=False, **keywords)
        for found, expected in zip(both, alone, strict=False):
            np.testing.assert_array_equal(found.get().astype(np.float64), expected.get().astype(np.float64))
        assert both[0].strides == alone[0].strides
        assert layout.is_channels_last(both[1]) == (last and layout.is_channels_last(weight_))


@pytest.mark.parametrize("kind", ["tf32", "float16", "bfloat16"])
def test_a_weight_that_was_packed_before(cp, tensor_cores, kind):
    """Gives the same bits for another input of the same shape; the weight itself is not read then."""
    for name in ("3x3", "groups"):
        (x, weight, bias, _), keywords = data(name, kind)
        first, weight, bias = (on_device(cp, each, kind) for each in (x, weight, bias))
        packed = tensor_cores.packed_for(first, weight, **keywords)
        other = on_device(cp, x[::-1].copy(), kind)
        expected = tensor_cores.convolve(other, weight, bias, relu=True, **keywords).get()
        empty = cp.asarray(np.full(weight.shape, np.nan, DTYPES[kind]))
        found = tensor_cores.convolve(other, empty, bias, relu=True, packed=packed, **keywords).get()
        np.testing.assert_array_equal(found, expected)
        assert np.isfinite(found.astype(np.float32)).all()


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("kind", DTYPES)
def test_products_of_matrices(cp, tensor_cores, kind, last):
    """Kernels of one element, by cuBLAS where rows begin at multiples of 16 bytes."""
    from lucid_kernels.cuda.convolution import layout, pointwise

    rng = np.random.default_rng(0)
    x, weight, g = (rng.standard_normal(shape).astype(DTYPES[kind]).astype(np.float64)
                    for shape in ((3, 40, 4, 6), (24, 40, 1, 1), (3, 24, 4, 6)))  # fmt: skip
    keywords = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    y, dx, dw = reference(x, weight, None, g, kind, **keywords)
    x_, g_ = (on_device(cp, each, kind, last) for each in (x, g))
    weight_ = on_device(cp, weight, kind)
    geometry = tensor_cores.geometry_of(x.shape, weight.shape, **keywords)
    with cudnn.flags(allow_tf32=kind != "exact"):
        assert (pointwise.convolve(x_, weight_, geometry, None) is None) == (kind == "exact")
        assert (pointwise.convolve_grad_weight(g_, x_, geometry, None) is None) == (kind == "exact" or not (last or kind == "tf32"))
        if kind == "exact":
            return
        found = tensor_cores.convolve(x_, weight_, None, **keywords)
        assert layout.is_channels_last(found) == last
        # cuBLAS rounds to TF32 as it likes.
        near = "bfloat16" if kind == "tf32" else kind
        close(found, y, near)
        close(tensor_cores.convolve_grad_input(g_, weight_, input_shape=x.shape, **keywords), dx, near)
        close(tensor_cores.convolve_grad_weight(g_, x_, weight_shape=weight.shape, **keywords), dw, near)
        if not last:
            out = fresh(cp, y.shape, kind, False)
            assert tensor_cores.convolve(x_, weight_, None, out=out, **keywords) is out
            close(out, y, near)
    strided = geometry._replace(stride=(1, 2, 2))
    padded = geometry._replace(padding=(0, 1, 0))
    grouped = geometry._replace(groups=2)
    odd = geometry._replace(in_channels=41)
    for other in (strided, padded, grouped, odd):
        assert pointwise.convolve(x_, weight_, other, None) is None
    few = geometry._replace(in_size=(1, 2, 2))  # pixels of an image: its gradient would be larger
    assert (pointwise.convolve_grad_weight(g_, x_, few, None) is None) == (not last)


def test_more_tiles_than_blocks(cp, tensor_cores, monkeypatch):
    """Few blocks bring the channels last, several tiles each."""
    monkeypatch.setattr(tensor_cores.launch, "_BLOCKS_PER_SM", 1)
    check_packing(cp, tensor_cores)


def check_packing(cp, tensor_cores):
    x = np.random.default_rng(0).standard_normal((9, 2 * 33, 6, 7)).astype(np.float16)
    packed, padded = tensor_cores._channels_last(cp.asarray(x), 2)
    expected = np.pad(x.reshape(9, 2, 33, 42), ((0, 0), (0, 0), (0, 7), (0, 0))).transpose(0, 3, 1, 2)
    assert padded == 40
    np.testing.assert_array_equal(packed.get().reshape(9, 42, 2, 40), expected)


def test_taps_that_lie_far_apart(cp, tensor_cores):
    """Convolutions and input gradients know no limit, the weight gradient does."""
    for size, dilation, served in ((600, 4, True), (4200, 4195, False)):
        x, weight = cp.ones((1, 8, 1, size), np.float16), cp.ones((8, 8, 1, 2), np.float16)
        keywords = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, dilation), "groups": 1}
        y = tensor_cores.convolve(x, weight, None, **keywords)
        assert (y.get() == 16).all()
        dw = tensor_cores.convolve_grad_weight(y, x, weight_shape=weight.shape, **keywords)
        assert (dw is not None) == served
        if served:
            assert (dw.get() == np.float16(16 * y.shape[-1])).all()


def test_what_serves(cp, tensor_cores):
    def serve(dtype, channels=64, outs=64, groups=1, size=(8, 8), batch=1):
        geometry = tensor_cores.geometry_of(
            (batch, channels, *size), (outs, channels // groups, 3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=groups
        )
        return tensor_cores.serve(np.dtype(dtype), geometry)

    assert serve(np.float32) and serve(np.float16) and serve(ml_dtypes.bfloat16) and not serve(np.float64)
    assert not serve(np.float32, groups=64)  # depthwise
    assert not serve(np.float32, channels=0)
    assert serve(np.float32, size=(5000, 5000)) and not serve(np.float32, size=(6000, 6000))  # 2**31 elements
    with cudnn.flags(allow_tf32=False):
        assert serve(np.float32) and serve(np.float16)


def test_a_sum_of_slices_has_one_order(cp, tensor_cores):
    (x, weight, bias, g), keywords = data("whole slabs", "tf32")
    geometry = tensor_cores.geometry_of(x.shape, weight.shape, **keywords)
    results = []
    for _ in range(2):
        y = fresh(cp, g.shape, "tf32", False)
        tensor_cores.product(
            *(on_device(cp, each, "tf32") for each in (x, weight, bias)), y, geometry, False, WARP_TILES[-1], 4
        )
        results.append(y.get())
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("name", ["conv2d", "conv3d"])
def test_operations(cp, tensor_cores, name):
    """The public functions: TF32 where it is allowed, float32 where not, and 16-bit elements."""
    import lucid
    from lucid.nn import functional as F

    (x, weight, bias, g), keywords = data("3x3" if name == "conv2d" else "volume", "tf32")
    expected = reference(x, weight, bias, g, "float64", **keywords)
    errors = {}
    for dtype, allowed in ((lucid.float32, True), (lucid.float32, False), (lucid.bfloat16, False)):
        with cudnn.flags(allow_tf32=allowed):
            x_, w_, b_ = (lucid.tensor(each, dtype=dtype, device="gpu").requires_grad_() for each in (x, weight, bias))
            y = getattr(F, name)(x_, w_, b_, **keywords)
            y.backward(lucid.tensor(g, dtype=dtype, device="gpu"))
        found = [each.detach().float().cpu().numpy() for each in (y, x_.grad, w_.grad)]
        errors[dtype, allowed] = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, expected, strict=True))
    assert errors[lucid.float32, False] < 2e-6 < 1e-4 < errors[lucid.float32, True] < 1e-3
    assert 1e-3 < errors[lucid.bfloat16, False] < 1e-2
