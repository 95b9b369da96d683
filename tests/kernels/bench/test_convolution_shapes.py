"""The float64 references of convolutions over any number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.cases.convolution_shapes import Layer, convolve, input_gradient, weight_gradient


@pytest.mark.parametrize("layer", [
    Layer("1d", 2, 3, 4, (11,), (3,), 2, 1, 2), Layer("grouped", 2, 4, 6, (5, 7), (2, 3), (2, 1), (0, 2), 1, 2),
    Layer("3d", 1, 2, 3, (4, 5, 6), (3, 1, 2), (1, 2, 2), (1, 0, 1))], ids=lambda layer: layer.name)
def test_references_like_torch(layer: Layer) -> None:
    torch = pytest.importorskip("torch")
    x, weight, g = layer.arrays()
    leaves = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, weight)]
    function: Any = getattr(torch.nn.functional, f"conv{len(layer.image)}d")
    y = function(*leaves, None, layer.stride, layer.padding, layer.dilation, layer.groups)
    dx, dweight = torch.autograd.grad(y, leaves, torch.tensor(g).double())
    np.testing.assert_allclose(convolve(x, weight, layer), y.detach(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(input_gradient(g, weight, layer), dx, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weight_gradient(g, x, layer), dweight, rtol=1e-12, atol=1e-12)
