"""Batch normalisation folded into the layer before it, on both devices. tests/parity compares with PyTorch."""
from __future__ import annotations

import pytest

import lucid
from lucid import nn
from lucid.nn.utils import fuse_conv_bn_eval, fuse_linear_bn_eval


def trained(norm, x):
    """`norm` with the statistics of a few batches, in evaluation mode."""
    for _ in range(3):
        norm(x)
    return norm.eval()


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"stride": 2, "padding": 1, "dilation": 2}, {"groups": 2},
                                     {"padding": 1, "padding_mode": "reflect"}], ids=str)
@pytest.mark.parametrize("affine", [True, False], ids=["affine", "plain"])
def test_a_fused_convolution_computes_the_same(options, affine, device):
    conv = nn.Conv2d(4, 6, 3, device=device, **options)
    x = lucid.randn(2, 4, 8, 8, device=device)
    norm = trained(nn.BatchNorm2d(6, affine=affine, device=device), conv(x))
    fused = fuse_conv_bn_eval(conv.eval(), norm)
    assert fused.weight.device == fused.bias.device == device
    assert lucid.allclose(fused(x), norm(conv(x)), atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64], ids=lambda d: d.name)
def test_a_fused_linear_layer_computes_the_same(bias, dtype, device):
    linear = nn.Linear(5, 3, bias=bias, dtype=dtype, device=device)
    x = lucid.randn(8, 5, dtype=dtype, device=device)
    norm = trained(nn.BatchNorm1d(3, dtype=dtype, device=device), linear(x))
    fused = fuse_linear_bn_eval(linear.eval(), norm)
    assert fused.weight.dtype == fused.bias.dtype == dtype
    assert lucid.allclose(fused(x), norm(linear(x)), atol=1e-5 if dtype == lucid.float32 else 1e-12)


def test_the_fused_layer_shares_no_memory_and_no_graph():
    conv, norm = nn.Conv2d(1, 1, 1).eval(), nn.BatchNorm2d(1).eval()
    fused = fuse_conv_bn_eval(conv, norm)
    with lucid.no_grad():
        fused.weight.zero_()
        fused.bias.zero_()
    assert conv.weight.item() != 0 and conv.bias.item() != 0
    fused(lucid.ones(1, 1, 1, 1)).sum().backward()
    assert conv.weight.grad is None and norm.weight.grad is None
