"""Weight gradient as a product of matrices, against the columns in float64."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu import _outer_grad_weight
from lucid_kernels.cpu.conv2d import conv2d_grad_parameters, window_of

# (input shape, weight shape, stride, padding, dilation)
CASES: dict[str, tuple[Any, ...]] = {
    "strided": ((5, 6, 9, 7), (16, 6, 3, 3), (2, 2), (1, 1), (1, 1)),
    "outputs that are no whole blocks": ((2, 5, 8, 8), (19, 5, 3, 2), (2, 1), (1, 0), (1, 1)),
    "one image": ((1, 9, 14, 14), (8, 9, 3, 3), (2, 2), (1, 1), (1, 1)),
    "dilated": ((3, 4, 9, 9), (9, 4, 2, 3), (1, 3), (1, 2), (2, 1)),
    "one channel": ((2, 1, 6, 6), (8, 1, 5, 5), (1, 1), (2, 2), (1, 1)),
}


@pytest.mark.parametrize("positions", [192, 40, 1], ids=str)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_against_columns(case: tuple[Any, ...], positions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_outer_grad_weight, "_POSITIONS", positions)
    monkeypatch.setattr(_outer_grad_weight, "_plan", _outer_grad_weight._plan.__wrapped__)
    x_shape, weight_shape, stride, padding, dilation = case
    window = window_of(x_shape, weight_shape, stride, padding, dilation)
    rng = np.random.default_rng(0)
    x, g = (rng.standard_normal(shape, dtype=np.float32)
            for shape in (x_shape, (x_shape[0], weight_shape[0], window.out_height, window.out_width)))
    dweight, dbias = np.full(weight_shape, np.nan, np.float32), np.full(weight_shape[0], np.nan, np.float32)
    _outer_grad_weight.grad_weight(g, x, window, dweight, dbias)
    wanted = conv2d_grad_parameters(g.astype(np.float64), x.astype(np.float64), weight_shape=weight_shape, stride=stride,
                                    padding=padding, dilation=dilation, groups=1)
    np.testing.assert_allclose(dweight, wanted[0], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(dbias, wanted[1], rtol=1e-5, atol=1e-4)
    again = np.full(weight_shape, np.nan, np.float32)
    _outer_grad_weight.grad_weight(g, x, window, again)
    np.testing.assert_array_equal(again, dweight)


def test_nan_and_inf_reach_what_they_meet() -> None:
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 3, 6, 6), dtype=np.float32), rng.standard_normal((2, 8, 3, 3), dtype=np.float32)
    x[1, 1, 0, 0], g[0, 5, 2, 2] = np.inf, np.nan
    dweight, dbias = np.empty((8, 3, 2, 2), np.float32), np.empty(8, np.float32)
    window = window_of(x.shape, dweight.shape, (2, 2), (0, 0), (1, 1))
    assert not _outer_grad_weight.suits(x, window, 1, 8)
    _outer_grad_weight.grad_weight(g, x, window, dweight, dbias)
    assert np.isnan(dbias).tolist() == [row == 5 for row in range(8)]
    assert np.isnan(dweight[5]).all()
    others = dweight[np.arange(8) != 5]
    assert np.isinf(others[:, 1, 0, 0]).all()
    others[:, 1, 0, 0] = 0
    assert np.isfinite(others).all()
