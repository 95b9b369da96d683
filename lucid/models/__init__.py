"""Published networks, by name, under the keys of torchvision and Hugging Face, so that their checkpoints load::

    model = lucid.models.create_model("resnet50", weights="resnet50-11ad3fa6.pth")
    model = lucid.models.from_pretrained("folder/with/gpt2")      # config.json and model.safetensors

`registry`: models by name.
`pretrained`: folders with a configuration and weights.
`configuration`: what a config.json says.
`lenet`, `alexnet`, `vgg`, `resnet`, `mobilenet`, `vision_transformer`, `unet`: networks for images.
`gpt2`, `bert`, `bert_heads`: language models.

>>> lucid.models.create_model("lenet_5")(lucid.zeros(1, 1, 32, 32)).shape
lucid.Size([1, 10])
"""
from . import alexnet, bert, bert_heads, gpt2, lenet, mobilenet, resnet, unet, vgg, vision_transformer
from .pretrained import from_pretrained, save_pretrained
from .registry import create_model, list_models, register_model

__all__ = [
    "alexnet", "bert", "bert_heads", "create_model", "from_pretrained", "gpt2", "lenet", "list_models", "mobilenet",
    "register_model", "resnet", "save_pretrained", "unet", "vgg", "vision_transformer",
]
