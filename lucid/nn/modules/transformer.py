"""The transformer: layers of attention and of position-wise networks, stacked to an encoder and a decoder."""
from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ...ops.creation.creation import full
from ...ops.nn.multi_head_attention import canonical_masks
from ...tensor import Tensor
from .. import functional as F
from .. import init
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Activation = Callable[[Tensor], Tensor]


def _get_activation_fn(activation: str | Activation) -> Activation:
    if not isinstance(activation, str):
        return activation
    named: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}
    if activation not in named:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return named[activation]


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    return full((size, size), -math.inf, dtype=dtype, device=device).triu(1)


def _is_causal(mask: Tensor | None, hint: bool | None, x: Tensor, batch_first: bool) -> bool:
    """`hint`, or where it is None, whether `mask` is the causal mask for the positions of x."""
    if hint is not None or mask is None or mask.is_meta:
        return bool(hint)
    size = x.shape[1 if batch_first and x.ndim == 3 else 0]
    if tuple(mask.shape) != (size, size):
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype if mask.is_floating_point() else None)).all())


class _Layer(Module):
    """What the layers of encoder and decoder share: attention to itself and the position-wise network."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int, dropout: float, layer_norm_eps: float, batch_first: bool,
                 bias: bool, device: Any, dtype: Any, attentions: tuple[str, ...]) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        for name in attentions:
            self.add_module(name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where))
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        blocks = range(1, len(attentions) + 2)
        for i in blocks:
            self.add_module(f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where))
        for i in blocks:
            self.add_module(f"dropout{i}", Dropout(dropout))
        self.activation: Activation

    def _attend(self, name: str, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
                ) -> Tensor:
        output: Tensor = getattr(self, name)(x, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal,
                                             need_weights=False)[0]
        return output

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 for ReLU, 2 for GELU, 0 for another activation."""
        if self.activation is F.relu or isinstance(self.activation, ReLU):
            return 1
        return 2 if self.activation is F.gelu or isinstance(self.activation, GELU) else 0

    def _feed_forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return output


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a network on each position, each added to its input and normalised.

    `d_model` is the width, `dim_feedforward` that of the hidden layer with `activation` ('relu', 'gelu' or a function). With
    `norm_first` the input of each part is normalised instead of the sum. With `batch_first` the batch is the first dimension.
    Raises RuntimeError for another activation.

    Source: Vaswani et al., "Attention is all you need", 2017; for `norm_first` Xiong et al., "On layer normalization in the
    transformer architecture", 2020.

    >>> layer = nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> causal = nn.Transformer.generate_square_subsequent_mask(5)
    >>> layer(lucid.randn(2, 5, 8), src_mask=causal).shape
    lucid.Size([2, 5, 8])
    """

    __constants__ = ["norm_first"]  # noqa: RUF012

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(d_model, nhead, dim_feedforward, dropout, layer_norm_eps, batch_first, bias, device, dtype,
                         ("self_attn",))
        self.norm_first = norm_first
        self.activation = _get_activation_fn(activation)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        """(L, N, E), (N, L, E) with `batch_first` or (L, E) to the same shape. Masks as in `MultiheadAttention`."""
        padding, mask = canonical_masks(src, src_key_padding_mask, src_mask)

        def attend(x: Tensor) -> Tensor:
            return self.dropout1(self._attend("self_attn", x, x, mask, padding, is_causal))

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + self.dropout2(self._feed_forward(self.norm2(src)))
        src = self.norm1(src + attend(src))
        return self.norm2(src + self.dropout2(self._feed_forward(src)))


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, attention to the result of the encoder, then a network on each position.

    Arguments and source as for `TransformerEncoderLayer`.

    >>> layer = nn.TransformerDecoderLayer(8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(lucid.randn(2, 3, 8), memory=lucid.randn(2, 5, 8)).shape
    lucid.Size([2, 3, 8])
    """

    __constants__ = ["norm_first"]  # noqa: RUF012

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(d_model, nhead, dim_feedforward, dropout, layer_norm_eps, batch_first, bias, device, dtype,
                         ("self_attn", "multihead_attn"))
        self.norm_first = norm_first
        self.activation = _get_activation_fn(activation)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        """`tgt` with what it takes from `memory`, in the shape of `tgt`. Masks as in `MultiheadAttention`."""
        def attend(x: Tensor) -> Tensor:
            return self.dropout1(self._attend("self_attn", x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))

        def look(x: Tensor) -> Tensor:
            return self.dropout2(self._attend("multihead_attn", x, memory, memory_mask, memory_key_padding_mask,
                                              memory_is_causal))

        if self.norm_first:
            tgt = tgt + attend(self.norm1(tgt))
            tgt = tgt + look(self.norm2(tgt))
            return tgt + self.dropout3(self._feed_forward(self.norm3(tgt)))
        tgt = self.norm1(tgt + attend(tgt))
        tgt = self.norm2(tgt + look(tgt))
        return self.norm3(tgt + self.dropout3(self._feed_forward(tgt)))


class TransformerEncoder(Module):
    """`num_layers` copies of `encoder_layer`, one after the other, then `norm`.

    There are no nested tensors: `enable_nested_tensor` and `mask_check` are kept and have no effect.

    >>> layer = nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> nn.TransformerEncoder(layer, num_layers=2)(lucid.randn(2, 5, 8)).shape
    lucid.Size([2, 5, 8])
    """

    __constants__ = ["norm"]  # noqa: RUF012

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:
        """`src` through all layers. With `is_causal` None the mask is compared with the causal one."""
        padding, mask = canonical_masks(src, src_key_padding_mask, mask)
        is_causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        src = self._padded(src, mask, padding)
        return src if self.norm is None else self.norm(src)

    def _padded(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        """What the layers gave, with whatever is to stand at padded positions."""
        return src


class TransformerDecoder(Module):
    """`num_layers` copies of `decoder_layer`, one after the other, then `norm`.

    >>> layer = nn.TransformerDecoderLayer(8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> nn.TransformerDecoder(layer, num_layers=2)(lucid.randn(2, 3, 8), lucid.randn(2, 5, 8)).shape
    lucid.Size([2, 3, 8])
    """

    __constants__ = ["norm"]  # noqa: RUF012

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """`tgt` through all layers. With `tgt_is_causal` None the mask is compared with the causal one."""
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                        memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder; both end in a `LayerNorm`. `custom_encoder` and `custom_decoder` take their places.

    Source: Vaswani et al., "Attention is all you need", 2017.

    >>> model = nn.Transformer(8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16, batch_first=True)
    >>> model(lucid.randn(2, 5, 8), lucid.randn(2, 3, 8)).shape
    lucid.Size([2, 3, 8])
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Activation = F.relu,
                 custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None
                 ) -> None:
        super().__init__()
        arguments = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
                     device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = (TransformerEncoder(TransformerEncoderLayer(*arguments), num_encoder_layers, norm())
                        if custom_encoder is None else custom_encoder)
        self.decoder = (TransformerDecoder(TransformerDecoderLayer(*arguments), num_decoder_layers, norm())
                        if custom_decoder is None else custom_decoder)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """`src` (S, N, E) and `tgt` (T, N, E), or (N, ., E) with `batch_first`, to the shape of `tgt`.

        Raises RuntimeError if the batches differ or a width is not `d_model`.
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        result: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
        return result

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask (sz, sz): 0 where a position may look, -inf above the diagonal.

        >>> nn.Transformer.generate_square_subsequent_mask(3)
        Tensor([[ 0.0, -inf, -inf],
                [ 0.0,  0.0, -inf],
                [ 0.0,  0.0,  0.0]], requires_grad=False)
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
