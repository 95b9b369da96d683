"""Multi-head attention."""
from __future__ import annotations

from typing import Any

from ...ops.creation.creation import empty
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Attention of `num_heads` heads, each of width ``embed_dim / num_heads``, between projections.

    `in_proj_weight` (3 E, E) holds the projections of query, key and value; with other widths `kdim` and `vdim` of key and
    value they are `q_proj_weight`, `k_proj_weight` and `v_proj_weight`. `dropout` is that of the attention weights.
    `add_bias_kv` adds a learnt key and value, `add_zero_attn` a key and value of zeros. With `batch_first` the batch is the
    first dimension.

    Raises ValueError for sizes that are not positive and AssertionError if `num_heads` does not divide `embed_dim`.

    Source: Vaswani et al., "Attention is all you need", 2017.

    >>> layer = nn.MultiheadAttention(16, num_heads=4, batch_first=True)
    >>> x = lucid.randn(2, 5, 16)
    >>> output, weights = layer(x, x, x)
    >>> output.shape, weights.shape
    (lucid.Size([2, 5, 16]), lucid.Size([2, 5, 5]))
    """

    __constants__ = ["batch_first"]  # noqa: RUF012
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
                 add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 device: Any = None, dtype: Any = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError("embed_dim and num_heads must be greater than 0, got "
                             f"embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        assert self.head_dim * num_heads == embed_dim, "embed_dim must be divisible by num_heads"

        def parameter(*shape: int) -> Parameter:
            return Parameter(empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k, self.bias_v = parameter(1, 1, embed_dim), parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        """(output, weights); see `functional.multi_head_attention_forward` for shapes, masks and errors.

        With `need_weights` False the weights are None and the scores are computed tile by tile.
        """
        swap = self.batch_first and query.ndim == 3
        if swap:
            swapped = {id(x): x.transpose(0, 1) if x.ndim == 3 else x for x in (query, key, value)}
            query, key, value = swapped[id(query)], swapped[id(key)], swapped[id(value)]
        separate = not self._qkv_same_embed_dim
        in_weight, in_bias, bias_k, bias_v, q_weight, k_weight, v_weight = self._tensors(
            "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        out_weight, out_bias = self.out_proj._tensors("weight", "bias")
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, in_weight, in_bias, bias_k, bias_v, self.add_zero_attn,
            self.dropout, out_weight, out_bias, training=self.training, key_padding_mask=key_padding_mask,
            need_weights=need_weights, attn_mask=attn_mask, use_separate_proj_weight=separate, q_proj_weight=q_weight,
            k_proj_weight=k_weight, v_proj_weight=v_weight, average_attn_weights=average_attn_weights, is_causal=is_causal)
        return output.transpose(0, 1) if swap else output, weights
