"""Multi-head attention: projections around `scaled_dot_product_attention`, as `nn.MultiheadAttention` calls it."""
from __future__ import annotations

import math
import warnings
from typing import Any

from ... import _dtypes
from ..._namespace.callers import stacklevel
from ...tensor import Tensor
from ..creation.creation import zeros
from ..elementwise.where import where
from ..linalg.matmul import linear, matmul
from ..manipulation.joining import cat
from ..manipulation.padding import pad
from ..random.dropout import dropout
from .activation import softmax
from .attention import scaled_dot_product_attention

__all__ = ()  # a function of nn.functional only


def _additive(mask: Tensor | None, name: str, other: Tensor | None, dtype: Any, compare: bool = True) -> Tensor | None:
    """`mask` as what is added to the scores. Raises AssertionError for integers; warns if `other` is of another dtype."""
    if mask is None:
        return None
    is_bool = mask.dtype == _dtypes.bool_
    if not is_bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if compare and other is not None and other.dtype != mask.dtype:
        warnings.warn(f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both instead.",
                      stacklevel=stacklevel())
    return where(mask, -math.inf, 0.0).to(dtype) if is_bool else mask


def canonical_masks(query: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None
                    ) -> tuple[Tensor | None, Tensor | None]:
    """Both masks as what is added to the scores: a bool mask, True where nothing may be seen, becomes 0 and -inf."""
    padding = _additive(key_padding_mask, "key_padding_mask", attn_mask, query.dtype)
    return padding, _additive(attn_mask, "attn_mask", None, query.dtype, compare=False)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int) -> bool:
    """Whether the arguments are batched. Raises AssertionError if their ranks do not fit together."""
    if query.ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor")
    batched = query.ndim == 3
    kind = f"{'batched (3-D)' if batched else 'unbatched (2-D)'} `query`"
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(f"For {kind}, expected `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and "
                             f"{value.ndim}-D tensors respectively")
    if padding is not None and padding.ndim != query.ndim - 1:
        raise AssertionError(f"For {kind}, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but found "
                             f"{padding.ndim}-D tensor instead")
    if mask is not None and mask.ndim not in (2, 3):
        raise AssertionError(f"For {kind}, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor "
                             "instead")
    if not batched and mask is not None and mask.ndim == 3 and tuple(mask.shape) != (heads, query.shape[0], key.shape[0]):
        raise AssertionError(f"Expected `attn_mask` shape to be {(heads, query.shape[0], key.shape[0])} but got {mask.shape}")
    return batched


def _project(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    """Query, key and value times their thirds of `weight` (3 E, E); equal ones with one product."""
    width = query.shape[-1]
    if key is value:
        if query is key:
            return linear(query, weight, bias).chunk(3, -1)
        biases = (None, None) if bias is None else bias.split([width, 2 * width])
        w_query, w_both = weight.split([width, 2 * width])
        return linear(query, w_query, biases[0]), *linear(key, w_both, biases[1]).chunk(2, -1)
    return _project_each((query, key, value), weight.chunk(3), bias)


def _project_each(inputs: tuple[Tensor, ...], weights: tuple[Tensor, ...], bias: Tensor | None) -> tuple[Tensor, ...]:
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(linear(x, weight, b) for x, weight, b in zip(inputs, weights, biases, strict=True))


def _check_mask(mask: Tensor, heads: int, batch: int, length: int, source: int) -> Tensor:
    """`mask` as (1 or batch * heads, length, source). Raises RuntimeError for other shapes."""
    wanted = (length, source) if mask.ndim == 2 else (batch * heads, length, source)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _heads(x: Tensor, batch: int, heads: int) -> Tensor:
    """(L, batch, heads * width) as (batch, heads, L, width), a view."""
    return x.reshape(x.shape[0], batch, heads, x.shape[2] // heads).permute(1, 2, 0, 3)


def _static(x: Tensor, name: str, batch: int, heads: int, width: int) -> Tensor:
    for dim, wanted in ((0, batch * heads), (2, width)):
        if x.shape[dim] != wanted:
            raise AssertionError(f"expecting static_{name}.size({dim}) of {wanted}, but got {x.shape[dim]}")
    return x.reshape(batch, heads, x.shape[1], width)


def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
        in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
        out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
        q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
        static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """The computation of `nn.MultiheadAttention`: (output, weights or None).

    `query` is (L, N, E), `key` (S, N, kdim) and `value` (S, N, vdim), or all without N. `in_proj_weight` (3 E, E) holds the
    three projections, or with `use_separate_proj_weight` the other three weights do. `bias_k` and `bias_v` (1, 1, E) are one
    more key and value for all samples, `add_zero_attn` another one of zeros. In `key_padding_mask` (N, S) and `attn_mask`
    (L, S) or (N * num_heads, L, S), True hides a key, and floats are added to the scores. `is_causal` only says that
    `attn_mask` is causal. The weights are (N, L, S), the average over the heads, or (N, num_heads, L, S).

    Raises AssertionError and RuntimeError for shapes and dtypes that do not fit.

    Source: Vaswani et al., "Attention is all you need", 2017.

    >>> layer, x = nn.MultiheadAttention(8, num_heads=2), lucid.randn(5, 2, 8)
    >>> projections, out = (layer.in_proj_weight, layer.in_proj_bias), layer.out_proj
    >>> output, weights = F.multi_head_attention_forward(
    ...     x, x, x, 8, 2, *projections, None, None, False, 0.0, out.weight, out.bias)
    >>> output.shape, weights.shape
    (lucid.Size([5, 2, 8]), lucid.Size([2, 5, 5]))
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _unsqueezed(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    padding, mask = canonical_masks(query, key_padding_mask, attn_mask)
    is_causal = is_causal and padding is None and not need_weights
    if is_causal:
        mask = None
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    if width // num_heads * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")

    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        weights = {"q_proj_weight": q_proj_weight, "k_proj_weight": k_proj_weight, "v_proj_weight": v_proj_weight}
        for name, weight in weights.items():
            if weight is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name} is None")
        q, k, v = _project_each((query, key, value), tuple(weights.values()), in_proj_bias)  # type: ignore[arg-type]
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    if mask is not None:
        mask = _check_mask(mask, num_heads, batch, length, key.shape[0])

    extra = 0
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = (cat([x, bias.expand(1, batch, bias.shape[-1])]) for x, bias in ((k, bias_k), (v, bias_v)))
        extra = 1
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v are given both or not at all")
    q = _heads(q, batch, num_heads)
    per_head = width // num_heads
    k = _heads(k, batch, num_heads) if static_k is None else _static(static_k, "k", batch, num_heads, per_head)
    v = _heads(v, batch, num_heads) if static_v is None else _static(static_v, "v", batch, num_heads, per_head)
    if add_zero_attn:
        k, v = (cat([x, zeros(batch, num_heads, 1, per_head, dtype=x.dtype, device=x.device)], 2) for x in (k, v))
        extra += 1
    if extra:
        mask, padding = (None if m is None else pad(m, (0, extra)) for m in (mask, padding))
    source = k.shape[2]
    if padding is not None:
        if tuple(padding.shape) != (batch, source):
            dim, wanted = (0, batch) if padding.shape[0] != batch else (1, source)
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got {padding.shape[dim]}")
        padding = padding.reshape(batch, 1, 1, source)
        mask = padding if mask is None else _per_sample(mask, batch, num_heads) + padding

    rate = dropout_p if training else 0.0
    if need_weights:
        return _with_weights(q, k, v, mask, batch, num_heads, rate, out_proj_weight, out_proj_bias, average_attn_weights,
                             batched)
    joined = scaled_dot_product_attention(q, k, v, None if mask is None else _per_sample(mask, batch, num_heads), rate,
                                          is_causal)
    output = linear(joined.permute(2, 0, 1, 3).reshape(length, batch, width), out_proj_weight, out_proj_bias)
    return output if batched else output.squeeze(1), None


def _unsqueezed(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three with a batch of one; the same tensor stays the same."""
    made = {id(x): x.unsqueeze(1) for x in (query, key, value)}
    return made[id(query)], made[id(key)], made[id(value)]


def _per_sample(mask: Tensor, batch: int, heads: int) -> Tensor:
    """A mask (1 or batch * heads, L, S) as (1 or batch, 1 or heads, L, S)."""
    if mask.ndim == 4:
        return mask
    return mask.unsqueeze(0) if mask.shape[0] == 1 else mask.reshape(batch, heads, *mask.shape[1:])


def _with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, batch: int, heads: int, rate: float, weight: Tensor,
                  bias: Tensor | None, average: bool, batched: bool) -> tuple[Tensor, Tensor]:
    """(output, weights): with the matrix of probabilities in memory, NaN for a query that sees nothing."""
    length, width = q.shape[2:]
    scores = matmul(q * (1 / math.sqrt(width)), k.transpose(2, 3))
    if mask is not None:
        scores = scores + _per_sample(mask, batch, heads)
    weights = softmax(scores, -1)
    if rate > 0:
        weights = dropout(weights, rate)
    joined = matmul(weights, v)
    output = linear(joined.permute(2, 0, 1, 3).reshape(length, batch, heads * width), weight, bias)
    if average:
        weights = weights.mean(1)
    return (output, weights) if batched else (output.squeeze(1), weights.squeeze(0))
