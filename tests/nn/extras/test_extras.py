"""The layers and functions of lucid 2.x: against their definitions, written once more with NumPy or with PyTorch's layers."""
from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.nn import functional as F


def numbers(*shape: int, device: str = "cpu", grad: bool = False) -> lucid.Tensor:
    values = np.sin(np.arange(math.prod(shape)) * 1.7).reshape(shape)
    return lucid.tensor(values, dtype=lucid.float32, device=device, requires_grad=grad)


def test_activations(device: str) -> None:
    x = numbers(20, device=device) * 5
    for layer, function in ((nn.Swish(), F.silu), (nn.HardSwish(), F.hardswish), (nn.HardSigmoid(), F.hardsigmoid)):
        assert lucid.equal(layer(x), function(x))


def test_what_is_dropped(device: str) -> None:
    lucid.manual_seed(0)
    x = lucid.ones(400, 2, 3, device=device, requires_grad=True)
    y = F.drop_path(x, 0.25)
    samples = y.detach()[:, 0, 0]
    assert lucid.equal(y.detach(), samples[:, None, None].expand(400, 2, 3)) and 0.1 < (samples == 0).float().mean() < 0.4
    assert samples.max().item() == pytest.approx(4 / 3) and F.drop_path(x, 0.25, scale_by_keep=False).max() == 1
    y.sum().backward()
    assert lucid.equal(x.grad, y.detach())
    assert nn.DropPath(0.5).eval()(x) is x and F.drop_path(x, 0.0) is x and not F.drop_path(x, 1.0).any()
    maps = F.drop_block(lucid.ones(8, 4, 20, 20, device=device), 3, 0.2)
    zeros = (maps == 0).float()
    assert 0.1 < zeros.mean() < 0.3 and maps.max().item() == pytest.approx(1.25)
    squares = F.max_pool2d(-F.max_pool2d(1 - zeros, 3, 1), 3, 1, padding=0)  # where whole squares of zeros are
    assert squares.max() == 0 and nn.DropBlock(3).eval()(maps) is maps
    assert F.drop_block(lucid.ones(2, 2, 6, 6, device=device), 4, 0.2).shape == (2, 2, 6, 6)
    for call in (lambda: F.drop_path(x, 1.5), lambda: F.drop_block(x, 2), lambda: F.drop_block(maps, 30), lambda: F.drop_block(maps, 3, 1.0)):
        with pytest.raises(ValueError, match="p must|4D|fit"):
            call()


def test_global_response_norm(device: str) -> None:
    layer = nn.GlobalResponseNorm(3).to(device)
    x = numbers(2, 3, 4, 5, device=device)
    assert not layer(x).any()
    with lucid.no_grad():
        layer.gamma.fill_(2.0)
        layer.beta.copy_(lucid.arange(3.0).reshape(1, 3, 1, 1))
    a = x.cpu().numpy()
    norms = np.sqrt((a**2).sum((2, 3), keepdims=True))
    expected = 2 * a * norms / (norms.mean(1, keepdims=True) + 1e-6) + np.arange(3).reshape(1, 3, 1, 1) * a
    np.testing.assert_allclose(layer(x).numpy(force=True), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("interleaved", [True, False])
def test_rotary_positions(interleaved: bool, device: str) -> None:
    x = numbers(2, 3, 5, 8, device=device)
    a, pairs = x.cpu().numpy().astype(np.float64), np.arange(4)
    places = (2 * pairs, 2 * pairs + 1) if interleaved else (pairs, pairs + 4)
    turned = (a[..., places[0]] + 1j * a[..., places[1]]) * np.exp(1j * np.arange(5)[:, None] * 10000.0 ** (-pairs / 4))
    expected = np.empty_like(a)
    expected[..., places[0]], expected[..., places[1]] = turned.real, turned.imag
    layer = nn.RotaryPosEmbedding(8, 16, interleaved)
    for y in (F.rotary_pos_embedding(x, interleaved=interleaved), layer(x), layer(x)):
        np.testing.assert_allclose(y.cpu().numpy(), expected, atol=1e-6)
    ids = lucid.tensor([3, 1, 0, 2, 4])
    assert lucid.allclose(layer(x, ids), F.rotary_pos_embedding(x, ids, interleaved)) and not layer.state_dict()
    for call in (lambda: layer(x, ids[:2]), lambda: layer(x, ids - 1), lambda: layer(x, ids + 20), lambda: layer(x[..., :6]),
                 lambda: F.rotary_pos_embedding(x[..., :7]), lambda: F.rotary_pos_embedding(x, ids[:2])):
        with pytest.raises(ValueError, match="position_ids|embed_dim|even|max_seq_len"):
            call()


def test_positions_that_are_added(device: str) -> None:
    table = F.sinusoidal_pos_embedding(4, 5, device, lucid.float64).cpu().numpy()
    angles = np.arange(4)[:, None] * 10000.0 ** (-np.arange(0, 5, 2) / 5)
    np.testing.assert_allclose(table[:, 0::2], np.sin(angles), atol=1e-12)
    np.testing.assert_allclose(table[:, 1::2], np.cos(angles[:, :2]), atol=1e-12)
    x = numbers(2, 4, 5, device=device)
    np.testing.assert_allclose((nn.SinusoidalPosEmbedding()(x) - x).cpu().numpy(), np.stack([table] * 2), atol=1e-6)
    learned = nn.LearnedPosEmbedding(6, 5).to(device)
    assert lucid.equal(learned(x[0], offset=2), x[0] + learned.pos_emb.weight[2:])
    for call in (lambda: nn.SinusoidalPosEmbedding(3)(x), lambda: learned(x, 3), lambda: learned(x[..., :3]), lambda: learned(x[0, 0]),
                 lambda: F.sinusoidal_pos_embedding(0, 2)):
        with pytest.raises(ValueError, match="match|position|expects|positive"):
            call()
    with pytest.raises(TypeError, match="float"):
        learned(x.long())


def test_turned_pictures(device: str) -> None:
    x = lucid.arange(16.0, device=device).reshape(1, 1, 4, 4)
    assert lucid.equal(F.rotate(x, 0), x) and lucid.equal(F.rotate(x, 180, (1.5, 1.5)), x.flip(-1, -2))
    assert lucid.equal(F.rotate(x, 90, (1.5, 1.5)), x.rot90(-1, (2, 3))) and F.rotate(x, 90)[0, 0, 1].tolist() == [13, 13, 9, 5]


def test_blocks(device: str) -> None:
    x = numbers(2, 4, 9, device=device)
    layer: Any = nn.ConvBNReLU1d(4, 6, 3, padding=1, conv_bias=False).to(device)
    assert layer.conv.bias is None and lucid.equal(layer.eval()(x), F.relu(layer.bn(layer.conv(x))))
    separable: Any = nn.DepthSeparableConv1d(4, 6, 3, bias=False).to(device)
    assert separable.depthwise.weight.shape == (4, 1, 3) and separable(x).shape == (2, 6, 7)
    assert nn.ConvBNReLU3d(1, 1, 1)(lucid.ones(2, 1, 2, 2, 2)).shape == nn.DepthSeparableConv3d(1, 1, 1)(lucid.ones(2, 1, 2, 2, 2)).shape
    x = numbers(2, 8, 5, 5, device=device)
    squeeze: Any = nn.SEModule(8, 4).to(device)
    weights = lucid.sigmoid(squeeze.fc2(F.relu(squeeze.fc1(x.mean((2, 3))))))
    assert lucid.allclose(squeeze(x), x * weights[..., None, None])
    selective: Any = nn.SelectiveKernel(8, 8, [1, 3], reduction=4).to(device).eval()
    parts = [branch(x) for branch in selective.branches]
    shares = selective.attention(parts[0] + parts[1]).softmax(1)
    assert lucid.allclose(selective(x), parts[0] * shares[:, :1] + parts[1] * shares[:, 1:], atol=1e-6)
    assert pickle.loads(pickle.dumps(selective))(x).tolist() == selective(x).tolist()
    for block in (squeeze, selective):
        with pytest.raises(ValueError, match="4D"):
            block(x[0])


@pytest.mark.parametrize("separate", [True, False])
def test_multi_head_attention_is_pytorchs(separate: bool, device: str) -> None:
    ours: Any = nn.MultiHeadAttention(8, 2, use_separate_proj_weight=separate, add_bias_kv=True, add_zero_attn=True).to(device)
    other = nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True, add_zero_attn=True).to(device)
    with lucid.no_grad():
        ours.bias_k.copy_(other.bias_k)
        ours.bias_v.copy_(other.bias_v)
        ours.out_proj.load_state_dict(other.out_proj.state_dict())
        if separate:
            for layer, weight in zip((ours.q_proj, ours.k_proj, ours.v_proj), other.in_proj_weight.chunk(3), strict=True):
                layer.weight.copy_(weight)
                layer.bias.zero_()
        else:
            ours.in_proj_weight.copy_(other.in_proj_weight)
    q, k = numbers(2, 3, 8, device=device), numbers(2, 5, 8, device=device)
    padding = lucid.tensor([[False] * 5, [False] * 3 + [True] * 2], device=device)
    allowed = lucid.tensor(np.arange(15).reshape(3, 5) % 4 != 0, device=device)
    for mask in (None, allowed, numbers(3, 5, device=device)):
        theirs = None if mask is None else ~mask if mask is allowed else mask
        expected = other(q, k, k, key_padding_mask=padding if mask is not None and mask.dtype == lucid.bool else None, attn_mask=theirs,
                         need_weights=False)[0]
        result = ours(q, k, k, key_padding_mask=padding if mask is not None and mask.dtype == lucid.bool else None, attn_mask=mask)
        assert lucid.allclose(result, expected, atol=1e-5)
    causal = nn.Transformer.generate_square_subsequent_mask(3, device=device)
    assert lucid.allclose(ours(q, q, q, is_causal=True), other(q, q, q, attn_mask=causal, need_weights=False)[0], atol=1e-5)
    core = nn.ScaledDotProductAttention(is_causal=True, scale=0.5)
    assert lucid.equal(core(q, q, q), F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.5))


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_attention_step_by_step(kind: str, device: str) -> None:
    layer = nn.MultiHeadAttention(8, 2).to(device)
    x = numbers(2, 5, 8, device=device)
    cache = nn.DynamicKVCache() if kind == "dynamic" else nn.StaticKVCache(6, 1)
    with lucid.no_grad():
        whole = layer(x, x, x, is_causal=True)
        parts = [layer(part, part, part, is_causal=True, kv_cache=cache, use_cache=True, cache_layer_idx=0) for part in x.split(2, 1)]
    assert lucid.allclose(lucid.cat(parts, 1), whole, atol=1e-5) and cache.get_seq_length() == 5
    with pytest.raises(ValueError, match="requires kv_cache"):
        layer(x, x, x, use_cache=True)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_caches(kind: str, device: str) -> None:
    cache = nn.DynamicKVCache() if kind == "dynamic" else nn.StaticKVCache(6, 2)
    key = numbers(2, 1, 3, 4, device=device)
    assert cache.get(1) is None and cache.get_seq_length(1) == 0 and cache.get_max_cache_shape() == (None if kind == "dynamic" else 6)
    cache.update(key, key + 1, 1)
    found, values = cache.update(key[..., :1, :] * 2, key[..., :1, :] * 3, 1, lucid.tensor(4))
    assert found.shape == (2, 1, 5, 4) and not found[..., 3, :].any() and lucid.equal(found[..., 4, :], key[..., 0, :] * 2)
    assert lucid.equal(values[..., :3, :], key + 1) and cache.get_seq_length(1) == 5
    cache.update(key[..., :2, :], key[..., :2, :], 1, lucid.tensor([1, 0]))
    rows, _ = cache.update(key[..., :2, :] * 7, key[..., :2, :], 1, lucid.tensor([[3, 4], [4, 2]]))
    assert lucid.equal(rows[0, :, 3:5], key[0, :, :2] * 7) and lucid.equal(rows[1, :, 2], key[1, :, 1] * 7)
    assert lucid.equal(rows[1, :, 3], lucid.zeros(1, 4, device=device)) and lucid.equal(rows[..., 0, :][1], key[1, :, 1])
    expected = rows[..., 1:5, :].clone()
    cache.crop(4)
    assert cache.get_seq_length(1) == 4 and lucid.equal(cache.get(1)[0], expected)
    cache.batch_repeat_interleave(2)
    cache.reorder_cache(lucid.tensor([3, 0]))
    assert lucid.equal(cache.get(1)[0], expected.flip(0))
    for wrong in (lambda: cache.update(key, key[..., :2], 1), lambda: cache.update(key, key, -1), lambda: cache.update(key[:1], key[:1], 1),
                  lambda: cache.update(key, key, 1, lucid.tensor([0, -1, 2])), lambda: cache.update(key, key, 1, lucid.tensor([0])),
                  lambda: cache.crop(-1), lambda: cache.batch_repeat_interleave(0), lambda: cache.reorder_cache(lucid.tensor(0)),
                  lambda: cache.get_seq_length(-1)):
        with pytest.raises(ValueError, match=r"."):
            wrong()
    cache.crop(0)
    assert cache.get(1)[0].shape == (2, 1, 0, 4)
    cache.reset()
    assert cache.get(1) is None
    if kind == "static":
        for layer, count in ((0, 7), (2, 1)):
            with pytest.raises(ValueError, match="max_cache_len|layer_idx"):
                cache.update(numbers(1, count, 4), numbers(1, count, 4), layer)


def test_a_cache_for_two() -> None:
    both = nn.EncoderDecoderCache()
    key = numbers(2, 3, 4)
    both.update(key, key, 0)
    both.update(key[:, :2], key[:, :2], 0, is_cross_attention=True)
    assert both.get_seq_length() == 3 and both.get_seq_length(is_cross_attention=True) == 2 and both.is_updated == {0: True}
    both.batch_repeat_interleave(2)
    both.reorder_cache(lucid.tensor([0, 3]))
    both.crop(1)
    assert both.get(0)[0].shape == both.get(0, True)[0].shape == (2, 1, 4) and both.get_max_cache_shape() is None
    both.reset()
    assert both.get(0) is None and not both.is_updated


def test_helpers() -> None:
    @nn.auto_repr("width")
    class Layer(nn.Module):
        width = 3

    assert repr(Layer()) == "Layer(width=3)"
    x = numbers(6, 4)
    calls: list[int] = []

    def double(part: lucid.Tensor) -> lucid.Tensor:
        calls.append(len(part))
        return part * 2

    chunked = nn.utils.apply_chunking_to_forward
    assert lucid.equal(chunked(double, 2, 0, x), x * 2) and calls == [2, 2, 2] and lucid.equal(chunked(double, 0, 0, x), x * 2)
    for wrong in (lambda: chunked(double, 4, 0, x), lambda: chunked(double, -1, 0, x), lambda: chunked(double, 2, 0),
                  lambda: chunked(double, 2, 0, x, x[:2])):
        with pytest.raises(ValueError, match="divisible|chunk_size|at least one|same length"):
            wrong()
    assert nn.utils.get_activation_from_name("relu") is F.relu and nn.utils.get_activation_from_name("Tensor") is None
    p = nn.Parameter(lucid.tensor([3.0, 4.0]))
    assert nn.utils.grad_norm(p) == 0
    p.grad = lucid.tensor([3.0, -4.0])
    assert nn.utils.grad_norm([p]) == 5 and nn.utils.grad_norm(p, 1) == 7
    nn.utils.clip_grad_value(p, 3.5)
    assert p.grad.tolist() == [3, -3.5]
    assert nn.Rearrange is lucid.einops.layers.Rearrange


@nn.set_state_dict_pass_attr("mask")
class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(lucid.ones(2))
        self.register_buffer("mask", lucid.zeros(2))


def test_what_state_dict_leaves_out() -> None:
    model = nn.Sequential(Masked(), nn.Linear(1, 1))
    assert list(model.state_dict()) == ["0.weight", "1.weight", "1.bias"]
    assert not any(model.load_state_dict(model.state_dict())) and Masked.__name__ == "Masked"
    assert list(pickle.loads(pickle.dumps(model[0])).state_dict()) == ["weight"]
    with pytest.raises(RuntimeError, match="weight"):
        model.load_state_dict({})


def test_noam_scheduler() -> None:
    optimizer = lucid.optim.SGD([nn.Parameter(lucid.ones(1))], lr=9.0)
    schedule = lucid.optim.lr_scheduler.NoamScheduler(optimizer, 512, 4, factor=2.0)
    rates = []
    for _ in range(8):
        optimizer.step()
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([2 * 512**-0.5 * min(n**-0.5, n * 4**-1.5) for n in range(1, 9)])
    for sizes in ((0, 4), (512, 0)):
        with pytest.raises(ValueError, match="positive"):
            lucid.optim.lr_scheduler.NoamScheduler(optimizer, *sizes)
