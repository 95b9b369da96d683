"""Weight gradient as a product of matrices, against the columns in float64."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution.conv2d import conv2d_grad_weight, problem_of, window_of
from lucid_kernels.cpu.convolution.direct import outer_grad_weight

# (input shape, weight shape, stride, padding, dilation)
CASES: dict[str, tuple[Any, ...]] = {
    "strided": ((5, 6, 9, 7), (16, 6, 3, 3), (2, 2), (1, 1), (1, 1)),
    "outputs that are no whole blocks": ((2, 5, 8, 8), (19, 5, 3, 2), (2, 1), (1, 0), (1, 1)),
    "one image": ((1, 9, 14, 14), (8, 9, 3, 3), (2, 2), (1, 1), (1, 1)),
    "dilated": ((3, 4, 9, 9), (9, 4, 2, 3), (1, 3), (1, 2), (2, 1)),
    "one channel": ((2, 1, 6, 6), (8, 1, 5, 5), (1, 1), (2, 2), (1, 1)),
    "several chunks of channels": ((3, 50, 7, 8), (24, 50, 5, 5), (1, 1), (2, 2), (1, 1)),
    "several parts of the outputs": ((2, 33, 9, 5), (70, 33, 3, 1), (1, 1), (1, 0), (1, 2)),
    "padding that the last outputs do not reach": ((2, 17, 8, 8), (16, 17, 3, 3), (2, 2), (0, 0), (1, 1)),
    "negative padding": ((2, 16, 8, 9), (16, 16, 3, 3), (1, 1), (-1, -2), (1, 1)),
}


@pytest.mark.parametrize("positions", [192, 40, 1], ids=str)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_against_columns(case: tuple[Any, ...], positions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer_grad_weight, "_POSITIONS", positions)
    monkeypatch.setattr(outer_grad_weight, "_plan", outer_grad_weight._plan.__wrapped__)
    x_shape, weight_shape, stride, padding, dilation = case
    window = window_of(x_shape, weight_shape, stride, padding, dilation)
    rng = np.random.default_rng(0)
    x, g = (rng.standard_normal(shape, dtype=np.float32)
            for shape in (x_shape, (x_shape[0], weight_shape[0], window.out_height, window.out_width)))
    dweight = np.full(weight_shape, np.nan, np.float32)
    outer_grad_weight.grad_weight(g, x, window, dweight)
    wanted = conv2d_grad_weight(g.astype(np.float64), x.astype(np.float64), weight_shape=weight_shape, stride=stride,
                                padding=padding, dilation=dilation, groups=1)
    np.testing.assert_allclose(dweight, wanted, rtol=1e-5, atol=1e-4)


def test_nan_and_inf_reach_what_they_meet() -> None:
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 3, 6, 6), dtype=np.float32), rng.standard_normal((2, 8, 3, 3), dtype=np.float32)
    x[1, 1, 0, 0], g[0, 5, 2, 2] = np.inf, np.nan
    dweight = np.empty((8, 3, 2, 2), np.float32)
    window = window_of(x.shape, dweight.shape, (2, 2), (0, 0), (1, 1))
    outer_grad_weight.grad_weight(g, x, window, dweight)
    assert np.isnan(dweight[5]).all()
    others = dweight[np.arange(8) != 5]
    assert np.isinf(others[:, 1, 0, 0]).all()
    others[:, 1, 0, 0] = 0
    assert np.isfinite(others).all()


def test_planes_of_few_positions_with_whole_vectors_of_channels() -> None:
    def why_not(channels: int, outputs: int, size: int, itemsize: int = 4) -> str | None:
        problem, _ = problem_of((8, channels, size, size), (outputs, channels, 5, 5), (1, 1), (2, 2), (1, 1), 1, itemsize)
        return outer_grad_weight.why_not(problem)

    assert why_not(16, 16, 14) is None
    assert why_not(15, 16, 14) == "fewer than 16 channels"
    assert why_not(16, 15, 14) == "fewer than 16 outputs"
    assert why_not(16, 16, 23) == "more than 512 positions"
    assert why_not(16, 16, 14, 8) == "not float32"
