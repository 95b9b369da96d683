"""What stands on a BERT, with Hugging Face's keys."""
from __future__ import annotations

from typing import ClassVar

import lucid
from lucid import nn

from .bert import BertConfig, BertModel, initialize
from .configuration import ACTIVATIONS


class BertForMaskedLM(nn.Module):
    """Scores of the token at each position."""

    base_model_prefix = "bert"
    ignored_keys = (*BertModel.ignored_keys, "bert.pooler.", "cls.seq_relationship.")  # of BERT's own training
    tied_keys: ClassVar[dict[str, str]] = {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
                                           "cls.predictions.decoder.bias": "cls.predictions.bias"}

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = BertModel(config, add_pooling_layer=False)
        transform = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.hidden_size),
                                   "LayerNorm": nn.LayerNorm(config.hidden_size, config.layer_norm_eps)})
        predictions = nn.ModuleDict({"transform": transform, "decoder": nn.Linear(config.hidden_size, config.vocab_size)})
        self.cls = nn.ModuleDict({"predictions": predictions})
        self.act = ACTIVATIONS[config.hidden_act]
        initialize(self.cls, config)
        if config.tie_word_embeddings:
            predictions["decoder"].weight = self.bert.embeddings.word_embeddings.weight
        predictions.bias = predictions["decoder"].bias  # the name that older files have alone

    def forward(self, input_ids: lucid.Tensor, attention_mask: lucid.Tensor | None = None,
                token_type_ids: lucid.Tensor | None = None, position_ids: lucid.Tensor | None = None) -> lucid.Tensor:
        """Scores (N, L, vocab_size) for tokens (N, L)."""
        x, _ = self.bert(input_ids, attention_mask, token_type_ids, position_ids)
        layer = self.cls.get_submodule
        x = layer("predictions.transform.LayerNorm")(self.act(layer("predictions.transform.dense")(x)))
        return layer("predictions.decoder")(x)


class BertForSequenceClassification(nn.Module):
    """Scores of the classes of a text."""

    base_model_prefix = "bert"
    ignored_keys = BertModel.ignored_keys
    tied_keys: ClassVar[dict[str, str]] = {}

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = BertModel(config)
        dropout = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(config.hidden_size, len(config.id2label))
        initialize(self.classifier, config)

    def forward(self, input_ids: lucid.Tensor, attention_mask: lucid.Tensor | None = None,
                token_type_ids: lucid.Tensor | None = None, position_ids: lucid.Tensor | None = None) -> lucid.Tensor:
        """Scores (N, classes) for tokens (N, L)."""
        return self.classifier(self.dropout(self.bert(input_ids, attention_mask, token_type_ids, position_ids)[1]))
