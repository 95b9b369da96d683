"""Dilated 3x3 convolution by phases against direct convolution in float64."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution.conv2d import problem_of
from lucid_kernels.cpu.convolution.winograd import dilated as winograd_dilated
from lucid_kernels.cpu.runtime import tuning

from .results import compute

# (input shape, output channels, padding, dilation)
CASES = {
    "phases alike": ((2, 5, 16, 12), 7, (2, 2), (2, 2)),
    "phases of several sizes": ((2, 3, 13, 19), 6, (3, 4), (3, 4)),
    "one direction": ((2, 4, 9, 14), 5, (1, 3), (1, 3)),
    "no padding": ((1, 3, 14, 15), 4, (0, 0), (4, 3)),
    "twice the padding": ((2, 3, 11, 10), 4, (4, 6), (2, 3)),
    "phases of one pixel and of two": ((2, 3, 5, 7), 4, (4, 6), (4, 6)),
}


@pytest.fixture
def always(monkeypatch):
    """Small convolutions go this way too."""
    monkeypatch.setattr(tuning, "WINOGRAD_DILATED_LEAST_CHANNELS", 1)
    monkeypatch.setattr(tuning, "WINOGRAD_DILATED_MOST_PRODUCTS", 100)
    for name in ("LEAST_CHANNELS", "LEAST_PAIRS", "LEAST_TILES"):
        monkeypatch.setattr(tuning, f"WINOGRAD_{name}", 1)


def data(case: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """x, weight, bias, an upstream gradient, and the attributes."""
    shape, outputs, padding, dilation = case
    rng = np.random.default_rng(0)
    sides = (n + 2 * p - 2 * d for n, p, d in zip(shape[2:], padding, dilation))
    shapes = (shape, (outputs, shape[1], 3, 3), (outputs,), (shape[0], outputs, *sides))
    arrays = [rng.standard_normal(some, dtype=np.float32) for some in shapes]
    return *arrays, {"stride": (1, 1), "padding": padding, "dilation": dilation, "groups": 1}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_against_float64(case, always):
    *arrays, attributes = data(case)
    x, weight = arrays[:2]
    assert winograd_dilated.why_not(problem_of(x.shape, weight.shape, **attributes)[0]) is None
    wanted = compute(*(array.astype(np.float64) for array in arrays), attributes)
    for got, want in zip(compute(*arrays, attributes), wanted):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=4e-5)


@pytest.mark.parametrize("pixel", [np.inf, np.nan])
def test_nan_and_inf_reach_what_they_reach_directly(pixel, always, monkeypatch, forget_choices):
    """Also at the edge, where phases have no more pixels and zeros instead."""
    x, weight, bias, g, attributes = data(CASES["phases of several sizes"])
    x[0, 1, 12, 18] = g[1, 2, 12, 18] = pixel
    results = compute(x, weight, bias, g, attributes)
    monkeypatch.setattr(tuning, "WINOGRAD_DILATED_LEAST_CHANNELS", 100)
    forget_choices()
    for got, want in zip(results, compute(x, weight, bias, g, attributes)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_unequal_paddings_and_float64_go_another_way(always):
    x, weight, _, _, attributes = data(CASES["phases alike"])
    unequal = problem_of(x.shape, weight.shape, (1, 1), (1, 2), (2, 2), 1)[0]
    assert winograd_dilated.why_not(unequal) == "the padding is no multiple of the dilation"
    assert winograd_dilated.why_not(problem_of(x.shape, weight.shape, **attributes, itemsize=8)[0]) == "not float32"
