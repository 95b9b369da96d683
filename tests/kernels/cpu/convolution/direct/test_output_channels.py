"""Convolution with results as lanes: against loops in float64, bands and pieces of sums, NaN and inf, and sums in registers."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.arrays.window import Window
from lucid_kernels.cpu.convolution import conv2d
from lucid_kernels.cpu.convolution.direct import output_channels
from lucid_kernels.cpu.convolution.direct.microkernels import PRODUCTS
from lucid_kernels.cpu.convolution.direct.output_channels import _RUN, _sum_run
from lucid_kernels.cpu.convolution.implementations import FORWARD
from lucid_kernels.cpu.convolution.problem import Problem
from lucid_kernels.cpu.runtime.implementations import Implementation, anything
from lucid_kernels.cpu.runtime.threads import STARTED_THREADS
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

from tests.kernels.cpu.convolution.test_conv2d import check, data

# (input shape, weight shape, stride, padding, dilation, groups)
CASES = [((3, 64, 7, 7), (64, 16, 3, 3), (1, 1), (1, 1), (1, 1), 4), ((2, 96, 14, 13), (64, 48, 3, 3), (2, 2), (1, 1), (1, 1), 2),
         ((40, 16, 9, 10), (16, 16, 5, 5), (1, 1), (2, 2), (1, 1), 1), ((50, 3, 9, 16), (32, 3, 2, 3), (2, 3), (1, 0), (1, 1), 1),
         ((2, 64, 11, 12), (32, 32, 3, 2), (1, 1), (2, 3), (2, 3), 2), ((2, 32, 8, 20), (32, 16, 3, 3), (3, 2), (2, 2), (2, 2), 2),
         ((2, 32, 6, 50), (32, 16, 2, 1), (1, 1), (0, 0), (1, 1), 2), ((3, 32, 6, 6), (32, 16, 1, 1), (1, 1), (0, 0), (1, 1), 2),
         ((20, 128, 9, 9), (16, 128, 5, 5), (1, 1), (2, 2), (1, 1), 1), ((2, 32, 5, 5), (32, 16, 3, 3), (1, 1), (4, 4), (1, 1), 2)]


@pytest.fixture
def only_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would compute some."""
    only = Implementation("output_channels", anything, output_channels.convolve)
    monkeypatch.setattr(FORWARD, "choose", lambda problem: only)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_loops(case: Any, dtype: Any, only_lanes: None) -> None:
    check(case, dtype, 1e-10 if dtype == np.float64 else 1e-3)


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias, attributes = data(CASES[1], np.float32)
    wanted = conv2d.conv2d(x, weight, bias, **attributes)
    monkeypatch.setattr(STARTED_THREADS, "value", 1)
    np.testing.assert_array_equal(conv2d.conv2d(x, weight, bias, **attributes), wanted)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_inf_stay_where_they_are_met(bad: float) -> None:
    geometry = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 2}
    x, weight = np.zeros((2, 8, 12, 12), np.float32), np.ones((32, 4, 3, 3), np.float32)
    x[1, 7, 3, 3] = bad
    y = conv2d.conv2d(x, weight, None, **geometry)
    wanted = np.zeros_like(y)
    wanted[1, 16:, 1:3, 1:3] = bad
    np.testing.assert_array_equal(y, wanted)


def test_small_planes_of_whole_vectors_come_here() -> None:
    def suits(samples: int, results: int, side: int, groups: int, taps: int = 3, stride: int = 1) -> bool:
        window = Window(taps, taps, stride, stride, 1, 1, 1, 1, side, side)
        return output_channels.why_not(Problem(samples, 4 * groups, side, side, results * groups, groups, window)) is None

    assert suits(1, 16, 14, 2, stride=2) and suits(1, 16, 14, 2, 1, 2)
    wide = VECTOR_BYTES == 64
    assert suits(1, 16, 14, 2) == suits(1, 16, 14, 2, 1) == suits(100, 16, 14, 1) == suits(100, 16, 14, 1, stride=2) == wide
    assert not suits(1, 16, 14, 1) and not suits(100, 16, 14, 1, 1)
    assert not suits(1, 17, 14, 2) and not suits(1, 16, 4, 2) and not suits(1, 16, 28, 2)


@numba.njit
def sum_runs(pixels, taps, weight, sums, bias, first, last, more):
    for size in range(1, _RUN + 1):
        _sum_run(size, pixels, size, taps, first, last, weight, sums, size * _RUN, bias, more, sums, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_run(dtype: Any) -> None:
    lanes, rng = VECTOR_BYTES // np.dtype(dtype).itemsize, np.random.default_rng(0)
    taps, pixels = rng.integers(0, 100, PRODUCTS), rng.standard_normal(200).astype(dtype)
    weight, bias = (rng.standard_normal((count, lanes)).astype(dtype) for count in (PRODUCTS, 1))
    sums = np.full(((_RUN + 1) * _RUN + 1, lanes), 7, dtype)
    wanted = sums.astype(np.float64)
    for first, last, more in ((0, 9, False), (9, PRODUCTS, True)):
        sum_runs(pixels, taps, weight.reshape(-1), sums.reshape(-1), bias.reshape(-1), first, last, more)
    for size in range(1, _RUN + 1):
        for r in range(size):
            wanted[size * _RUN + r] = bias[0] + pixels[taps + size + r].astype(np.float64) @ weight
    np.testing.assert_allclose(sums, wanted, rtol=0, atol=1000 * np.finfo(dtype).eps)


def test_sums_stay_in_vector_registers() -> None:
    test_sum_run(np.float32)
    assembly = sum_runs.inspect_asm(sum_runs.signatures[0])
    if "vfmadd" not in assembly:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", assembly)) >= _RUN * (_RUN + 1) // 2
    assert not re.findall(rf"vmov\w+\s+-?\d*\(%r[sb]p\), {register}", assembly)
