"""Winograd's convolution of volumes against sums over the taps of the depth in float64, and PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution import conv3d
from lucid_kernels.cpu.convolution.conv2d import conv2d
from lucid_kernels.cpu.convolution.volume import volume_problem
from lucid_kernels.cpu.convolution.winograd import forward as winograd_forward
from lucid_kernels.cpu.convolution.winograd import grad_weight as winograd_grad_weight
from lucid_kernels.cpu.convolution.winograd import volumes as winograd_volumes
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from lucid.backends.common import convolution
from lucid.backends.cpu import backend as cpu

from .results import kinds

# (input shape, outputs, taps of the depth, padding)
CASES: dict[str, tuple[Any, ...]] = {
    "plain": ((2, 16, 5, 9, 7), 16, 3, (1, 1, 1)),
    "no padding": ((2, 20, 5, 9, 8), 35, 3, (0, 0, 0)),
    "paddings beyond the taps": ((1, 16, 2, 5, 6), 20, 2, (3, 3, 1)),
    "taps that meet one slice": ((3, 17, 1, 6, 6), 16, 3, (1, 1, 1)),
    "one slice of taps": ((2, 33, 4, 7, 6), 32, 1, (0, 1, 1)),
    "one slice of taps, padded": ((2, 33, 2, 7, 6), 32, 1, (2, 1, 1)),
    "several sums of channels": ((1, 140, 3, 6, 5), 40, 2, (1, 1, 1)),
    "more channels than outputs": ((2, 64, 3, 4, 4), 24, 3, (1, 1, 1)),
    "several tasks": ((2, 16, 9, 28, 26), 40, 3, (1, 1, 1)),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
LIMITS: list[dict[str, int]] = [{"_CHANNELS": 3}, {"_TASK_BYTES": 1, "_LEAST_TASK": 1}, {"_TASKS": 1}, {"_TASKS": 100},
                                {"_LARGE_WEIGHT_BYTES": 0}, {"_TILES_BYTES": 1}, {"_BLOCK": 1}]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few tiles and positions take this way too."""
    for name in ("LEAST_PAIRS", "LEAST_TILES", "FEW_POSITIONS", "FEW_POSITIONS_OF_LARGE_WEIGHT"):
        monkeypatch.setattr(tuning, f"WINOGRAD_{name}", 0)


def data(case: tuple[Any, ...]) -> tuple[Any, ...]:
    """x, weight, bias, an upstream gradient, and the attributes."""
    shape, outputs, taps, padding = case
    rng = np.random.default_rng(0)
    lengths = [n + 2 * p - k + 1 for n, p, k in zip(shape[2:], padding, (taps, 3, 3))]
    shapes = (shape, (outputs, shape[1], taps, 3, 3), (outputs,), (shape[0], outputs, *lengths))
    arrays = [rng.standard_normal(some, dtype=np.float32) for some in shapes]
    return *arrays, {"stride": (1, 1, 1), "padding": padding, "dilation": (1, 1, 1), "groups": 1}


def compute(kernels: dict[str, Any], x: Any, weight: Any, bias: Any, g: Any, attributes: Any) -> tuple[np.ndarray, ...]:
    """The result and the gradients of input and weight."""
    return (kernels["conv3d"](x, weight, bias, **attributes),
            kernels["conv3d_grad_input"](g, weight, input_shape=x.shape, **attributes),
            kernels["conv3d_grad_weight"](g, x, weight_shape=weight.shape, **attributes))


WHOLE = {"conv3d": conv3d.convolve, "conv3d_grad_input": conv3d.grad_input, "conv3d_grad_weight": conv3d.grad_weight}
STACKED = convolution.table(np, cpu.TABLE, 1 << 20)


def check(case: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    *arrays, attributes = data(case)
    wanted = compute(STACKED, *(array.astype(np.float64) for array in arrays), attributes)
    results = compute(WHOLE, *arrays, attributes)
    x, weight, _, g = arrays
    terms = (weight[0].size, weight.size // weight.shape[1], g.size // len(weight))
    for got, want, count in zip(results, wanted, terms):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=3e-6 * count**0.5)
    return results


@each_case
def test_against_float64(case: tuple[Any, ...]) -> None:
    shape, outputs, taps, padding = case
    weight_shape, rest = (outputs, shape[1], taps, 3, 3), ((1, 1, 1), padding, (1, 1, 1), 1)
    problem = volume_problem(shape, weight_shape, *rest, 4)
    assert winograd_volumes.why_not(problem) is winograd_volumes.forward_why_not(problem) is None
    check(case)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("case", ["plain", "paddings beyond the taps", "more channels than outputs", "several tasks"])
def test_cuts_do_not_show(case: str, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (winograd_forward, winograd_grad_weight):
        monkeypatch.setattr(module, "_plan", module._plan.__wrapped__)  # nothing that other limits led to
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value, raising=False)
    check(CASES[case])


def test_does_not_depend_on_threads() -> None:
    whole, before = check(CASES["several tasks"]), get_num_threads()
    set_num_threads(1)
    try:
        for got, want in zip(check(CASES["several tasks"]), whole):
            np.testing.assert_array_equal(got, want)
    finally:
        set_num_threads(before)


def test_one_slice_of_taps_is_a_convolution_of_images() -> None:
    x, weight, bias, _, attributes = data(CASES["one slice of taps"])
    flat = {name: value if name == "groups" else value[1:] for name, value in attributes.items()}
    y = conv3d.convolve(x, weight, bias, **attributes)
    assert y is not None
    for slice_ in range(x.shape[2]):
        images = conv2d(np.ascontiguousarray(x[:, :, slice_]), np.ascontiguousarray(weight[:, :, 0]), bias, **flat)
        np.testing.assert_array_equal(y[:, :, slice_], images)


def test_any_strides() -> None:
    x, weight, bias, g, attributes = data(CASES["plain"])
    wanted = compute(WHOLE, x, weight, bias, g, attributes)
    strided = [np.asfortranarray(array) for array in (x, weight)]
    found = compute(WHOLE, *strided, np.repeat(bias, 2)[::2], np.asfortranarray(g), attributes)
    for got, want in zip(found, wanted):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, np.finfo(np.float32).max])
@pytest.mark.parametrize("place", [(0, 0, 0), (3, 4, 5), (4, 8, 6)], ids=str)
def test_nan_and_inf_reach_what_they_reach_directly(bad: float, place: tuple[int, ...]) -> None:
    """Not their whole tile, and no slice that does not meet them; what overflows in the transforms only does not overflow."""
    x, weight, bias, g, attributes = data(CASES["plain"])
    weight *= np.float32(0.1)
    x[1, 2][place] = g[1, 3][place] = bad
    with np.errstate(over="ignore", invalid="ignore"):
        wide = compute(STACKED, *(array.astype(np.float64) for array in (x, weight, bias, g)), attributes)
        wanted = [array.astype(np.float32) for array in wide]
        found = compute(cpu.TABLE, x, weight, bias, g, attributes)
    for got, want in zip(found[:2], wanted):
        np.testing.assert_array_equal(kinds(got), kinds(want))
        assert np.isfinite(got[0]).all()
        np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-4)
    if abs(bad) != np.finfo(np.float32).max:  # products of two of these overflow
        np.testing.assert_array_equal(kinds(found[2]), kinds(wanted[2]))
        assert conv3d.grad_weight(g, x, weight_shape=weight.shape, **attributes) is None


def test_what_takes_this_way() -> None:
    def taken(itemsize: int = 4, channels: int = 16, lengths: tuple[int, ...] = (4, 8, 8), kernel: Any = (3, 3, 3),
              **changed: Any) -> bool:
        attributes = {"stride": (1, 1, 1), "padding": (1, 1, 1), "dilation": (1, 1, 1), "groups": 1} | changed
        problem = volume_problem((2, channels, *lengths), (32, channels, *kernel), **attributes, itemsize=itemsize)
        return winograd_volumes.why_not(problem) is None

    assert taken()
    assert taken(kernel=(2, 3, 3), padding=(0, 1, 0))
    assert not taken(itemsize=8)
    assert not taken(channels=8)
    assert not taken(lengths=(4, 8, 1))
    assert not taken(kernel=(3, 3, 2))
    assert not taken(stride=(2, 1, 1))
    assert not taken(dilation=(2, 1, 1))
    assert not taken(groups=2)


@pytest.mark.torch
@pytest.mark.parametrize(("channels", "lengths"), [(16, (8, 28, 28)), (64, (4, 14, 14)), (256, (4, 7, 7))])
def test_errors_are_at_most_twice_those_of_torch(channels: int, lengths: tuple[int, ...]) -> None:
    """The root of the mean square error, and the largest, of the result and both gradients."""
    torch = pytest.importorskip("torch")
    *arrays, attributes = data(((2, channels, *lengths), 32, 3, (1, 1, 1)))

    def of_torch(dtype: Any) -> list[Any]:
        x, weight, bias, g = (torch.tensor(array).to(dtype) for array in arrays)
        y = torch.nn.functional.conv3d(x.requires_grad_(), weight.requires_grad_(), bias, **attributes)
        return [y.detach(), *torch.autograd.grad(y, (x, weight), g)]

    for got, theirs, exact in zip(compute(WHOLE, *arrays, attributes), of_torch(torch.float32), of_torch(torch.float64)):
        ours, other = got - exact.numpy(), (theirs - exact).numpy()
        assert np.sqrt(np.square(ours).mean()) <= 2 * np.sqrt(np.square(other).mean())
        assert np.abs(ours).max() <= 2 * np.abs(other).max()
