"""BERT, with Hugging Face's keys."""
from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import lucid
from lucid import nn
from lucid.nn import functional as F

from .configuration import ACTIVATIONS, Configuration
from .registry import register_model


@dataclasses.dataclass
class BertConfig(Configuration):
    """The entries of a config.json, with Hugging Face's defaults: those of BERT-Base."""

    model_type: ClassVar[str] = "bert"
    only: ClassVar[dict[str, Any]] = {"is_decoder": False, "add_cross_attention": False, "position_embedding_type": "absolute"}
    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    classifier_dropout: float | None = None
    tie_word_embeddings: bool = True
    id2label: dict[Any, str] = dataclasses.field(default_factory=lambda: {"0": "LABEL_0", "1": "LABEL_1"})


class BertEmbeddings(nn.Module):
    """Embeddings of words, positions and segments."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: lucid.Tensor, token_type_ids: lucid.Tensor | None,
                position_ids: lucid.Tensor | None) -> lucid.Tensor:
        """Embeddings (N, L, hidden_size)."""
        if position_ids is None:
            position_ids = lucid.arange(input_ids.shape[1], device=input_ids.device)[None]
        if token_type_ids is None:
            token_type_ids = lucid.zeros_like(input_ids)
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        return self.dropout(self.LayerNorm(x + self.position_embeddings(position_ids)))


class BertSelfAttention(nn.Module):
    """Attention to all positions."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x: lucid.Tensor, mask: lucid.Tensor | None) -> lucid.Tensor:
        """The layer's outputs; `mask` is added to the scores."""
        query, key, value = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                             for layer in (self.query, self.key, self.value))
        x = F.scaled_dot_product_attention(query, key, value, mask, self.dropout if self.training else 0.0)
        return x.transpose(1, 2).flatten(2)


class BertOutput(nn.Module):
    """A linear layer and a normalization with a shortcut."""

    def __init__(self, in_features: int, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(in_features, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: lucid.Tensor, shortcut: lucid.Tensor) -> lucid.Tensor:
        """The layer's outputs."""
        return self.LayerNorm(self.dropout(self.dense(x)) + shortcut)


class BertLayer(nn.Module):
    """Attention and two linear layers, each before a normalization with a shortcut."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = nn.ModuleDict({"self": BertSelfAttention(config), "output": BertOutput(config.hidden_size, config)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.intermediate_size)})
        self.output = BertOutput(config.intermediate_size, config)
        self.act = ACTIVATIONS[config.hidden_act]

    def forward(self, x: lucid.Tensor, mask: lucid.Tensor | None) -> lucid.Tensor:
        """The layer's activations."""
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(self.act(self.intermediate["dense"](x)), x)


class BertModel(nn.Module):
    """The activations of each position, and those of the first one for a classifier (None without `add_pooling_layer`)."""

    ignored_keys = ("embeddings.position_ids",)  # numbers from 0 up, in older files
    tied_keys: ClassVar[dict[str, str]] = {}

    def __init__(self, config: BertConfig, add_pooling_layer: bool = True) -> None:
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(BertLayer(config) for _ in range(config.num_hidden_layers))})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.hidden_size)}) if add_pooling_layer else None
        initialize(self, config)

    def forward(self, input_ids: lucid.Tensor, attention_mask: lucid.Tensor | None = None,
                token_type_ids: lucid.Tensor | None = None, position_ids: lucid.Tensor | None = None,
                ) -> tuple[lucid.Tensor, lucid.Tensor | None]:
        """Activations (N, L, hidden_size) and (N, hidden_size) for tokens (N, L); where `attention_mask` is 0 nobody looks."""
        x = self.embeddings(input_ids, token_type_ids, position_ids)
        mask = None
        if attention_mask is not None:
            # The smallest number, not -inf: a row that sees nothing has no NaN.
            mask = lucid.where(attention_mask[:, None, None] != 0, 0.0, lucid.finfo(x.dtype).min).to(x.dtype)
        for layer in self.encoder.get_submodule("layer").children():
            x = layer(x, mask)
        return x, None if self.pooler is None else lucid.tanh(self.pooler["dense"](x[:, 0]))


def initialize(model: nn.Module, config: BertConfig) -> None:
    """Set linear layers and embeddings as BERT does."""
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=config.initializer_range)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding) and module.padding_idx is not None:
            with lucid.no_grad():
                module.weight[module.padding_idx].zero_()


@register_model
def bert_base(**entries: Any) -> BertModel:
    """BERT-Base, with entries of `BertConfig`."""
    return BertModel(BertConfig(**entries))


@register_model
def bert_large(**entries: Any) -> BertModel:
    """BERT-Large."""
    return bert_base(**{"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
                        **entries})
