"""Convolution of patches that do not overlap: values where patches and images end."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_parameters, problem_of
from lucid_kernels.cpu.convolution.implementations import FORWARD, GRAD_INPUT, GRAD_WEIGHT
from lucid_kernels.cpu.runtime.threads import THREADS

SHAPES = [  # images, channels, outputs, image, patch
    (2, 3, 16, (32, 48), (16, 16)), (3, 2, 24, (35, 50), (14, 14)), (1, 3, 7, (33, 17), (8, 8)), (9, 1, 34, (8, 72), (8, 24)),
    (2, 5, 1, (5, 9), (3, 8)), (1, 3, 300, (64, 33), (32, 33)), (12, 4, 12, (30, 25), (15, 11)), (5, 9, 8, (13, 40), (6, 6)),
]


def arrays(shape: Any, dtype: Any) -> tuple[Any, ...]:
    """x, weight, bias, g, and the attributes."""
    images, channels, outputs, image, kernel = shape
    rng = np.random.default_rng(0)
    positions = [length // size for length, size in zip(image, kernel)]
    shapes = (images, channels, *image), (outputs, channels, *kernel), (outputs,), (images, outputs, *positions)
    return (*(rng.standard_normal(some).astype(dtype) for some in shapes),
            {"stride": kernel, "padding": (0, 0), "dilation": (1, 1), "groups": 1})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(shape: Any, dtype: Any) -> None:
    x, weight, bias, g, attributes = arrays(shape, dtype)
    problem, _ = problem_of(x.shape, weight.shape, **attributes)
    assert {some.choose(problem).name for some in (FORWARD, GRAD_INPUT, GRAD_WEIGHT)} == {"patch_embedding"}
    kernel, eps = shape[4], np.finfo(dtype).eps
    views = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), kernel, (2, 3))[:, :, :: kernel[0], :: kernel[1]]
    exact = np.einsum("ncyxij,ocij->noyx", views, weight.astype(np.float64)) + bias.astype(np.float64).reshape(-1, 1, 1)
    np.testing.assert_allclose(conv2d(x, weight, bias, **attributes), exact, rtol=0, atol=20 * eps * weight[0].size ** 0.5)
    dweight, dbias = conv2d_grad_parameters(g, x, weight_shape=weight.shape, **attributes)
    exact = np.einsum("ncyxij,noyx->ocij", views, g.astype(np.float64))
    np.testing.assert_allclose(dweight, exact, rtol=0, atol=20 * eps * (g.size / len(weight)) ** 0.5)
    np.testing.assert_allclose(dbias, g.sum((0, 2, 3), np.float64), rtol=0, atol=20 * eps * (g.size / len(weight)) ** 0.5)
    dx = conv2d_grad_input(g, weight, input_shape=x.shape, **attributes)
    exact = np.einsum("noyx,ocij->ncyixj", g.astype(np.float64), weight.astype(np.float64))
    down, across = (count * size for count, size in zip(g.shape[2:], kernel))
    np.testing.assert_allclose(dx[:, :, :down, :across], exact.reshape(*x.shape[:2], down, across), rtol=0,
                               atol=40 * eps * len(weight) ** 0.5)
    assert not dx[:, :, down:].any() and not dx[:, :, :, across:].any()


def test_arrays_that_are_not_contiguous() -> None:
    x, weight, bias, _, attributes = arrays(SHAPES[0], np.float32)
    turned, spread = np.asfortranarray(weight), np.repeat(x, 2, 1)[:, ::2]
    np.testing.assert_array_equal(conv2d(spread, turned, bias, **attributes), conv2d(x, weight, bias, **attributes))


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias, g, attributes = arrays((3, 3, 200, (48, 56), (16, 14)), np.float32)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(THREADS, "value", threads)
        results.append((conv2d(x, weight, bias, **attributes),
                        *conv2d_grad_parameters(g, x, weight_shape=weight.shape, **attributes)))
    for other in results[1:]:
        for got, wanted in zip(other, results[0]):
            np.testing.assert_array_equal(got, wanted)


def test_nan_stays_with_its_patch() -> None:
    x, weight, bias, _, attributes = arrays((2, 3, 9, (28, 43), (14, 14)), np.float32)
    x[1, 2, 13, 27], x[0, 0, 0, 42] = np.nan, np.inf  # the first patch but one; a pixel in none
    finite = np.isfinite(conv2d(x, weight, bias, **attributes))
    assert not finite[1, :, 0, 1].any()
    assert finite.sum() == finite.size - len(weight)
