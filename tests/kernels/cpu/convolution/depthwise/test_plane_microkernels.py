"""The loops over one plane in LLVM IR: what they compute, what they do not read, and that their sums stay in registers."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.convolution.depthwise.plane_grad_microkernels import spread_3, spread_4, spread_5
from lucid_kernels.cpu.convolution.depthwise.plane_microkernels import (
    correlate_planes,
    correlate_planes_strided,
    filter_3,
    filter_3_strided,
    filter_3x3,
    filter_5,
    filter_5_strided,
    filter_7,
)
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.dot import RUN_SUMS

from tests.kernels.cpu.assembly import of_float32
from tests.kernels.cpu.convolution.direct.test_microkernels import innermost

MICROKERNELS = {(3, 1): filter_3, (5, 1): filter_5, (7, 1): filter_7, (3, 2): filter_3_strided, (5, 2): filter_5_strided}
OFFSET = 5  # elements before each plane


def compiled(microkernel: Any) -> Any:
    @numba.njit
    def call(x, height, width, weight, columns, dilation, top, left, bias, y, y_height, y_width, accumulate):
        spare = np.zeros(width + y_width, x.dtype)
        microkernel(x, 5, height, width, weight, 1, columns, dilation, top, left, bias, y, 5, y_height, y_width, accumulate, spare)

    return call


FILTERS = {key: compiled(microkernel) for key, microkernel in MICROKERNELS.items()}


@numba.njit
def filter_by_two(x, height, width, weight, top, left, bias, y, y_height, y_width, accumulate):
    spare = np.zeros(width + y_width, x.dtype)
    filter_3x3(x, 5, height, width, weight, 1, top, left, bias, y, 5, y_height, y_width, accumulate, spare)


def correlating(microkernel: Any) -> Any:
    @numba.njit
    def call(g, g_height, g_width, x, height, width, top, left, sums):
        microkernel(g, 5, g_height, g_width, 0, x, 5, height, width, 0, top, left, np.zeros(width, x.dtype), sums)

    return call


CORRELATIONS = {1: correlating(correlate_planes), 2: correlating(correlate_planes_strided)}


def spreading(microkernel: Any) -> Any:
    @numba.njit
    def call(g, g_height, g_width, weight, top, left, x, height, width, accumulate):
        spare = np.zeros(g_width + width, x.dtype)
        microkernel(g, 5, g_height, g_width, weight, 1, top, left, x, 5, height, width, accumulate, spare)

    return call


SPREADS = {3: spreading(spread_3), 4: spreading(spread_4), 5: spreading(spread_5)}


def surrounded(plane: np.ndarray) -> np.ndarray:
    """A plane as flat memory between NaNs, which spoil every result that reads beyond the plane."""
    nothing = np.full(OFFSET, np.nan, plane.dtype)
    return np.concatenate([nothing, plane.reshape(-1), nothing])


def filtered(x: np.ndarray, weight: np.ndarray, shape: tuple[int, int], stride: int, dilation: int, top: int, left: int) -> Any:
    """The sums in float64, one output at a time."""
    y = np.zeros(shape)
    for i, j in np.ndindex(shape):
        for a, b in np.ndindex(weight.shape):
            row, column = stride * i + a - top, stride * j + b * dilation - left
            if 0 <= row < x.shape[0] and 0 <= column < x.shape[1]:
                y[i, j] += float(weight[a, b]) * float(x[row, column])
    return y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("height", "stride"), MICROKERNELS)
@pytest.mark.parametrize(("shape", "columns", "dilation", "top", "left"), [
    ((1, 1), 3, 1, 1, 1), ((7, 7), 3, 1, 1, 1), ((9, 40), 2, 3, 0, 2), ((5, 17), 1, 1, 2, 0), ((3, 33), 5, 1, 4, 7)])
def test_filter_plane(dtype: Any, height: int, stride: int, shape: Any, columns: int, dilation: int, top: int, left: int) -> None:
    dilation = dilation if stride == 1 else 1
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=shape).astype(dtype), rng.normal(size=(height, columns)).astype(dtype)
    result = (-(-shape[0] // stride), -(-shape[1] // stride) + 1)
    expected = filtered(x, weight, result, stride, dilation, top, left)
    y = np.full(result[0] * result[1] + 2 * OFFSET, -7, dtype)
    arguments = (*shape, np.append(dtype(np.nan), weight), columns, dilation, top, left, dtype(0.5), y, *result)
    for accumulate in (False, True):
        FILTERS[height, stride](surrounded(x), *arguments, accumulate)
        wanted = 0.5 + expected * (2 if accumulate else 1)
        np.testing.assert_allclose(y[OFFSET:-OFFSET].reshape(result), wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(y[:OFFSET], -7)
        np.testing.assert_array_equal(y[-OFFSET:], -7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "result", "top", "left"), [
    ((1, 1), (1, 1), 1, 1), ((7, 7), (7, 7), 1, 1), ((9, 40), (9, 40), 1, 1), ((5, 17), (3, 15), 0, 0), ((3, 33), (6, 37), 3, 4),
    ((15, 70), (16, 70), 2, 1)])
def test_filter_plane_by_two_vectors(dtype: Any, shape: Any, result: Any, top: int, left: int) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=shape).astype(dtype), rng.normal(size=(3, 3)).astype(dtype)
    expected = filtered(x, weight, result, 1, 1, top, left)
    y = np.full(result[0] * result[1] + 2 * OFFSET, -7, dtype)
    for accumulate in (False, True):
        filter_by_two(surrounded(x), *shape, np.append(dtype(np.nan), weight), top, left, dtype(0.5), y, *result, accumulate)
        wanted = 0.5 + expected * (2 if accumulate else 1)
        np.testing.assert_allclose(y[OFFSET:-OFFSET].reshape(result), wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(y[:OFFSET], -7)
        np.testing.assert_array_equal(y[-OFFSET:], -7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", CORRELATIONS)
@pytest.mark.parametrize(("shape", "top", "left"), [((1, 1), 1, 1), ((7, 7), 1, 1), ((10, 33), 0, 2), ((5, 16), 2, 0)])
def test_correlate_planes(dtype: Any, stride: int, shape: Any, top: int, left: int) -> None:
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=shape).astype(dtype), rng.normal(size=(shape[0] // stride + 1, shape[1] // stride + 2)).astype(dtype)
    sums = np.full(RUN_SUMS, -7, dtype)
    CORRELATIONS[stride](surrounded(g), *g.shape, surrounded(x), *shape, top, left, sums)
    wanted = np.zeros((3, 3))
    for (i, j), value in np.ndenumerate(g):
        for a, b in np.ndindex(3, 3):
            row, column = stride * i + a - top, stride * j + b - left
            if 0 <= row < shape[0] and 0 <= column < shape[1]:
                wanted[a, b] += float(value) * float(x[row, column])
    np.testing.assert_allclose(sums[:9].reshape(3, 3), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SPREADS)
@pytest.mark.parametrize(("shape", "top", "left"), [
    ((1, 1), 1, 1), ((7, 7), 1, 1), ((8, 40), 0, 2), ((5, 17), 2, 0), ((3, 33), 4, 3), ((2, 70), 0, 1)])
def test_spread_plane(dtype: Any, size: int, shape: Any, top: int, left: int) -> None:
    rng = np.random.default_rng(0)
    lengths = [max(1, (length + 2 * edge - size) // 2 + 1) for length, edge in zip(shape, (top, left))]
    g = rng.normal(size=lengths).astype(dtype)
    weight = rng.normal(size=(size, size)).astype(dtype)
    wanted = np.zeros(shape)
    for (i, j), value in np.ndenumerate(g):
        for a, b in np.ndindex(size, size):
            row, column = 2 * i + a - top, 2 * j + b - left
            if 0 <= row < shape[0] and 0 <= column < shape[1]:
                wanted[row, column] += float(value) * float(weight[a, b])
    x = np.full(wanted.size + 2 * OFFSET, -7, dtype)
    for accumulate in (False, True):
        SPREADS[size](surrounded(g), *g.shape, np.append(dtype(np.nan), weight), top, left, x, *shape, accumulate)
        np.testing.assert_allclose(x[OFFSET:-OFFSET].reshape(shape), wanted * (1 + accumulate), rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(x[:OFFSET], -7)
        np.testing.assert_array_equal(x[-OFFSET:], -7)


def test_inf_that_no_gradient_meets_stays_away() -> None:
    """The lanes beyond a row of g are zeros, and so are rows beyond its last: with an inf of x there they would make NaN."""
    g, x = np.ones((3, 3), np.float32), np.ones((3, 5), np.float32)
    x[:, 4] = np.inf
    sums = np.zeros(RUN_SUMS, np.float32)
    CORRELATIONS[1](surrounded(g), 3, 3, surrounded(x), 3, 5, 0, 0, sums)
    np.testing.assert_array_equal(sums[:9].reshape(3, 3), [[9, 9, np.inf], [6, 6, np.inf], [3, 3, np.inf]])
    x = np.ones((5, 5), np.float32)
    x[4] = np.inf
    CORRELATIONS[1](surrounded(g), 3, 3, surrounded(x), 5, 5, 0, 0, sums)
    np.testing.assert_array_equal(sums[:9].reshape(3, 3), [[9] * 3, [9] * 3, [np.inf] * 3])
    x = np.ones((6, 6), np.float32)
    x[5] = x[:, 5] = np.inf
    CORRELATIONS[2](surrounded(g[:2, :2]), 2, 2, surrounded(x), 6, 6, 0, 0, sums)
    np.testing.assert_array_equal(sums[:9], 4)


def test_inf_outside_of_the_taps_stays_away() -> None:
    """Two columns of taps share loads with strides of 2, and an odd number of columns leaves one that shares with nothing."""
    x = np.ones((5, 6), np.float32)
    x[:, 5] = np.inf
    y = np.empty(4 + 2 * OFFSET, np.float32)
    FILTERS[3, 2](surrounded(x), 5, 6, np.ones(10, np.float32), 3, 1, 0, 0, np.float32(0), y, 2, 2, False)
    np.testing.assert_array_equal(y[OFFSET:-OFFSET], 9)


@pytest.mark.parametrize("function", [FILTERS[3, 1], filter_by_two, *CORRELATIONS.values(), SPREADS[3]],
                         ids=["filter_3", "filter_3x3", "correlate_planes", "correlate_planes_strided", "spread_3"])
def test_sums_stay_in_vector_registers(function: Any) -> None:
    for stride in CORRELATIONS:
        test_correlate_planes(np.float32, stride, (7, 7), 1, 1)
    test_filter_plane(np.float32, 3, 1, (7, 7), 3, 1, 1, 1)
    test_filter_plane_by_two_vectors(np.float32, (7, 7), (7, 7), 1, 1)
    test_spread_plane(np.float32, 3, (7, 7), 1, 1)
    assembly = of_float32(function)
    loop = innermost(function)
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    rows = 7 if VECTOR_BYTES == 64 else 4
    products = {FILTERS[3, 1]: 3 * rows, SPREADS[3]: 18}.get(function, 9 * rows)
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", assembly)) >= products
    if VECTOR_BYTES == 64 or function is FILTERS[3, 1]:  # masks take vector registers elsewhere, and there are 16 only
        assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p\)", loop)
