"""Convolutions that are one product of matrices."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_parameters, problem_of
from lucid_kernels.cpu.convolution.implementations import FORWARD, GRAD_INPUT, GRAD_WEIGHT

# Input, weight, stride, and who computes the result and both gradients.
CASES: list[Any] = [((3, 5, 4, 6), (7, 5, 4, 6), 1, ("gemm", "gemm", "gemm")),
                    ((1, 64, 64, 64), (128, 64, 1, 1), 1, ("pointwise", "gemm", "gemm")),
                    ((1, 64, 65, 64), (128, 64, 1, 1), 2, ("pointwise", "pointwise", "gemm")),
                    ((1, 8, 6, 6), (8, 8, 1, 1), 1, ("pointwise", "pointwise", "direct"))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case: Any) -> None:
    x_shape, weight_shape, stride, names = case
    attributes: dict[str, Any] = {"stride": (stride, stride), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    problem, _ = problem_of(x_shape, weight_shape, **attributes)
    problem = problem._replace(vector_bytes=32)
    assert tuple(some.choose(problem).name for some in (FORWARD, GRAD_INPUT, GRAD_WEIGHT)) == names
    rng = np.random.default_rng(0)
    shapes = x_shape, weight_shape, weight_shape[:1], (x_shape[0], weight_shape[0], problem.window.out_height, problem.window.out_width)
    x, weight, bias, g = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    views = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), weight_shape[2:], (2, 3))[:, :, ::stride, ::stride]
    y = conv2d(x, weight, bias, **attributes)
    exact = np.einsum("ncyxij,ocij->noyx", views, weight.astype(np.float64)) + bias.astype(np.float64).reshape(-1, 1, 1)
    np.testing.assert_allclose(y, exact, rtol=0, atol=1e-4)
    dweight, dbias = conv2d_grad_parameters(g, x, weight_shape=weight_shape, **attributes)
    np.testing.assert_allclose(dweight, np.einsum("ncyxij,noyx->ocij", views, g.astype(np.float64)), rtol=0, atol=1e-3)
    np.testing.assert_allclose(dbias, g.sum((0, 2, 3)), rtol=1e-4, atol=1e-4)
    dx = conv2d_grad_input(g, weight, input_shape=x_shape, **attributes)
    exact = np.zeros(x_shape)
    for i, j in np.ndindex(*g.shape[2:]):
        rows, columns = slice(i * stride, i * stride + weight_shape[2]), slice(j * stride, j * stride + weight_shape[3])
        exact[:, :, rows, columns] += np.einsum("no,ocij->ncij", g[:, :, i, j].astype(np.float64), weight.astype(np.float64))
    np.testing.assert_allclose(dx, exact, rtol=0, atol=1e-4)


def test_out_is_written() -> None:
    x, weight = np.ones((2, 3, 2, 2), np.float32), np.ones((4, 3, 2, 2), np.float32)
    out = np.empty((2, 4, 1, 1), np.float32)
    y = conv2d(x, weight, None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, out=out)
    assert y is out and (out == 12).all()
