"""The loops of batch normalisation over channels in LLVM IR: some channels of all samples, nothing written beside them."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu import _channel_microkernels as loops
from lucid_kernels.cpu import batch_norm
from lucid_kernels.cpu._microkernels import VECTOR_BYTES

SHAPES = [(1, 3, 1), (5, 4, 7), (3, 6, 16), (40, 3, 16), (2, 5, 33), (9, 4, 64), (3, 3, 700), (2, 4, 5000)]
FIRST, LAST = 1, 3  # the channels that are computed


def arrays(shape: tuple[int, int, int], dtype: Any) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(sum(shape))
    x, g = rng.normal(0.5, 2.0, (2, *shape)).astype(dtype)
    numbers = rng.normal(1.0, 0.5, (3, LAST - FIRST)).astype(dtype)
    return x, g, *numbers


@numba.njit
def sums_of(g, x, y, mean, scale, bias, gm, kind, buffer, totals):
    place = batch_norm.place_of(x, FIRST, LAST)
    if kind == 0:
        loops.shifted_sums(x, place, mean, buffer, totals)
    elif kind == 1:
        loops.grad_sums(g, x, place, mean, scale, bias, buffer, totals)
    elif kind == 2:
        loops.recomputed_grad_sums(g, x, place, mean, scale, bias, buffer, totals)
    else:
        loops.masked_grad_sums(g, y, x, place, mean, gm, buffer, totals)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", range(4))
def test_sums(kind: int, shape: tuple[int, int, int], dtype: Any) -> None:
    x, g, mean, scale, bias = arrays(shape, dtype)
    y, gm = np.maximum(np.roll(x, 1), 0), np.full_like(x, -7)
    lanes = VECTOR_BYTES // x.itemsize
    buffer, totals = np.empty(2 * (LAST - FIRST) * lanes, dtype), np.empty(2 * (LAST - FIRST) * lanes)
    sums_of(g, x, y, mean, scale, bias, gm, kind, buffer, totals)
    d = (x[:, FIRST:LAST] - mean[:, None]).astype(np.float64)
    a = g[:, FIRST:LAST].astype(np.float64)
    if kind == 0:
        a = d
    elif kind == 2:
        a = np.where(d * scale[:, None] + bias[:, None] > 0, a, 0)
    elif kind == 3:
        a = np.where(y[:, FIRST:LAST] > 0, a, 0)
        np.testing.assert_array_equal(gm[:, FIRST:LAST], a)
        gm[:, FIRST:LAST] = -7
    found = totals.reshape(LAST - FIRST, 2, lanes).sum(2)
    tolerance = {"rtol": 1e-5, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-10}
    np.testing.assert_allclose(found, np.stack([a.sum((0, 2)), (a * d).sum((0, 2))], 1), **tolerance)
    np.testing.assert_array_equal(gm, -7)


@numba.njit
def results_of(g, x, mean, scale, bias, kind, y):
    place = batch_norm.backwards(x, FIRST, LAST)
    if kind == 0:
        loops.normalize(x, x, place, mean, scale, bias, y)
    elif kind == 1:
        loops.normalize_relu(x, x, place, mean, scale, bias, y)
    elif kind == 2:
        loops.normalize_add_relu(x, g, place, mean, scale, bias, y)
    elif kind == 3:
        loops.grad(g, x, place, mean, scale, bias, bias, mean, y)
    else:
        loops.recomputed_grad(g, x, place, mean, scale, bias, bias, mean, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", range(5))
def test_results(kind: int, shape: tuple[int, int, int], dtype: Any) -> None:
    """From the last sample to the first; the other channels stay as they are."""
    x, g, mean, scale, bias = arrays(shape, dtype)
    y = np.full_like(x, -7)
    results_of(g, x, mean, scale, bias, kind, y)
    mean, scale, bias = (a.astype(np.float64)[:, None] for a in (mean, scale, bias))
    d, a = x[:, FIRST:LAST] - mean, g[:, FIRST:LAST].astype(np.float64)
    affine = d * scale + bias
    expected = [affine, np.maximum(affine, 0), np.maximum(affine + a, 0), scale * (a - bias - d * mean),
                scale * (np.where(affine > 0, a, 0) - bias - d * mean)][kind]
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(y[:, FIRST:LAST], expected, rtol=tolerance, atol=tolerance)
    y[:, FIRST:LAST] = -7
    np.testing.assert_array_equal(y, -7)


@numba.njit
def moments(x, centres, buffer, totals):
    loops.shifted_sums(x, batch_norm.place_of(x, FIRST, LAST), centres, buffer, totals)


def test_sums_stay_in_vector_registers() -> None:
    x, _, mean, _, _ = arrays((3, 4, 100), np.float32)
    moments(x, mean, np.empty(2 * VECTOR_BYTES, np.float32), np.empty(2 * VECTOR_BYTES))
    assembly = moments.inspect_asm(moments.signatures[0])
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall("vfmadd", block)))
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= 2
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
