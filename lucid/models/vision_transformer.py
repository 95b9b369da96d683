"""Vision Transformers, with torchvision's keys."""
from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import lucid
from lucid import nn

from .registry import register_model


class EncoderBlock(nn.Module):
    """Attention and two linear layers, each after a normalization and beside a shortcut."""

    def __init__(self, num_heads: int, hidden_dim: int, mlp_dim: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden_dim, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(hidden_dim, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(hidden_dim, mlp_dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_dim, hidden_dim),
                                 nn.Dropout(dropout))
        for layer in (self.mlp[0], self.mlp[3]):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)
        self.mlp.register_load_state_dict_pre_hook(_new_names)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The block's activations."""
        y = self.ln_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, need_weights=False)[0])
        return x + self.mlp(self.ln_2(x))


def _new_names(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """The names of the linear layers in torchvision's published files."""
    for old, new in (("linear_1", "0"), ("linear_2", "3")):
        for kind in ("weight", "bias"):
            if f"{prefix}{old}.{kind}" in state:
                state[f"{prefix}{new}.{kind}"] = state.pop(f"{prefix}{old}.{kind}")


class Encoder(nn.Module):
    """Blocks in a row, with embeddings of positions."""

    def __init__(self, seq_length: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int, dropout: float,
                 attention_dropout: float) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(lucid.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(OrderedDict(
            (f"encoder_layer_{number}", EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout))
            for number in range(num_layers)))
        self.ln = nn.LayerNorm(hidden_dim, eps=1e-6)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The activations of all positions."""
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """An encoder over the patches of an image (https://arxiv.org/abs/2010.11929)."""

    def __init__(self, image_size: int, patch_size: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int,
                 dropout: float = 0.0, attention_dropout: float = 0.0, num_classes: int = 1000) -> None:
        super().__init__()
        if image_size % patch_size:
            raise ValueError(f"image_size={image_size} is no multiple of patch_size={patch_size}")
        self.image_size = image_size
        self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, patch_size)
        self.class_token = nn.Parameter(lucid.zeros(1, 1, hidden_dim))
        self.encoder = Encoder((image_size // patch_size) ** 2 + 1, num_layers, num_heads, hidden_dim, mlp_dim, dropout,
                               attention_dropout)
        self.heads = nn.Sequential(OrderedDict(head=nn.Linear(hidden_dim, num_classes)))
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / (3 * patch_size ** 2)))
        for tensor in (self.conv_proj.bias, self.heads.head.weight, self.heads.head.bias):
            nn.init.zeros_(tensor)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """Scores of the classes for images (N, 3, image_size, image_size)."""
        if x.shape[-2:] != (self.image_size, self.image_size):
            raise ValueError(f"expected images of {self.image_size}x{self.image_size} pixels, not of shape {tuple(x.shape)}")
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = lucid.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.heads(self.encoder(x)[:, 0])


@register_model
def vit_b_16(image_size: int = 224, num_classes: int = 1000, dropout: float = 0.0, attention_dropout: float = 0.0,
             ) -> VisionTransformer:
    """ViT-B with patches of 16x16."""
    return VisionTransformer(image_size, 16, 12, 12, 768, 3072, dropout, attention_dropout, num_classes)


@register_model
def vit_b_32(image_size: int = 224, num_classes: int = 1000, dropout: float = 0.0, attention_dropout: float = 0.0,
             ) -> VisionTransformer:
    """ViT-B with patches of 32x32."""
    return VisionTransformer(image_size, 32, 12, 12, 768, 3072, dropout, attention_dropout, num_classes)


@register_model
def vit_l_16(image_size: int = 224, num_classes: int = 1000, dropout: float = 0.0, attention_dropout: float = 0.0,
             ) -> VisionTransformer:
    """ViT-L with patches of 16x16."""
    return VisionTransformer(image_size, 16, 24, 16, 1024, 4096, dropout, attention_dropout, num_classes)


@register_model
def vit_l_32(image_size: int = 224, num_classes: int = 1000, dropout: float = 0.0, attention_dropout: float = 0.0,
             ) -> VisionTransformer:
    """ViT-L with patches of 32x32."""
    return VisionTransformer(image_size, 32, 24, 16, 1024, 4096, dropout, attention_dropout, num_classes)


@register_model
def vit_h_14(image_size: int = 224, num_classes: int = 1000, dropout: float = 0.0, attention_dropout: float = 0.0,
             ) -> VisionTransformer:
    """ViT-H with patches of 14x14."""
    return VisionTransformer(image_size, 14, 32, 16, 1280, 5120, dropout, attention_dropout, num_classes)
