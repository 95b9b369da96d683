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


def test_a_bias_with_gaps_and_an_empty_batch(device: str) -> None:
    x, weight = lucid.ones(256, 256, device=device), lucid.ones(128, 256, device=device)
    bias = lucid.arange(256, dtype=lucid.float32, device=device)[::2]
    assert F.linear(x, weight, bias)[7].tolist() == [256.0 + 2 * i for i in range(128)]
    assert F.linear(x[:0], weight, bias).shape == (0, 128)
    assert F.linear(x[:, :0], weight[:, :0], bias)[3].tolist() == bias.tolist()
