"""GPT-2, with Hugging Face's keys."""
from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import lucid
from lucid import nn
from lucid.nn import functional as F

from .configuration import ACTIVATIONS, Configuration
from .registry import register_model


@dataclasses.dataclass
class GPT2Config(Configuration):
    """The entries of a config.json, with Hugging Face's defaults: those of the smallest GPT-2."""

    model_type: ClassVar[str] = "gpt2"
    only: ClassVar[dict[str, Any]] = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False,
                                      "add_cross_attention": False}
    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    n_inner: int | None = None
    activation_function: str = "gelu_new"
    resid_pdrop: float = 0.1
    embd_pdrop: float = 0.1
    attn_pdrop: float = 0.1
    layer_norm_epsilon: float = 1e-5
    initializer_range: float = 0.02
    tie_word_embeddings: bool = True


class Conv1D(nn.Module):
    """A linear layer whose weight is transposed, as GPT-2's files have it."""

    def __init__(self, out_features: int, in_features: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(lucid.empty(in_features, out_features).normal_(std=std))
        self.bias = nn.Parameter(lucid.zeros(out_features))

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The layer's outputs."""
        return F.linear(x, self.weight.T, self.bias)


class GPT2Attention(nn.Module):
    """Attention to the positions up to one's own."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.heads, self.dropout = config.n_head, config.attn_pdrop
        std = config.initializer_range
        self.c_attn = Conv1D(3 * config.n_embd, config.n_embd, std)
        self.c_proj = Conv1D(config.n_embd, config.n_embd, std / math.sqrt(2 * config.n_layer))
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, x: lucid.Tensor, mask: lucid.Tensor | None) -> lucid.Tensor:
        """The layer's outputs; `mask` is added to the scores, None is the causal one."""
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1))
        x = F.scaled_dot_product_attention(query, key, value, mask, self.dropout if self.training else 0.0, mask is None)
        return self.resid_dropout(self.c_proj(x.transpose(1, 2).flatten(2)))


class GPT2MLP(nn.Module):
    """Two linear layers."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        inner = config.n_inner or 4 * config.n_embd
        self.c_fc = Conv1D(inner, config.n_embd, config.initializer_range)
        self.c_proj = Conv1D(config.n_embd, inner, config.initializer_range / math.sqrt(2 * config.n_layer))
        self.act = ACTIVATIONS[config.activation_function]
        self.dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The layer's outputs."""
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class GPT2Block(nn.Module):
    """Attention and linear layers, each after a normalization and beside a shortcut."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.attn = GPT2Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.mlp = GPT2MLP(config)

    def forward(self, x: lucid.Tensor, mask: lucid.Tensor | None) -> lucid.Tensor:
        """The block's activations."""
        x = x + self.attn(self.ln_1(x), mask)
        return x + self.mlp(self.ln_2(x))


class GPT2Model(nn.Module):
    """The activations of each position."""

    ignored_keys = (".attn.bias", ".attn.masked_bias")  # masks, in older files
    tied_keys: ClassVar[dict[str, str]] = {}

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.h = nn.ModuleList(GPT2Block(config) for _ in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=config.initializer_range)

    def forward(self, input_ids: lucid.Tensor, attention_mask: lucid.Tensor | None = None,
                position_ids: lucid.Tensor | None = None) -> lucid.Tensor:
        """Activations (N, L, n_embd) for tokens (N, L); where `attention_mask` is 0 nobody looks."""
        length = input_ids.shape[1]
        if position_ids is None:
            position_ids = lucid.arange(length, device=input_ids.device)[None]
        x = self.drop(self.wte(input_ids) + self.wpe(position_ids))
        mask = None
        if attention_mask is not None:
            seen = lucid.ones(length, length, dtype=lucid.bool, device=x.device).tril() & (attention_mask[:, None, None] != 0)
            # The smallest number, not -inf: a row that sees nothing has no NaN.
            mask = lucid.where(seen, 0.0, lucid.finfo(x.dtype).min).to(x.dtype)
        for block in self.h:
            x = block(x, mask)
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    """Scores of the token after each position."""

    base_model_prefix = "transformer"
    ignored_keys = GPT2Model.ignored_keys
    tied_keys: ClassVar[dict[str, str]] = {"lm_head.weight": "transformer.wte.weight"}

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.transformer = GPT2Model(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.transformer.wte.weight
        else:
            nn.init.normal_(self.lm_head.weight, std=config.initializer_range)

    def forward(self, input_ids: lucid.Tensor, attention_mask: lucid.Tensor | None = None,
                position_ids: lucid.Tensor | None = None) -> lucid.Tensor:
        """Scores (N, L, vocab_size) for tokens (N, L)."""
        return self.lm_head(self.transformer(input_ids, attention_mask, position_ids))


@register_model
def gpt2(**entries: Any) -> GPT2LMHeadModel:
    """GPT-2 with the head for language, with entries of `GPT2Config`."""
    return GPT2LMHeadModel(GPT2Config(**entries))


@register_model
def gpt2_medium(**entries: Any) -> GPT2LMHeadModel:
    """GPT-2 with 355 million parameters."""
    return gpt2(**{"n_embd": 1024, "n_layer": 24, "n_head": 16, **entries})


@register_model
def gpt2_large(**entries: Any) -> GPT2LMHeadModel:
    """GPT-2 with 774 million parameters."""
    return gpt2(**{"n_embd": 1280, "n_layer": 36, "n_head": 20, **entries})


@register_model
def gpt2_xl(**entries: Any) -> GPT2LMHeadModel:
    """GPT-2 with 1.5 billion parameters."""
    return gpt2(**{"n_embd": 1600, "n_layer": 48, "n_head": 25, **entries})
