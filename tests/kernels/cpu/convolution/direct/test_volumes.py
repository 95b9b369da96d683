"""Direct convolution of volumes against 2-d convolutions of stacked slices."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution import conv3d, image_batch
from lucid_kernels.cpu.convolution.direct import forward as direct_forward
from lucid_kernels.cpu.convolution.direct import grad_input_strided
from lucid_kernels.cpu.convolution.direct import grad_weight as direct_grad_weight
from lucid_kernels.cpu.convolution.direct import volumes as direct_volumes
from lucid_kernels.cpu.convolution.volume import volume_problem
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from lucid.backends.common import convolution
from lucid.backends.cpu import backend as cpu

# (input shape, weight shape, stride, padding, dilation, groups)
CASES: dict[str, tuple[Any, ...]] = {
    "strided": ((2, 8, 5, 9, 7), (9, 8, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1),
    "small planes": ((5, 8, 4, 6, 6), (8, 8, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1),
    "grouped, dilated along the depth": ((2, 16, 7, 8, 9), (24, 8, 2, 3, 2), (2, 2, 3), (2, 1, 0), (3, 1, 1), 2),
    "wide taps": ((1, 9, 3, 8, 10), (17, 9, 2, 5, 5), (1, 1, 1), (1, 2, 2), (1, 1, 1), 1),
    "slices that meet no tap": ((1, 8, 9, 5, 5), (8, 8, 2, 3, 3), (4, 2, 2), (0, 1, 1), (1, 1, 1), 1),
    "taps that meet no slice": ((1, 8, 1, 5, 6), (8, 8, 3, 3, 3), (1, 2, 2), (3, 1, 1), (1, 1, 1), 1),
    "small planes, grouped": ((5, 32, 4, 5, 6), (16, 16, 2, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 2),
    "whole vectors of results": ((2, 24, 5, 11, 13), (32, 12, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 2),
    "whole vectors of results, taps that meet no slice": ((1, 24, 1, 11, 12), (32, 12, 3, 3, 3), (1, 2, 2), (3, 1, 1), (1, 1, 1), 2),
    "whole vectors of results, many": ((2, 9, 4, 30, 20), (32, 9, 3, 3, 3), (1, 2, 2), (1, 1, 1), (1, 1, 1), 1),
    "rows that meet no tap": ((2, 8, 3, 1, 7), (8, 8, 3, 2, 2), (2, 3, 3), (1, 1, 0), (1, 1, 1), 1),
}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small convolutions go this way too."""
    monkeypatch.setattr(tuning, "CONVOLUTION_LEAST_PRODUCTS", 0)


def arrays_of(case: tuple[Any, ...], dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in (case[0], case[1], case[1][:1])]
    return *arrays, dict(zip(("stride", "padding", "dilation", "groups"), case[2:]))  # type: ignore[return-value]


@pytest.mark.parametrize("limits", [{}, {"_STEPS": 1, "_COPIES": 1, "_COPIES_BYTES": 1, "_SUMS_BYTES": 1, "_TASKS": 100}],
                         ids=["as measured", "small tasks"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_against_stacked_slices(case: tuple[Any, ...], limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for module, plan in ((direct_forward, "plan_of"), (grad_input_strided, "_plan"), (direct_grad_weight, "_plan")):
        monkeypatch.setattr(module, plan, getattr(module, plan).__wrapped__)  # nothing that other limits led to
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value, raising=False)
    x, weight, bias, attributes = arrays_of(case)
    stacked = convolution.table(np, cpu.TABLE, 1 << 20)
    y = conv3d.convolve(x, weight, bias, **attributes)
    wanted = stacked["conv3d"](*(array.astype(np.float64) for array in (x, weight, bias)), **attributes)
    assert y is not None
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-4)
    g = np.random.default_rng(1).standard_normal(y.shape).astype(np.float32)
    dx = conv3d.grad_input(g, weight, input_shape=x.shape, **attributes)
    wanted = stacked["conv3d_grad_input"](g.astype(np.float64), weight.astype(np.float64), input_shape=x.shape, **attributes)
    assert dx is not None
    np.testing.assert_allclose(dx, wanted, rtol=1e-5, atol=1e-4)
    dweight = direct_volumes.grad_weight(g, x, weight.shape, **attributes)
    wanted = stacked["conv3d_grad_weight"](g.astype(np.float64), x.astype(np.float64), weight_shape=weight.shape, **attributes)
    np.testing.assert_allclose(dweight, wanted, rtol=1e-5, atol=1e-4)


def test_any_strides_and_slices_without_taps() -> None:
    x, weight, bias, attributes = arrays_of(CASES["strided"])
    wanted = conv3d.convolve(x, weight, bias, **attributes)
    turned = [np.asfortranarray(array) for array in (x, weight)]
    np.testing.assert_array_equal(conv3d.convolve(*turned, np.repeat(bias, 2)[::2], **attributes), wanted)
    dweight = direct_volumes.grad_weight(wanted, x, weight.shape, **attributes)
    np.testing.assert_array_equal(direct_volumes.grad_weight(np.asfortranarray(wanted), turned[0], weight.shape, **attributes), dweight)
    # What no tap of the depth meets: bias forward, zeros backward.
    x, weight, bias, attributes = arrays_of(CASES["taps that meet no slice"])
    y = conv3d.convolve(x, weight, bias, **attributes)
    np.testing.assert_array_equal(y[:, :, 0], np.broadcast_to(bias.reshape(1, -1, 1, 1), y[:, :, 0].shape))
    x, weight, _, attributes = arrays_of(CASES["slices that meet no tap"])
    dx = conv3d.grad_input(np.ones((1, 8, 2, 3, 3), np.float32), weight, input_shape=x.shape, **attributes)
    np.testing.assert_array_equal(dx[:, :, 2:4], 0)


def test_nan_reaches_the_slices_that_meet_it() -> None:
    x, weight, bias, attributes = arrays_of(CASES["strided"])
    x[0, 0, 0, 0, 0] = np.nan
    y = conv3d.convolve(x, weight, bias, **attributes)
    dweight = direct_volumes.grad_weight(np.ones_like(y), x, weight.shape, **attributes)
    assert np.isnan(dweight[:, 0, 1, 1, 1]).all()  # the tap that meets it
    assert np.count_nonzero(np.isnan(dweight)) == len(weight)
    assert np.isnan(y[0, :, 0, 0, 0]).all()
    assert not np.isnan(y[0, :, 1:]).any()
    assert not np.isnan(y[1]).any()


@pytest.mark.parametrize("case", ["strided", "small planes"])
def test_the_weight_gradient_does_not_depend_on_threads(case: str) -> None:
    x, weight, bias, attributes = arrays_of(CASES[case])
    y = conv3d.convolve(x, weight, bias, **attributes)
    whole, before = direct_volumes.grad_weight(y, x, weight.shape, **attributes), get_num_threads()
    set_num_threads(1)
    try:
        np.testing.assert_array_equal(direct_volumes.grad_weight(y, x, weight.shape, **attributes), whole)
    finally:
        set_num_threads(before)


@pytest.mark.torch
def test_errors_of_the_weight_gradient_are_at_most_twice_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x, weight, _, attributes = arrays_of(((2, 8, 6, 40, 40), (32, 8, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1))
    g = np.random.default_rng(1).standard_normal((2, 32, 3, 20, 20)).astype(np.float32)

    def of_torch(dtype: Any) -> Any:
        leaf = torch.tensor(weight, dtype=dtype, requires_grad=True)
        y = torch.nn.functional.conv3d(torch.tensor(x, dtype=dtype), leaf, None, **attributes)
        return torch.autograd.grad(y, leaf, torch.tensor(g, dtype=dtype))[0]

    exact = of_torch(torch.float64)
    ours = direct_volumes.grad_weight(g, x, weight.shape, **attributes) - exact.numpy()
    theirs = (of_torch(torch.float32) - exact).numpy()
    assert np.sqrt(np.square(ours).mean()) <= 2 * np.sqrt(np.square(theirs).mean())
    assert np.abs(ours).max() <= 2 * np.abs(theirs).max()


def test_stacked_where_other_ways_are_faster() -> None:
    x, weight, _, attributes = arrays_of(((1, 16, 4, 8, 8), (16, 16, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1))
    same = volume_problem(x.shape, weight.shape, **attributes, itemsize=4)
    assert direct_volumes.why_not(same) == direct_volumes.grad_input_why_not(same) == "winograd is faster for stacked slices"
    assert direct_volumes.grad_weight_why_not(same)
    attributes["stride"] = (1, 2, 2)
    small, large = (volume_problem((1, 32, 4, side, side), (32, 32, 3, 3, 3), **attributes, itemsize=4) for side in (14, 28))
    assert direct_volumes.grad_weight_why_not(small) == "outer_grad_weight is faster for stacked slices"
    assert direct_volumes.grad_weight_why_not(large) is None


def test_images_that_meet_the_same_slices_are_taken_together() -> None:
    assert image_batch.split_run(4, samples=8, alike=8, least=2) == 4  # all are alike
    assert image_batch.split_run(4, samples=12, alike=6, least=2) == 3  # two tasks for each run of six
    assert image_batch.split_run(4, samples=10, alike=5, least=2) == 4  # one image would not fill the registers
