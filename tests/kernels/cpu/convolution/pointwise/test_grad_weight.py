"""Weight gradients of 1x1 convolutions of whole planes: values at the edges of panels, blocks and sums."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.arrays.window import Window
from lucid_kernels.cpu.convolution.pointwise import grad_weight as pointwise_grad_weight
from lucid_kernels.cpu.runtime.threads import THREADS

WINDOW = Window(1, 1, 1, 1, 0, 0, 1, 1, 0, 0)  # not asked for the sizes of the result


def normal(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("images", "outputs", "channels", "plane"), [
    (8, 24, 16, (7, 9)), (9, 10, 33, (3, 5)), (8, 34, 34, (21, 25)), (17, 4, 1, (1, 1)), (1, 520, 300, (4, 8)), (3, 24, 16, (5, 5)),
    (8, 5, 3, (4, 4)),
], ids=str)
def test_values(images: int, outputs: int, channels: int, plane: Any, dtype: Any) -> None:
    g, x = normal((images, outputs, *plane), dtype), normal((images, channels, *plane), dtype, 1)
    dweight = np.full((outputs, channels, 1, 1), np.nan, dtype)
    pointwise_grad_weight.grad_weight(g, x, WINDOW, dweight)
    exact = np.einsum("noij,ncij->oc", g.astype(np.float64), x.astype(np.float64))
    tolerance = 20 * np.finfo(dtype).eps * (images * plane[0] * plane[1]) ** 0.5
    np.testing.assert_allclose(dweight[:, :, 0, 0], exact, rtol=0, atol=tolerance)


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    g, x = normal((10, 24, 19, 21), np.float32), normal((10, 40, 19, 21), np.float32, 1)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(THREADS, "value", threads)
        dweight = np.full((24, 40, 1, 1), np.nan, np.float32)
        pointwise_grad_weight.grad_weight(g, x, WINDOW, dweight)
        results.append(dweight)
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_nan_stays_with_its_channels() -> None:
    g, x = normal((8, 24, 5, 5), np.float32), normal((8, 17, 5, 5), np.float32, 1)
    g[3, 2, 1, 1], x[7, 16, 4, 4] = np.nan, np.inf
    dweight = np.empty((24, 17, 1, 1), np.float32)
    pointwise_grad_weight.grad_weight(g, x, WINDOW, dweight)
    finite = np.isfinite(dweight[:, :, 0, 0])
    assert finite.sum() == 23 * 16
    assert not finite[2].any()
    assert not finite[:, 16].any()
