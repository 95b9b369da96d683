"""Depthwise convolution of volumes: against sums over taps in float64, its adjoint, and where NaN, inf and empty slices go."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from lucid.backends import cpu

# (samples, channels, slices, height, width), outputs of a channel, taps, strides, padding, dilation
CASES = [((2, 3, 5, 7, 6), 1, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
         ((2, 17, 5, 7, 6), 1, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
         ((1, 4, 6, 20, 33), 1, (3, 3, 3), (1, 2, 2), (1, 1, 1), (1, 1, 1)),
         ((1, 16, 6, 9, 10), 2, (3, 3, 3), (1, 2, 2), (1, 1, 1), (1, 1, 1)),
         ((1, 4, 6, 20, 33), 2, (2, 5, 5), (2, 2, 2), (3, 2, 2), (2, 1, 1)),
         ((2, 20, 6, 9, 8), 1, (3, 4, 4), (3, 2, 2), (0, 2, 2), (1, 1, 1)),
         ((2, 3, 4, 30, 40), 1, (3, 7, 7), (1, 1, 1), (1, 3, 3), (1, 1, 1)),
         ((2, 3, 4, 13, 40), 1, (3, 2, 4), (1, 3, 2), (1, 1, 2), (1, 2, 3)),
         ((1, 5, 3, 30, 40), 3, (1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1)),
         ((1, 2, 1, 2, 2), 1, (2, 2, 2), (2, 1, 1), (3, 0, 0), (3, 1, 1)),
         ((2, 18, 3, 1, 1), 1, (3, 1, 3), (1, 1, 2), (1, 0, 1), (1, 1, 1))]


def convolve(x: np.ndarray, weight: np.ndarray, bias: Any, **attributes: Any) -> np.ndarray:
    return cpu.TABLE["conv3d"](x, weight, bias, groups=x.shape[1], **attributes)  # type: ignore[no-any-return]


def grad_input(g: np.ndarray, weight: np.ndarray, **attributes: Any) -> np.ndarray:
    groups = attributes["input_shape"][1]
    return cpu.TABLE["conv3d_grad_input"](g, weight, groups=groups, **attributes)  # type: ignore[no-any-return]


def data(case: Any, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    shape, each, taps, stride, padding, dilation = case
    rng = np.random.default_rng(0)
    arrays = (rng.standard_normal(s).astype(dtype) for s in (shape, (shape[1] * each, 1, *taps), (shape[1] * each,)))
    return (*arrays, {"stride": stride, "padding": padding, "dilation": dilation})  # type: ignore[return-value]


def naive(x: np.ndarray, weight: np.ndarray, stride: Any, padding: Any, dilation: Any) -> np.ndarray:
    """The convolution in float64, tap by tap."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *((p, p) for p in padding)))
    padded = padded.repeat(len(weight) // x.shape[1], 1)
    kernel = weight.shape[2:]
    lengths = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], kernel, stride, dilation)]
    y = np.zeros((*padded.shape[:2], *lengths))
    for tap in itertools.product(*map(range, kernel)):
        met = [slice(a * d, a * d + (n - 1) * s + 1, s) for a, d, n, s in zip(tap, dilation, lengths, stride)]
        y += padded[:, :, met[0], met[1], met[2]] * weight[:, :, tap[0], tap[1], tap[2]].reshape(-1, 1, 1, 1)
    return y


@pytest.mark.parametrize("lanes", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_taps(case: Any, dtype: Any, lanes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the channels as lanes where that is possible, or never; slices are stacked where planes have no microkernel."""
    for name in ("MOST_BYTES", "MOST_BYTES_WITHOUT_PLANES"):
        monkeypatch.setattr(tuning, f"DEPTHWISE_CHANNELS_{name}", 1 << 30 if lanes else 0)
    x, weight, bias, attributes = data(case, dtype)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    wanted = naive(x, weight, **attributes)
    y = convolve(x, weight, bias, **attributes)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, wanted + bias.reshape(-1, 1, 1, 1), rtol=0, atol=tolerance * max(1, np.abs(wanted).max()))
    np.testing.assert_allclose(convolve(x, weight, None, **attributes), wanted, rtol=0, atol=50 * tolerance)
    # The gradient is the adjoint: each of its elements is a product of g with what the element alone makes.
    g = np.random.default_rng(1).standard_normal(y.shape).astype(dtype)
    dx = grad_input(g, weight, input_shape=x.shape, **attributes)
    assert dx.dtype == dtype and dx.shape == x.shape
    probes = np.random.default_rng(2).standard_normal((4, *x.shape))
    for probe in probes:
        inner = (g.astype(np.float64) * naive(probe, weight.astype(np.float64), **attributes)).sum()
        assert (dx * probe).sum(dtype=np.float64) == pytest.approx(inner, rel=100 * tolerance, abs=1e3 * tolerance)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("channels", [3, 18])
def test_nan_and_inf_stay_where_they_are_met(bad: float, channels: int) -> None:
    x, weight = np.zeros((2, channels, 4, 6, 6), np.float32), np.ones((channels, 1, 3, 3, 3), np.float32)
    x[1, 1, 0, 2, 2] = bad
    attributes = {"stride": (1, 1, 1), "padding": (1, 1, 1), "dilation": (1, 1, 1)}
    wanted = np.zeros_like(x)
    wanted[1, 1, :2, 1:4, 1:4] = bad
    np.testing.assert_array_equal(convolve(x, weight, None, **attributes), wanted)
    np.testing.assert_array_equal(grad_input(x, weight, input_shape=x.shape, **attributes), wanted)


@pytest.mark.parametrize("channels", [2, 20])
def test_any_strides(channels: int) -> None:
    case = ((2, channels, 4, 5, 6), 1, (2, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1))
    x, weight, bias, attributes = data(case)
    y = convolve(x, weight, bias, **attributes)
    strided = (np.asfortranarray(x), np.asfortranarray(weight), np.repeat(bias, 2)[::2])
    np.testing.assert_array_equal(convolve(*strided, **attributes), y)
    dx = grad_input(y, weight, input_shape=x.shape, **attributes)
    found = grad_input(np.asfortranarray(y), strided[1], input_shape=x.shape, **attributes)
    np.testing.assert_array_equal(found, dx)


def test_results_do_not_depend_on_threads() -> None:
    x, weight, bias, attributes = data(((2, 5, 6, 40, 50), 1, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)), np.float32)
    y, before = convolve(x, weight, bias, **attributes), get_num_threads()
    set_num_threads(1)
    try:
        np.testing.assert_array_equal(convolve(x, weight, bias, **attributes), y)
    finally:
        set_num_threads(before)
