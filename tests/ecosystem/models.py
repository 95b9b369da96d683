"""Models of PyTorch's libraries, small ones, with inputs drawn by NumPy: by library and name a function that makes both."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

Case = Callable[[np.random.RandomState], tuple[Any, list[Any]]]
MODELS: dict[str, dict[str, Case]] = {}


def images(r: np.random.RandomState, size: int = 32, batch: int = 2) -> list[Any]:
    return [torch.from_numpy(r.standard_normal((batch, 3, size, size)))]


def tokens(r: np.random.RandomState, length: int = 7, batch: int = 2, count: int = 40) -> list[Any]:
    return [torch.from_numpy(r.randint(3, count, (batch, length)))]


def model(library: str, name: str) -> Callable[[Case], Case]:
    def add(case: Case) -> Case:
        MODELS.setdefault(library, {})[name] = case
        return case

    return add


def torchvision() -> None:
    from torchvision import models
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    from torchvision.ops import MLP, FrozenBatchNorm2d

    for name in ("resnet18 mobilenet_v2 mobilenet_v3_small shufflenet_v2_x0_5 squeezenet1_1 regnet_y_400mf mnasnet0_5 "
                 "efficientnet_b0").split():
        size = 64 if name == "squeezenet1_1" else 32
        model("torchvision", name)(lambda r, name=name, size=size: (
            models.get_model(name, weights=None, num_classes=5), images(r, size, 4)))
    model("torchvision", "vision_transformer")(lambda r: (models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5), images(r)))
    model("torchvision", "swin_v1")(lambda r: (models.SwinTransformer([4, 4], 8, [1, 1], [1, 2], [4, 4], num_classes=5), images(r)))
    model("torchvision", "fpn")(lambda r: (nn.Sequential(
        resnet_fpn_backbone(backbone_name="resnet18", weights=None, norm_layer=FrozenBatchNorm2d)), images(r, 64, 1)))
    model("torchvision", "mlp")(lambda r: (nn.Sequential(nn.Flatten(), MLP(48, [8, 4], norm_layer=nn.LayerNorm)), images(r, 4)))


def timm() -> None:
    import timm as library

    for name in ("resnet10t", "test_efficientnet", "test_vit", "test_convnext", "test_resnet", "test_nfnet", "test_byobnet"):
        model("timm", name)(lambda r, name=name: (library.create_model(name, num_classes=5), images(r, 160, 1)))
    for name in ("lcnet_035", "tinynet_e", "mobilenetv3_small_050", "ghostnet_050", "rexnet_100"):
        model("timm", name)(lambda r, name=name: (library.create_model(name, num_classes=5), images(r, 64)))


def transformers() -> None:
    import transformers as library

    sizes = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
             "max_position_embeddings": 32}

    def language(name: str, config: str, **options: Any) -> None:
        def case(r: np.random.RandomState) -> tuple[Any, list[Any]]:
            made = getattr(library, name)(getattr(library, config)(**options))
            return Labelled(made), tokens(r)

        model("transformers", name)(case)

    language("BertForMaskedLM", "BertConfig", **sizes)
    language("RobertaForMaskedLM", "RobertaConfig", **sizes)
    language("GPT2LMHeadModel", "GPT2Config", vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    language("LlamaForCausalLM", "LlamaConfig", **sizes, num_key_value_heads=1)
    language("Qwen3ForCausalLM", "Qwen3Config", **sizes, num_key_value_heads=1, head_dim=8)
    language("MixtralForCausalLM", "MixtralConfig", **sizes, num_key_value_heads=1, num_local_experts=3,
             experts_implementation="eager")
    language("MambaForCausalLM", "MambaConfig", vocab_size=40, hidden_size=16, num_hidden_layers=2, state_size=4)
    language("T5ForConditionalGeneration", "T5Config", vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
             decoder_start_token_id=0)
    model("transformers", "ViTForImageClassification")(lambda r: (library.ViTForImageClassification(library.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8)), images(r)))
    model("transformers", "ResNetForImageClassification")(lambda r: (library.ResNetForImageClassification(library.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")), images(r)))


class Labelled(nn.Module):
    """A language model with its own loss."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any) -> Any:
        found = self.model(input_ids=ids, labels=ids)
        return found.loss, found.logits


def vit_pytorch() -> None:
    import importlib

    options = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 16, "depth": 2, "heads": 2, "mlp_dim": 32}
    for module, name in (("vit", "ViT"), ("simple_vit", "SimpleViT"), ("deepvit", "DeepViT"), ("simple_vit_with_register_tokens", "SimpleViT")):
        model("vit_pytorch", f"{module}.{name}")(lambda r, module=module, name=name: (
            getattr(importlib.import_module(f"vit_pytorch.{module}"), name)(**options), images(r)))


def x_transformers() -> None:
    import x_transformers as library

    options = {"dim": 16, "depth": 2, "heads": 2, "attn_dim_head": 8}
    for name, more in (("plain", {}), ("rotary", {"rotary_pos_emb": True, "ff_glu": True, "use_rmsnorm": True}),
                       ("alibi", {"alibi_pos_bias": True, "alibi_num_heads": 2, "attn_qk_norm": True})):
        model("x_transformers", name)(lambda r, more=more: (library.TransformerWrapper(
            num_tokens=40, max_seq_len=16, attn_layers=library.Decoder(**options, **more)), tokens(r)))


def einops() -> None:
    from einops.layers.torch import EinMix, Rearrange, Reduce

    model("einops", "layers")(lambda r: (nn.Sequential(
        Rearrange("b c (h i) (w j) -> b (h w) (c i j)", i=8, j=8),
        EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=192, d=8),
        nn.GELU(), Reduce("b t d -> b d", "mean")), images(r)))


def torchmetrics() -> None:
    import torchmetrics as library

    def case(r: np.random.RandomState) -> tuple[Any, list[Any]]:
        options = {"task": "multiclass", "num_classes": 4}
        made = library.MetricCollection({"f1": library.F1Score(**options), "auroc": library.AUROC(**options),
                                         "error": library.CalibrationError(**options)})
        return made, [torch.from_numpy(r.random_sample((12, 4))).softmax(1), torch.from_numpy(r.randint(0, 4, 12))]

    model("torchmetrics", "multiclass")(case)


LIBRARIES = {each.__name__: each for each in (torchvision, timm, transformers, vit_pytorch, x_transformers, einops, torchmetrics)}
