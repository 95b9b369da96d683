"""Bands of output rows that leave out rows of taps which meet only padding."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution import dilation_bands
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_parameters, window_of
from lucid_kernels.cpu.runtime import tuning

# (input shape, weight shape, stride, padding, dilation)
CASES: dict[str, tuple[Any, ...]] = {
    "three bands": ((2, 16, 9, 10), (24, 16, 3, 3), (1, 1), (4, 4), (4, 4)),
    "the middle row of taps alone": ((2, 16, 9, 10), (24, 16, 3, 3), (1, 1), (6, 6), (6, 6)),
    "two bands without padding below": ((1, 9, 12, 9), (17, 9, 2, 3), (1, 1), (6, 1), (8, 1)),
    "strided": ((2, 16, 21, 10), (24, 16, 3, 3), (2, 1), (10, 1), (10, 1)),
    "copies for each row of taps": ((1, 24, 60, 65), (16, 24, 3, 3), (1, 1), (24, 24), (24, 24)),
    "groups": ((2, 32, 9, 10), (48, 16, 3, 3), (1, 1), (6, 6), (6, 6)),
    "many rows of taps": ((2, 16, 4, 24), (24, 16, 7, 3), (1, 1), (3, 1), (1, 1)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_and_gradients(case: tuple[Any, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch, forget_choices: Any) -> None:
    """Against the same in float64 with all rows of taps."""
    x_shape, weight_shape, stride, padding, dilation = case
    window = window_of(x_shape, weight_shape, stride, padding, dilation)
    geometry = {"stride": stride, "padding": padding, "dilation": dilation, "groups": x_shape[1] // weight_shape[1]}
    rng = np.random.default_rng(0)
    shapes = x_shape, weight_shape, weight_shape[:1], (x_shape[0], weight_shape[0], window.out_height, window.out_width)
    x, weight, bias, g = (rng.standard_normal(shape).astype(dtype) for shape in shapes)

    def results(*arrays: np.ndarray) -> list[np.ndarray]:
        x, weight, bias, g = arrays
        return [conv2d(x, weight, bias, **geometry), conv2d_grad_input(g, weight, input_shape=x_shape, **geometry),
                *conv2d_grad_parameters(g, x, weight_shape=weight_shape, **geometry)]

    kept = dilation_bands.valid_share, dilation_bands.bands_of, dilation_bands.valid_rows
    monkeypatch.setattr(tuning, "DILATION_BANDS_LEAST_POSITIONS", 1)
    for function in kept:
        function.cache_clear()
    assert dilation_bands.valid_rows(window, x_shape[2])
    given = results(x, weight, bias, g)
    monkeypatch.setattr(tuning, "DILATION_BANDS_MOST_PRODUCTS", 0)
    forget_choices()
    for function in kept:
        function.cache_clear()
    expected = results(*(array.astype(np.float64) for array in (x, weight, bias, g)))
    for function in kept:
        function.cache_clear()
    for some, exact in zip(given, expected, strict=True):
        np.testing.assert_allclose(some, exact, rtol=0, atol=300 * np.finfo(dtype).eps * max(1, np.abs(exact).max()))


def test_rows_of_taps_that_a_band_meets() -> None:
    window = window_of((1, 1, 33, 33), (1, 1, 3, 3), (1, 1), (12, 12), (12, 12))
    assert dilation_bands.bands_of(window, 33) == ((0, 12, 1, 3), (12, 21, 0, 3), (21, 33, 0, 2))
    assert dilation_bands.valid_rows(window, 33) == ((12, 33, 0, 1), (0, 33, 1, 2), (0, 21, 2, 3))
    assert dilation_bands.valid_share(window, 33) == 75 / 99
    beyond = window_of((1, 1, 60, 60), (1, 1, 2, 3), (1, 1), (80, 1), (85, 1))
    assert dilation_bands.bands_of(beyond, 60) == ((0, beyond.out_height, 0, 2),)  # rows in between meet nothing
    small = window_of((1, 1, 9, 9), (1, 1, 3, 3), (1, 1), (6, 6), (6, 6))
    assert dilation_bands.bands_of(small, 9) == ((0, 9, 0, 3),)
    plain = window_of((1, 1, 33, 33), (1, 1, 3, 3), (1, 1), (1, 1), (1, 1))
    assert dilation_bands.bands_of(plain, 33) == ((0, 33, 0, 3),)
    assert dilation_bands.valid_rows(plain, 33) == ()


def test_nan_reaches_what_meets_it() -> None:
    """Rows of taps that are left out would multiply zeros."""
    x, weight = np.ones((1, 16, 33, 33), np.float32), np.ones((16, 16, 3, 3), np.float32)
    x[0, 0, 0, 0] = np.nan
    y = conv2d(x, weight, None, stride=(1, 1), padding=(12, 12), dilation=(12, 12), groups=1)
    met = np.zeros((33, 33), bool)
    met[np.ix_([0, 12], [0, 12])] = True
    assert (np.isnan(y) == met).all()
