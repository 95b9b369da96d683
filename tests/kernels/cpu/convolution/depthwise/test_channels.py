"""Depthwise convolution with channels as lanes: against loops in float64, NaN and inf, and sums in registers."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_weight
from lucid_kernels.cpu.convolution.depthwise import selection
from lucid_kernels.cpu.convolution.depthwise.channel_microkernels import FACTORS, RUN, add_products, sum_products
from lucid_kernels.cpu.convolution.volume import volume_problem
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

from tests.kernels.cpu.assembly import of_float32
from tests.kernels.cpu.convolution.test_conv2d import check

# (samples, channels, height, width), taps, strides, padding, dilation
CASES = [((2, 16, 7, 7), (3, 3), (1, 1), (1, 1), (1, 1)), ((3, 40, 14, 13), (3, 3), (2, 2), (1, 1), (1, 1)),
         ((2, 19, 5, 8), (5, 5), (2, 2), (2, 2), (1, 1)), ((2, 33, 7, 6), (7, 7), (1, 1), (3, 3), (1, 1)),
         ((1, 17, 9, 10), (3, 2), (2, 3), (2, 1), (2, 1)), ((3, 20, 3, 3), (3, 3), (1, 1), (0, 0), (1, 1)),
         ((2, 16, 2, 1), (3, 3), (1, 1), (3, 4), (2, 3)), ((40, 100, 4, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
         ((2, 18, 1, 25), (1, 9), (1, 1), (0, 4), (1, 1)), ((2, 17, 9, 30), (3, 5), (2, 2), (1, 4), (1, 3)),
         ((1, 16, 4, 40), (2, 31), (1, 1), (0, 15), (1, 1)), ((1, 16, 6, 31), (3, 4), (1, 4), (1, 3), (2, 2)),
         ((2, 16, 28, 28), (3, 3), (2, 2), (1, 1), (1, 1)), ((2, 16, 15, 15), (7, 7), (1, 1), (3, 3), (1, 1))]


@pytest.fixture(autouse=True)
def only_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planes would compute some."""
    for name in ("planes_forward_why_not", "planes_grad_input_why_not", "planes_grad_weight_why_not"):
        monkeypatch.setattr(selection, name, None)
    for name in ("FILTERED", "SPREAD"):
        monkeypatch.setattr(tuning, f"DEPTHWISE_CHANNELS_WIDEST_{name}", {VECTOR_BYTES: dict.fromkeys((3, 4, 5, 7), 100)})
    monkeypatch.setattr(tuning, "DEPTHWISE_CHANNELS_WIDEST_CORRELATED", {VECTOR_BYTES: 100})


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


def test_small_planes_come_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def taken(channels: int, outputs: int, itemsize: int = 4, depth: int = 1, side: int = 4) -> bool:
        problem = volume_problem((1, channels, depth, side, side), (outputs, 1, 1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), channels,
                                 itemsize)
        return selection.channels_forward_why_not(problem) is None

    assert taken(64, 64)
    assert not taken(4, 4, itemsize=8)
    assert not taken(64, 128)
    widest = int(tuning.DEPTHWISE_CHANNELS_WIDEST_FILTERED[VECTOR_BYTES][3] * VECTOR_BYTES) // 4
    assert taken(64, 64, side=widest) and not taken(64, 64, side=widest + 1)
    assert taken(64, 64, depth=4, side=15) and not taken(64, 64, depth=1000, side=15)


@numba.njit
def sum_lists(a, b, meetings, runs, first, results):
    sum_products(a, b, meetings, runs, 2, 11, 3, 3, first, results, a.ctypes.data, 2, results.ctypes.data, 1)


@numba.njit
def add_lists(a, b, meetings, runs, first, totals):
    add_products(a, b, meetings, runs, 2, 11, 3, 3, first, totals, a.ctypes.data, 2, b.ctypes.data, 1)


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_products(dtype: Any, adds: bool) -> None:
    """Runs of 1 to 8 results, of 0 to 7 meetings, with columns outside of a row of 11; beyond the results nothing is written."""
    lanes, rng = VECTOR_BYTES // np.dtype(dtype).itemsize, np.random.default_rng(0)
    # Vectors that are not in the row are not read: those before and behind a row of a are NaN.
    a, b, first = (rng.standard_normal((n, lanes)).astype(dtype) for n in (3 * 40, 30, 1))
    rows = a.reshape(3, 40, lanes)
    rows[:, :15] = rows[:, 26:] = np.nan
    ends = np.cumsum([0, *range(RUN)])
    columns, counts = rng.integers(-12, 11, ends[-1]), rng.choice(FACTORS, ends[-1])
    meetings = np.stack([40 * rng.integers(0, 3, ends[-1]) + 15 + columns, columns, rng.integers(0, 10, ends[-1]), counts], 1)
    runs = [(ends[i], ends[i + 1], 3 * i * RUN + i % 3, i + 1) for i in range(RUN)]
    results, wanted = (np.full((3 * RUN * RUN + 1, lanes), 7, kind) for kind in (np.float64 if adds else dtype, np.float64))
    lists = add_lists if adds else sum_lists
    lists(a.reshape(-1), b.reshape(-1), meetings.astype(np.int32), np.array(runs), first.reshape(-1), results.reshape(-1))
    for begin, end, place, size in runs:
        for r in range(size):
            total = first[0].astype(np.float64)
            for start, column, factor, count in meetings[begin:end]:
                for t in range(count):
                    if 0 <= column + 2 * (r + t) < 11:
                        total = total + a[start + 2 * (r + t)] * b[factor + 3 * t].astype(np.float64)
            wanted[place + 3 * r] = total + 7 if adds else total
    np.testing.assert_allclose(results, wanted, rtol=0, atol=40 * np.finfo(dtype).eps)


def test_sums_stay_in_vector_registers() -> None:
    test_sum_products(np.float32, False)
    assembly = of_float32(sum_lists)
    if "vfmadd" not in assembly:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", assembly)) >= sum(FACTORS) * RUN
    # With 16 registers the most results and the most factors are one vector too many.
    assert len(re.findall(rf"vmov\w+\s+-?\d*\(%r[sb]p\), {register}", assembly)) <= (0 if VECTOR_BYTES == 64 else 2 * RUN)
