"""Winograd's convolution against direct convolution in float64, and PyTorch."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.convolution.channels_last import LANES, gather_band, scatter_band
from lucid_kernels.cpu.convolution.conv2d import (
    conv2d,
    conv2d_grad_input,
    conv2d_grad_weight,
    problem_of,
)
from lucid_kernels.cpu.convolution.direct import forward as direct_forward
from lucid_kernels.cpu.convolution.direct import grad_weight as direct_grad_weight
from lucid_kernels.cpu.convolution.implementations import FORWARD, GRAD_INPUT, GRAD_WEIGHT
from lucid_kernels.cpu.convolution.winograd import forward as winograd_forward
from lucid_kernels.cpu.convolution.winograd import grad_weight as winograd_grad_weight
from lucid_kernels.cpu.convolution.winograd import transforms as winograd_transforms
from lucid_kernels.cpu.convolution.winograd.products import LINES, MORE_ROWS, PANEL, VECTORS, multiply_panel
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from tests.kernels.cpu.assembly import of_float32

from .results import compute, kinds

# (input shape, output channels, padding)
CASES = {
    "one pixel": ((1, 1, 1, 1), 1, (1, 1)),
    "even sides": ((2, 3, 8, 6), 8, (1, 1)),
    "odd sides": ((3, 5, 7, 9), 9, (1, 1)),
    "no padding": ((2, 4, 9, 10), 7, (0, 0)),
    "one output": ((2, 4, 3, 3), 7, (0, 0)),
    "wide padding": ((2, 3, 5, 6), 17, (2, 2)),
    "paddings beyond the taps": ((2, 3, 3, 4), 8, (4, 3)),
    "paddings of two kinds": ((2, 3, 6, 5), 8, (0, 2)),
    "rows longer than a vector": ((2, 3, 5, 79), 8, (1, 1)),
    "two columns": ((2, 3, 40, 2), 8, (1, 1)),
    "tiles of many images in a block": ((70, 2, 2, 3), 3, (1, 1)),
    "several sums of channels": ((2, 70, 9, 8), 24, (1, 1)),
    "several tasks": ((4, 33, 28, 27), 40, (1, 1)),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture
def always(monkeypatch):
    """Small convolutions take Winograd's way too."""
    for name in ("LEAST_CHANNELS", "LEAST_PAIRS", "LEAST_TILES"):
        monkeypatch.setattr(tuning, f"WINOGRAD_{name}", 1)
    for name in ("FEW_POSITIONS", "FEW_POSITIONS_OF_LARGE_WEIGHT"):
        monkeypatch.setattr(tuning, f"WINOGRAD_{name}", 0)


def data(case: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """x, weight, bias, an upstream gradient, and the attributes."""
    (samples, channels, height, width), outputs, padding = case
    rng = np.random.default_rng(0)
    sides = (height + 2 * padding[0] - 2, width + 2 * padding[1] - 2)
    shapes = ((samples, channels, height, width), (outputs, channels, 3, 3), (outputs,), (samples, outputs, *sides))
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    return *arrays, {"stride": (1, 1), "padding": padding, "dilation": (1, 1), "groups": 1}


def check(case: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, ...]:
    *arrays, attributes = data(case)
    x, weight, _, g = arrays
    before = [array.copy() for array in arrays]
    wanted = compute(*(array.astype(np.float64) for array in arrays), attributes)
    with monkeypatch.context() as patch:  # nothing falls back on direct convolution
        for module, name in ((direct_forward, "convolve"), (direct_forward, "grad_input"), (direct_grad_weight, "grad_weight")):
            patch.setattr(module, name, None)
        results = compute(*arrays, attributes)
    np.testing.assert_array_equal(conv2d_grad_weight(g, x, weight_shape=weight.shape, **attributes), results[2])
    sums = g.size // g.shape[1]
    for got, want, terms in zip(results, wanted, (9 * x.shape[1], 9 * weight.shape[0], sums, sums)):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6 * max(1, terms) ** 0.5)
    for array, old in zip(arrays, before):
        np.testing.assert_array_equal(array, old)
    return results


@each_case
def test_against_float64(case, always, monkeypatch):
    check(case, monkeypatch)


@pytest.mark.parametrize("limits", [{"_CHANNELS": 3}, {"_TASK_BYTES": 1, "_LEAST_TASK": 1}, {"_TASKS": 1}, {"_TASKS": 100},
                                    {"_LARGE_WEIGHT_BYTES": 0}, {"_TILES_BYTES": 1}, {"_BLOCK": 1}], ids=str)
@each_case
def test_cuts_do_not_show(case, limits, always, monkeypatch):
    for module in (winograd_forward, winograd_grad_weight):
        monkeypatch.setattr(module, "_plan", module._plan.__wrapped__)  # nothing that other limits led to
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value, raising=False)
    check(case, monkeypatch)


def test_does_not_depend_on_threads(always, monkeypatch):
    whole = check(CASES["several tasks"], monkeypatch)
    before = get_num_threads()
    set_num_threads(1)
    try:
        for got, want in zip(check(CASES["several tasks"], monkeypatch), whole):
            np.testing.assert_array_equal(got, want)
    finally:
        set_num_threads(before)


def test_strides_and_out(always):
    x, weight, bias, g, attributes = data(CASES["odd sides"])
    wanted = conv2d(x, weight, bias, **attributes)
    out = np.full((*wanted.shape, 2), np.nan, np.float32)[..., 0]
    strided = [np.repeat(array, 2, axis=-1)[..., ::2] for array in (x, weight, bias)]
    assert conv2d(*strided, **attributes, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    wanted = conv2d_grad_input(g, weight, input_shape=x.shape, **attributes)
    dweight = conv2d_grad_weight(g, x, weight_shape=weight.shape, **attributes)
    out = np.full((*weight.shape, 2), np.nan, np.float32)[..., 0]
    assert conv2d_grad_weight(np.asfortranarray(g), np.asfortranarray(x), weight_shape=weight.shape, **attributes, out=out) is out
    np.testing.assert_array_equal(out, dweight)
    turned = np.ascontiguousarray(weight.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    np.testing.assert_array_equal(conv2d_grad_input(g, turned, input_shape=x.shape, **attributes), wanted)


PIXELS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "largest": np.finfo(np.float32).max}


@pytest.mark.parametrize("place", [(0, 0), (2, 3), (6, 8)], ids=str)
@pytest.mark.parametrize("pixel", PIXELS.values(), ids=PIXELS)
def test_nan_and_inf_reach_what_they_reach_directly(pixel, place, always, monkeypatch, forget_choices):
    """Not their whole tile; infinite numbers stay infinite, and what overflows in the transforms only does not overflow."""
    x, weight, bias, g, attributes = data(CASES["odd sides"])
    weight *= 0.1
    x[1, 2][place] = g[2, 4][place] = pixel
    g[1], x[2] = g[1] * 0.1, x[2] * 0.1
    results = compute(x, weight, bias, g, attributes)
    monkeypatch.setattr(tuning, "WINOGRAD_LEAST_CHANNELS", 100)
    forget_choices()
    wanted = compute(x, weight, bias, g, attributes)
    # A gradient of the weight adds up all pixels: errors are relative to the largest, also in taps that it does not meet.
    largest = np.abs(wanted[2][np.isfinite(wanted[2])]).max()
    for got, want, scale in zip(results, wanted, (1, 1, largest, 1)):
        np.testing.assert_array_equal(kinds(got), kinds(want))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * scale)
    for got, image in zip(results, (1, 2)):
        assert np.isfinite(np.delete(got, image, 0)).all()
        assert np.isfinite(got).all() == (pixel == PIXELS["largest"])


def test_large_weights_have_larger_tasks(always, monkeypatch):
    """Which share the outputs."""
    results = check(CASES["several tasks"], monkeypatch)
    monkeypatch.setattr(winograd_forward, "_LARGE_WEIGHT_BYTES", 0)
    monkeypatch.setattr(winograd_forward, "_plan", winograd_forward._plan.__wrapped__)
    for got, wanted in zip(check(CASES["several tasks"], monkeypatch), results):
        np.testing.assert_array_equal(got, wanted)


def test_tasks_that_sum_over_all_tiles(always, monkeypatch):
    """They transform their blocks of the weight gradient themselves."""
    monkeypatch.setattr(winograd_grad_weight, "_TASKS", 1)
    monkeypatch.setattr(winograd_grad_weight, "_plan", winograd_grad_weight._plan.__wrapped__)
    check(CASES["several sums of channels"], monkeypatch)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_inf_in_weight_and_bias(bad, always):
    x, weight, bias, _, attributes = data(CASES["odd sides"])
    x[:, 1, 2, 2] = 0  # 0 times inf is NaN, other products are infinite
    weight[3, 1, 1, 2], bias[7] = bad, bad
    with np.errstate(invalid="ignore"):
        wide = conv2d(*(array.astype(np.float64) for array in (x, weight, bias)), **attributes)
    got = conv2d(x, weight, bias, **attributes)
    np.testing.assert_array_equal(kinds(got), kinds(wide))
    assert np.isfinite(np.delete(got, (3, 7), 1)).all()


def test_nan_and_inf_like_torch(always):
    torch = pytest.importorskip("torch")
    x, weight, bias, _, attributes = data(CASES["even sides"])
    x[0, 1, 2, 3], x[1, 0, 7, 5], x[1, 2, 0, 0] = np.inf, -np.inf, np.nan
    wanted = torch.nn.functional.conv2d(*map(torch.tensor, (x, weight, bias)), **attributes)
    got = conv2d(x, weight, bias, **attributes)
    np.testing.assert_array_equal(kinds(got), kinds(wanted.numpy()))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("channels", "side"), [(32, 28), (64, 28), (256, 14), (512, 7)])
@pytest.mark.parametrize("mean", [0, 1])
def test_errors_are_at_most_twice_those_of_torch(channels, side, mean):
    """The root of the mean square error, and the largest, with pixels of both signs and with pixels around 1."""
    torch = pytest.importorskip("torch")
    x, weight, bias, _, attributes = data(((2, channels, side, side), 64, (1, 1)))
    x += np.float32(mean)
    exact = torch.nn.functional.conv2d(*(torch.tensor(array).double() for array in (x, weight, bias)), **attributes)
    theirs = (torch.nn.functional.conv2d(*map(torch.tensor, (x, weight, bias)), **attributes) - exact).numpy()
    ours = conv2d(x, weight, bias, **attributes) - exact.numpy()
    assert np.sqrt(np.square(ours).mean()) <= 2 * np.sqrt(np.square(theirs).mean())
    assert np.abs(ours).max() <= 2 * np.abs(theirs).max()


@pytest.mark.parametrize(("channels", "side"), [(64, 28), (256, 14), (512, 7)])
def test_errors_of_the_weight_gradient_are_at_most_twice_those_of_torch(channels, side):
    torch = pytest.importorskip("torch")
    x, weight, _, g, attributes = data(((8, channels, side, side), 64, (1, 1)))

    def gradient(x: Any, weight: Any, g: Any) -> Any:
        y = torch.nn.functional.conv2d(x, weight.requires_grad_(), None, **attributes)
        return torch.autograd.grad(y, weight, g)[0]

    exact = gradient(*(torch.tensor(array).double() for array in (x, weight, g)))
    theirs = (gradient(*map(torch.tensor, (x, weight, g))) - exact).numpy()
    ours = conv2d_grad_weight(g, x, weight_shape=weight.shape, **attributes) - exact.numpy()
    assert np.sqrt(np.square(ours).mean()) <= 2 * np.sqrt(np.square(theirs).mean())
    assert np.abs(ours).max() <= 2 * np.abs(theirs).max()


def test_what_takes_this_way():
    """3x3 taps with strides of 1, one group, float32, and enough channels and tiles."""
    def taken(itemsize: int = 4, channels: int = 64, side: int = 16, taps: int = 3, stride: int = 1, padding: Any = (1, 1),
              dilation: Any = (1, 1), groups: int = 1) -> bool:
        shapes = (1, channels * groups, side, side), (64 * groups, channels, taps, taps)
        problem, _ = problem_of(*shapes, (stride, stride), padding, dilation, groups, itemsize)
        found = {some.choose(problem).name == "winograd" for some in (FORWARD, GRAD_INPUT, GRAD_WEIGHT)}
        assert len(found) == 1
        return found.pop()

    assert taken()
    assert taken(side=20, padding=(0, 2))
    assert not taken(itemsize=8)
    assert not taken(channels=8)
    assert not taken(side=4)
    assert not taken(taps=1)
    assert not taken(stride=2)
    assert not taken(dilation=(2, 1))
    assert not taken(groups=2)


@pytest.mark.parametrize(("channels", "side", "forward"), [(64, 7, False), (64, 8, True), (512, 10, False), (512, 11, True)])
def test_few_positions_go_directly_in_the_forward_pass(channels: int, side: int, forward: bool) -> None:
    """Then the weight is read once, and where it lies."""
    problem, _ = problem_of((1, channels, side, side), (channels, channels, 3, 3), (1, 1), (1, 1), (1, 1), 1)
    assert (winograd_forward.forward_why_not(problem) is None) is forward
    assert winograd_forward.why_not(problem) is None


def test_halves_are_computed_in_float32():
    x, weight, bias, _, attributes = data(((2, 32, 8, 8), 32, (1, 1)))
    halves = [array.astype(np.float16) for array in (x, weight, bias)]
    y = conv2d(*halves, **attributes)
    assert y.dtype == np.float16
    np.testing.assert_array_equal(y, conv2d(*(array.astype(np.float32) for array in halves), **attributes).astype(np.float16))


@numba.njit
def _pixels(band, out):
    winograd_transforms.transform_pixels(band, 0, 6 * 16, 16, 2, 16, out, 0, 16, 40)


@numba.njit
def _sums(sums, bias, band):
    return winograd_transforms.transform_sums(sums, 0, 16, 40, bias, 2, 16, band, 0, 4 * 16, 16)


def test_transforms_are_vector_instructions():
    """All entries of a tile in one pass over its channels."""
    out, band = np.zeros(16 * 40, np.float32), np.arange(24 * 16, dtype=np.float32)
    _pixels(band, out)
    assert _sums(out, np.zeros(16, np.float32), band)
    register = "zmm" if LANES == 16 else "ymm"
    for function, additions in ((_pixels, 32), (_sums, 24)):
        assembly = of_float32(function)
        if register not in assembly:
            pytest.skip("written for x86")
        assert len(re.findall(rf"v(?:add|sub)ps\s.*%{register}", assembly)) >= additions


@numba.njit
def _product(a, b, c, rows, width, count, accumulate):
    multiply_panel(a, 1, 50, 2, rows, b, 3, width, count, c, 4, 70, accumulate)


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("width", [PANEL, LANES])
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_multiply_panel(blocks, width, accumulate):
    rng = np.random.default_rng(0)
    rows, count = blocks * LINES, 23
    a, b, c = (rng.standard_normal(size, dtype=np.float32) for size in (50 * rows + 50, 3 + width * count, 4 + 70 * rows))
    expected = c.astype(np.float64)
    for r in range(rows):
        product = a[1 + 50 * r :][: 2 * count : 2] @ b[3:].reshape(count, width).astype(np.float64)
        place = slice(4 + 70 * r, 4 + 70 * r + width)
        expected[place] = product + (expected[place] if accumulate else 0)
    _product(a, b, c, rows, width, count, accumulate)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [PANEL, LANES])
def test_sums_stay_in_vector_registers(width):
    test_multiply_panel(2, width, False)
    assembly = of_float32(_product)
    blocks = [block for block in re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE) if len(re.findall("vfmadd", block)) >= 8]
    if not blocks:
        pytest.skip("written for x86")
    register = "%zmm" if LANES == 16 else "%ymm"
    for block in blocks:  # one or several steps of the sum, in each of the kernels
        products = len(re.findall(rf"vfmadd\w+ps\s.*{register}", block))
        assert products % LINES == 0 or products % (MORE_ROWS * VECTORS) == 0
        assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", block)


@numba.njit
def _gather(x, start, plane, channels, count, places, first, band):
    gather_band(x, start, plane, channels, count, places, first, band)


@numba.njit
def _scatter(band, places, channels, count, y, start, plane):
    scatter_band(band, places, channels, count, y, start, plane)


@pytest.mark.parametrize("channels", [1, LANES - 1, LANES, LANES + 3])
@pytest.mark.parametrize("count", [1, LANES, 2 * LANES + 5])
def test_bands(channels, count):
    """Planes become a band and planes again; nothing beside them is read or written."""
    rng = np.random.default_rng(0)
    plane, size = count + 7, -(-channels // LANES) * LANES
    x = rng.standard_normal(5 + plane * channels, dtype=np.float32)
    planes = x[5:].reshape(channels, plane)
    planes[:, count:] = np.nan
    places = np.concatenate([[-1], rng.permutation(count) * size, np.full(LANES, count * size)])
    band = np.full((count + 1) * size, np.nan, np.float32)
    _gather(x, 5, plane, channels, count, places, 1, band)
    wanted = np.zeros((count, size), np.float32)
    wanted[places[1 : count + 1] // size, :channels] = planes[:, :count].T
    np.testing.assert_array_equal(band[: count * size].reshape(count, size), wanted)
    y = np.full_like(x, 7)
    _scatter(band, places[1:], channels, count, y, 5, plane)
    np.testing.assert_array_equal(y[5:].reshape(channels, plane)[:, :count], planes[:, :count])
    assert (y[:5] == 7).all() and (y[5:].reshape(channels, plane)[:, count:] == 7).all()
