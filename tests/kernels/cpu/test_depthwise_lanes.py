"""Depthwise convolution with channels as lanes: against loops in float64, NaN and inf, and sums in registers."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu import _depthwise, _depthwise_lanes
from lucid_kernels.cpu._lane_microkernels import RUN, sum_products
from lucid_kernels.cpu._microkernels import VECTOR_BYTES
from lucid_kernels.cpu.conv2d import conv2d, conv2d_grad_input, conv2d_grad_weight

from tests.kernels.cpu.test_conv2d import check
from tests.kernels.cpu.test_microkernels import innermost

# (samples, channels, height, width), taps, strides, padding, dilation
CASES = [((2, 16, 7, 7), (3, 3), (1, 1), (1, 1), (1, 1)), ((3, 40, 14, 13), (3, 3), (2, 2), (1, 1), (1, 1)),
         ((2, 19, 5, 8), (5, 5), (2, 2), (2, 2), (1, 1)), ((2, 33, 7, 6), (7, 7), (1, 1), (3, 3), (1, 1)),
         ((1, 17, 9, 10), (3, 2), (2, 3), (2, 1), (2, 1)), ((3, 20, 3, 3), (3, 3), (1, 1), (0, 0), (1, 1)),
         ((2, 16, 2, 1), (3, 3), (1, 1), (3, 4), (2, 3)), ((40, 100, 4, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
         ((2, 18, 1, 25), (1, 9), (1, 1), (0, 4), (1, 1))]


@pytest.fixture(autouse=True)
def only_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_convolve_planes_parallel", "_filter_planes_parallel", "_correlate_channels_parallel",
                 "_grad_weight_channels_parallel", "_spread_planes_parallel"):
        monkeypatch.setattr(_depthwise, name, None)
    for name in ("_NARROW", "_WHOLE", "_WIDE"):
        monkeypatch.setattr(_depthwise, name, 100)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_loops(case: Any, dtype: Any) -> None:
    shape, taps, *geometry = case
    check((shape, (shape[1], 1, *taps), *geometry, shape[1]), dtype, 1e-10 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_inf_stay_where_they_are_met(bad: float) -> None:
    geometry = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 18}
    x, weight = np.zeros((2, 18, 6, 6), np.float32), np.ones((18, 1, 3, 3), np.float32)
    x[1, 17, 2, 2] = bad
    y = conv2d(x, weight, None, **geometry)
    wanted = np.zeros_like(y)
    wanted[1, 17, 1, 1] = bad
    np.testing.assert_array_equal(y, wanted)
    dx = conv2d_grad_input(wanted, weight, input_shape=x.shape, **geometry)
    spread = np.zeros_like(x)
    spread[1, 17, 1:4, 1:4] = bad
    np.testing.assert_array_equal(dx, spread)
    g = np.ones_like(y)
    dweight = conv2d_grad_weight(g, x, weight_shape=weight.shape, **geometry)
    sums = np.zeros_like(weight)
    sums[17, 0, 1, 1] = bad
    np.testing.assert_array_equal(dweight, sums)


def test_infinite_numbers_do_not_meet_the_padding() -> None:
    geometry = {"stride": (1, 1), "padding": (2, 1), "dilation": (1, 1), "groups": 16}
    x, weight, g = (np.ones(shape, np.float32) for shape in ((1, 16, 5, 9), (16, 1, 3, 3), (1, 16, 7, 9)))
    weight[5, 0, 0, 0] = g[0, 3, 0, 0] = np.inf
    y = conv2d(x, weight, None, **geometry)
    assert np.isposinf(y).sum() == 40 and not np.isnan(y).any()
    dx = conv2d_grad_input(g, np.where(np.isinf(weight), 1, weight), input_shape=x.shape, **geometry)
    assert np.isposinf(dx).sum() == 2 and not np.isnan(dx).any()
    dweight = conv2d_grad_weight(g, x, weight_shape=weight.shape, **geometry)
    assert np.isposinf(dweight).sum() == 2 and not np.isnan(dweight).any()


def test_small_planes_come_here() -> None:
    def suits(channels: int, outputs: int, itemsize: int, slices: int = 1, side: int = 4) -> bool:
        shapes = [(1, count, slices, side, side) for count in (channels, outputs)]
        return _depthwise_lanes.suits(*shapes, itemsize, 0.75)

    assert suits(64, 64, 4)
    assert not suits(4, 4, 8)
    assert not suits(64, 128, 4)
    widest = VECTOR_BYTES // 4 * 3 // 4
    assert suits(64, 64, 4, slices=20, side=widest)
    assert not suits(64, 64, 4, slices=1000) and not suits(64, 64, 4, side=widest + 1)


@numba.njit
def sum_lists(a, b, pairs, runs, first, results):
    lanes = first.size
    sum_products(a, b, pairs, runs, 2 * lanes, 3, first, results, results.ctypes.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_products(dtype: Any) -> None:
    """Runs of 1 to 8 results, of 0 to 7 pairs; beyond the results nothing is written."""
    lanes, rng = VECTOR_BYTES // np.dtype(dtype).itemsize, np.random.default_rng(0)
    a, b, first = (rng.standard_normal((n, lanes)).astype(dtype) for n in (2 * RUN + 9, 7, 1))
    ends = np.cumsum([0, *range(RUN)])
    pairs = np.stack([rng.integers(0, 9, ends[-1]), rng.integers(0, 7, ends[-1])], 1)
    runs = [(ends[i], ends[i + 1], 3 * i * RUN + i % 3, i + 1) for i in range(RUN)]
    results, wanted = (np.full((3 * RUN * RUN + 1, lanes), 7, kind) for kind in (dtype, np.float64))
    sum_lists(a.reshape(-1), b.reshape(-1), (pairs * lanes).astype(np.uint32), np.array(runs), first.reshape(-1), results.reshape(-1))
    for begin, end, place, count in runs:
        for r in range(count):
            met = pairs[begin:end]
            wanted[place + 3 * r] = first[0] + (a[met[:, 0] + 2 * r] * b[met[:, 1]].astype(np.float64)).sum(0)
    np.testing.assert_allclose(results, wanted, rtol=0, atol=20 * np.finfo(dtype).eps)


def test_sums_stay_in_vector_registers() -> None:
    test_sum_products(np.float32)
    loop = innermost(sum_lists)
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= RUN
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
