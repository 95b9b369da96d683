"""`functional.linear` of sizes that have kernels of their own: values and gradients against float64, at both devices."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid.nn import functional as F


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lead", [(200,), (4, 50)])
def test_values_and_gradients(lead: tuple[int, ...], bias: bool, dtype: Any, device: str) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((*lead, 150)), rng.standard_normal((192, 150)), rng.standard_normal(192)]
    x, weight, vector = arrays = [array.astype(dtype) for array in arrays]
    tensors = [lucid.tensor(array, device=device, requires_grad=True) for array in arrays]
    y = F.linear(*(tensors if bias else tensors[:2]))
    g = rng.standard_normal(y.shape).astype(dtype)
    y.backward(lucid.tensor(g, device=device))
    rows, upstream = (array.reshape(-1, array.shape[-1]).astype(np.float64) for array in (x, g))
    wanted = [upstream @ weight, upstream.T @ rows, upstream.sum(0)]
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    expected = (rows @ weight.T.astype(np.float64) + (vector if bias else 0)).reshape(y.shape)
    np.testing.assert_allclose(y.detach().cpu().numpy(), expected, rtol=0, atol=tolerance)
    for tensor, gradient in zip(tensors if bias else tensors[:2], wanted):
        np.testing.assert_allclose(tensor.grad.cpu().numpy(), gradient.reshape(tensor.shape), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.float64, lucid.complex64])
@pytest.mark.parametrize("wanted", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)], ids=str)
def test_gradients_are_those_of_its_operations(wanted: tuple[bool, ...], dtype: Any, device: str) -> None:
    """The one kernel, and what is computed when the gradients are differentiated again."""
    x, weight, bias = (lucid.randn(*shape).to(dtype).to(device).requires_grad_(needed)
                       for shape, needed in zip(((2, 3, 4), (5, 4), (5,)), wanted))
    y = F.linear(x, weight, bias)
    inputs = [tensor for tensor in (x, weight, bias) if tensor.requires_grad]
    g = lucid.randn(5, 3, 2).to(dtype).to(device).permute(2, 1, 0)
    once = lucid.autograd.grad(y, inputs, g, retain_graph=True)
    again = lucid.autograd.grad(y, inputs, g, create_graph=True)
    for gradient, other, tensor in zip(once, again, inputs, strict=True):
        assert gradient.dtype == dtype
        assert gradient.shape == tensor.shape
        assert lucid.allclose(gradient, other, rtol=1e-3 if dtype == lucid.float16 else 1e-5, atol=1e-3)
    empty = F.linear(x[:0], weight, bias)
    empty.sum().backward() if not empty.is_complex() else empty.abs().sum().backward()
    assert all(not tensor.grad.any() for tensor in inputs)


def test_a_bias_with_gaps_and_an_empty_batch(device: str) -> None:
    x, weight = lucid.ones(256, 256, device=device), lucid.ones(128, 256, device=device)
    bias = lucid.arange(256, dtype=lucid.float32, device=device)[::2]
    assert F.linear(x, weight, bias)[7].tolist() == [256.0 + 2 * i for i in range(128)]
    assert F.linear(x[:0], weight, bias).shape == (0, 128)
    assert F.linear(x[:, :0], weight[:, :0], bias)[3].tolist() == bias.tolist()
