"""Batch normalisation cut along the samples gives what it gives along the channels."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.normalization import batch_norm_samples as by_samples
from lucid_kernels.cpu.normalization.batch_norm import batch_norm, batch_norm_grad
from lucid_kernels.cpu.normalization.batch_norm_relu import batch_norm_relu, batch_norm_relu_grad
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

OPTIONS: dict[str, Any] = {"momentum": 0.1, "eps": 1e-5}
SHAPES = {np.float32: [(64, 16, 8, 8), (9, 33, 15, 15), (70, 7, 13, 11), (8, 1, 128, 64)], np.float64: [(64, 16, 6, 8)]}


def data(shape: tuple[int, ...], dtype: Any, bad: float | None) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    x, g, residual = (rng.normal(3.0, 2.0, shape).astype(dtype) for _ in range(3))
    if bad is not None:
        x[shape[0] // 2, 0, 1, 2] = g[shape[0] - 1, 0, 0, 0] = bad
    return (x, g, residual, *(rng.normal(size=shape[1]).astype(dtype) for _ in range(3)), rng.random(shape[1]).astype(dtype))


def results(shape: tuple[int, ...], dtype: Any, bad: float | None) -> list[np.ndarray]:
    """Those of each function and its gradient."""
    x, g, residual, weight, bias, mean, var = data(shape, dtype, bad)
    found: list[Any] = [*batch_norm(x, weight, bias, mean, var, **OPTIONS)]
    found += batch_norm_grad(g, x, weight, *found[1:3])
    for added in (None, residual):
        y, *statistics = batch_norm_relu(x, added, weight, bias, mean, var, training=True, **OPTIONS)
        kept = None if added is None else y
        found += [y, *statistics, *batch_norm_relu_grad(g, x, kept, weight, bias, *statistics[:2], training=True)]
    return [array for array in found if array is not None]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize(("dtype", "shape"), [(dtype, shape) for dtype in SHAPES for shape in SHAPES[dtype]])
def test_as_along_the_channels(dtype: Any, shape: tuple[int, ...], bad: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_samples.suits(np.empty(shape, dtype).reshape(*shape[:2], -1), True)
    got = results(shape, dtype, bad)
    monkeypatch.setattr(by_samples, "suits", lambda x, training: False)
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    for some, wanted in zip(got, results(shape, dtype, bad), strict=True):
        np.testing.assert_allclose(some, wanted, rtol=tolerance, atol=tolerance * 50)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    expected, before = results((64, 16, 8, 8), np.float32, None), get_num_threads()
    try:
        for number in (1, 3):
            set_num_threads(number)
            for some, wanted in zip(results((64, 16, 8, 8), np.float32, None), expected, strict=True):
                np.testing.assert_array_equal(some, wanted)
    finally:
        set_num_threads(before)


def test_which_arrays() -> None:
    suits = by_samples.suits
    assert not suits(np.empty((64, 16, 8), np.float32), True)  # small: one thread
    assert not suits(np.empty((7, 64, 256), np.float32), True)  # few samples
    assert not suits(np.empty((64, 64, 128), np.float32), True)  # large
    assert not suits(np.empty((64, 16, 64), np.float32), None)  # with the running statistics there is one pass
