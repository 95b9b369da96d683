"""Convolution of patches that do not overlap: values where patches, panels, blocks and images end."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution import patch_embedding
from lucid_kernels.cpu.convolution.conv2d import window_of
from lucid_kernels.cpu.runtime.threads import THREADS

SHAPES = [  # images, channels, outputs, image, patch
    (2, 3, 16, (32, 48), (16, 16)), (3, 2, 24, (35, 50), (14, 14)), (1, 3, 7, (33, 17), (8, 8)), (9, 1, 34, (8, 72), (8, 24)),
    (2, 5, 1, (5, 9), (3, 9)), (1, 3, 300, (64, 33), (32, 33)), (12, 4, 12, (30, 25), (15, 11)), (5, 9, 8, (13, 40), (6, 6)),
]


def normal(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def patches_of(x: np.ndarray, kernel: tuple[int, int]) -> np.ndarray:
    """(N, OH, OW, C, KH, KW) in float64."""
    views = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), kernel, (2, 3))
    return views[:, :, :: kernel[0], :: kernel[1]].transpose(0, 2, 3, 1, 4, 5)


def arrays(shape: Any, dtype: Any) -> tuple[Any, ...]:
    images, channels, outputs, image, kernel = shape
    x, weight = normal((images, channels, *image), dtype), normal((outputs, channels, *kernel), dtype, 1)
    window = window_of(x.shape, weight.shape, kernel, (0, 0), (1, 1))
    return x, weight, normal((images, outputs, *window[8:]), dtype, 2), window


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(shape: Any, dtype: Any) -> None:
    x, weight, _, window = arrays(shape, dtype)
    bias = normal((len(weight),), dtype, 3)
    exact = np.einsum("nyxcij,ocij->noyx", patches_of(x, shape[4]), weight.astype(np.float64))
    tolerance = 20 * np.finfo(dtype).eps * weight[0].size ** 0.5
    np.testing.assert_allclose(patch_embedding.convolve(x, weight, None, window), exact, rtol=0, atol=tolerance)
    np.testing.assert_allclose(patch_embedding.convolve(x, weight, bias, window), exact + bias.reshape(-1, 1, 1), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weight_gradient(shape: Any, dtype: Any) -> None:
    x, weight, g, window = arrays(shape, dtype)
    dweight = np.full(weight.shape, np.nan, dtype)
    patch_embedding.grad_weight(g, x, window, dweight)
    exact = np.einsum("nyxcij,noyx->ocij", patches_of(x, shape[4]), g.astype(np.float64))
    np.testing.assert_allclose(dweight, exact, rtol=0, atol=20 * np.finfo(dtype).eps * (g.size / len(weight)) ** 0.5)


def test_arrays_that_are_not_contiguous() -> None:
    x, weight, _, window = arrays(SHAPES[0], np.float32)
    expected = patch_embedding.convolve(x, weight, None, window)
    turned, spread = np.asfortranarray(weight), np.repeat(x, 2, 1)[:, ::2]
    np.testing.assert_array_equal(patch_embedding.convolve(spread, turned, None, window), expected)


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, g, window = arrays((3, 3, 200, (48, 56), (16, 14)), np.float32)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(THREADS, "value", threads)
        dweight = np.empty_like(weight)
        patch_embedding.grad_weight(g, x, window, dweight)
        results.append((patch_embedding.convolve(x, weight, None, window), dweight))
    for y, dweight in results[1:]:
        np.testing.assert_array_equal(y, results[0][0])
        np.testing.assert_array_equal(dweight, results[0][1])


def test_nan_stays_with_its_patch() -> None:
    x, weight, g, window = arrays((2, 3, 9, (28, 43), (14, 14)), np.float32)
    x[1, 2, 13, 27], x[0, 0, 0, 42] = np.nan, np.inf  # the first patch but one; a pixel in none
    finite = np.isfinite(patch_embedding.convolve(x, weight, None, window))
    assert not finite[1, :, 0, 1].any()
    assert finite.sum() == finite.size - len(weight)
    dweight = np.empty_like(weight)
    patch_embedding.grad_weight(g, x, window, dweight)
    finite = np.isfinite(dweight)
    assert not finite[:, 2, 13, 13].any()
    assert finite.sum() == finite.size - len(weight)
