"""Attention, also to keys and values that a cache keeps."""
from __future__ import annotations

import math

from ..._dtypes import bool_
from ...ops.creation.creation import empty, ones, zeros
from ...ops.elementwise.where import where
from ...ops.manipulation.joining import cat
from ...tensor import Tensor
from .. import functional as F
from ..init import xavier_uniform_
from ..modules.linear import Linear
from ..modules.module import Module
from ..parameter import Parameter
from .cache import KVCache

__all__ = ["MultiHeadAttention", "ScaledDotProductAttention"]


class ScaledDotProductAttention(Module):
    """`functional.scaled_dot_product_attention` with its arguments.

    >>> attention, x = nn.ScaledDotProductAttention(is_causal=True), lucid.randn(2, 4, 5, 8)
    >>> attention(x, x, x).shape
    lucid.Size([2, 4, 5, 8])
    """

    def __init__(self, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
                 scale: float | None = None) -> None:
        super().__init__()
        self.attn_mask, self.dropout_p, self.is_causal, self.scale = attn_mask, dropout_p, is_causal, scale

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """The means of the values, weighted by the products of queries and keys."""
        return F.scaled_dot_product_attention(query, key, value, self.attn_mask, self.dropout_p, self.is_causal, scale=self.scale)


class MultiHeadAttention(Module):
    """Attention of `num_heads` heads to (N, L, E), without weights as a second result: PyTorch's is `MultiheadAttention`.

    Projections are layers, `q_proj`, `k_proj` and `v_proj`, or one parameter if not `use_separate_proj_weight`. Dropout of the
    weights is for training. Raises ValueError for sizes that do not fit.

    >>> layer, x = nn.MultiHeadAttention(16, num_heads=4), lucid.randn(2, 5, 16)
    >>> layer(x, x, x).shape
    lucid.Size([2, 5, 16])
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 use_separate_proj_weight: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False,
                 kdim: int | None = None, vdim: int | None = None) -> None:
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim, self.dropout = embed_dim, num_heads, embed_dim // num_heads, dropout
        self.add_zero_attn = add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise ValueError("embed_dim must be divisible by num_heads.")
        self.in_proj_weight: Parameter | None
        self.in_proj_bias: Parameter | None
        if use_separate_proj_weight:
            self.q_proj = Linear(embed_dim, embed_dim, bias)
            self.k_proj = Linear(embed_dim if kdim is None else kdim, embed_dim, bias)
            self.v_proj = Linear(embed_dim if vdim is None else vdim, embed_dim, bias)
            self.in_proj_weight = self.in_proj_bias = None
        else:
            if {kdim, vdim} - {None, embed_dim}:
                raise ValueError("in_proj_weight requires kdim and vdim to equal embed_dim.")
            self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
            xavier_uniform_(self.in_proj_weight)
            self.in_proj_bias = Parameter(zeros(3 * embed_dim)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        self.bias_k = Parameter(zeros(1, 1, embed_dim)) if add_bias_kv else None
        self.bias_v = Parameter(zeros(1, 1, embed_dim)) if add_bias_kv else None

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                attn_mask: Tensor | None = None, is_causal: bool = False, kv_cache: KVCache | None = None,
                use_cache: bool = False, cache_position: Tensor | None = None, cache_layer_idx: int | None = None) -> Tensor:
        """Attention of `query` to `key` and `value`, and with `use_cache` to those of layer `cache_layer_idx` of `kv_cache`.

        `key_padding_mask` (N, S) is true where a key is padding. `attn_mask` is true where attention is allowed, or is added to
        the products. With `is_causal` a query attends to no later key; the last query is at the last key.
        """
        heads = [self._heads(x) for x in self._projected(query, key, value)]
        q, k, v = heads
        if use_cache:
            if kv_cache is None or cache_layer_idx is None:
                raise ValueError("use_cache=True requires kv_cache and cache_layer_idx.")
            k, v = kv_cache.update(k, v, cache_layer_idx, cache_position)
        mask = self._mask(q, k, key_padding_mask, attn_mask, is_causal)
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (cat([x, self._heads(extra.expand(len(x), 1, -1))], 2)
                    for x, extra in ((k, self.bias_k), (v, self.bias_v)))
        if self.add_zero_attn:
            k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
        if mask is not None:
            mask = F.pad(mask, (0, k.shape[2] - mask.shape[-1]))  # all attend to what was added
        result = F.scaled_dot_product_attention(q, k, v, mask, self.dropout if self.training else 0.0)
        projected: Tensor = self.out_proj(result.transpose(1, 2).flatten(2))
        return projected

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.in_proj_weight is None:
            return self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if query is key is value:
            q, k, v = F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
            return q, k, v
        weights = self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
        return q, k, v

    def _heads(self, x: Tensor) -> Tensor:
        """(N, L, E) as (N, heads, L, E / heads)."""
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    @staticmethod
    def _mask(q: Tensor, k: Tensor, padding: Tensor | None, attn_mask: Tensor | None, is_causal: bool) -> Tensor | None:
        """What is added to the products; None where that is nothing."""
        added: Tensor | None = None
        forbidden = []
        if attn_mask is not None:
            if attn_mask.dtype == bool_:
                forbidden.append(~attn_mask)
            else:
                added = attn_mask.to(q.dtype)
        if padding is not None:
            forbidden.append(padding.to(bool_)[:, None, None, :])
        if is_causal:
            queries, keys = q.shape[2], k.shape[2]
            forbidden.append(ones(queries, keys, dtype=bool_, device=q.device).triu(keys - queries + 1))
        for one in forbidden:
            otherwise = zeros((), dtype=q.dtype, device=q.device) if added is None else added
            added = where(one, -math.inf, otherwise)
        return added
