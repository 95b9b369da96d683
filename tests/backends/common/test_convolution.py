"""conv3d in parts: how many slices are stacked at a time does not show."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lucid.backends.common import convolution
from lucid.backends.cpu import backend as cpu

# (input shape, weight shape, stride, padding, dilation, groups)
CASES: dict[str, tuple[Any, ...]] = {
    "plain": ((3, 2, 5, 4, 6), (4, 2, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "strided": ((2, 3, 7, 5, 5), (2, 3, 2, 3, 3), (2, 2, 1), (0, 1, 1), (1, 1, 1), 1),
    "dilated, grouped": ((2, 4, 8, 5, 4), (6, 2, 3, 2, 2), (1, 1, 2), (3, 1, 0), (3, 2, 1), 2),
    "depthwise": ((3, 3, 5, 4, 6), (6, 1, 2, 3, 3), (2, 1, 1), (1, 1, 1), (2, 1, 1), 3),
    "depth alone": ((2, 3, 6, 4, 5), (4, 3, 3, 1, 1), (2, 1, 1), (2, 0, 0), (2, 1, 1), 1),
    "a single tap, strided": ((3, 4, 5, 6, 7), (6, 2, 1, 1, 1), (2, 1, 3), (0, 0, 0), (1, 1, 1), 2),
    "a stride across the slices": ((2, 3, 3, 4, 5), (4, 3, 1, 1, 1), (1, 2, 1), (0, 0, 0), (1, 1, 1), 1),
}


@pytest.mark.torch
@pytest.mark.parametrize("window_bytes", [1, 2000, 8000, 1 << 30])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_parts_do_not_show(case: tuple[Any, ...], window_bytes: int) -> None:
    torch = pytest.importorskip("torch")
    x_shape, weight_shape, stride, padding, dilation, groups = case
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.normal(size=shape) for shape in (x_shape, weight_shape, weight_shape[:1]))
    leaves = [torch.tensor(array, requires_grad=True) for array in (x, weight, bias)]
    wanted = torch.nn.functional.conv3d(*leaves, stride, padding, dilation, groups)
    g = rng.normal(size=wanted.shape)
    dx, dweight, dbias = torch.autograd.grad(wanted, leaves, torch.tensor(g))
    kernels = convolution.table(np, cpu.TABLE, window_bytes)
    attributes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    found = (kernels["conv3d"](x, weight, bias, **attributes),
             kernels["conv3d_grad_input"](g, weight, input_shape=x_shape, **attributes),
             kernels["conv3d_grad_weight"](g, x, weight_shape=weight_shape, **attributes),
             *kernels["conv3d_grad_parameters"](g, x, weight_shape=weight_shape, **attributes))
    for got, expected in zip(found, (wanted.detach(), dx, dweight, dweight, dbias)):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)
