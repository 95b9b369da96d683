"""The models of the tests, weights that depend on nothing but their names, and the same models of the reference libraries.

``python -m tests.models.cases`` writes `numbers.json`: what torchvision's and transformers' models compute with these weights.
"""
from __future__ import annotations

import hashlib
import importlib
import json
import pathlib
import sys
import types
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from lucid import nn

NUMBERS = pathlib.Path(__file__).with_name("numbers.json")
GPT2 = {"vocab_size": 60, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
        "attn_pdrop": 0.0}
BERT = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
        "max_position_embeddings": 16, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
VIT = {"image_size": 32, "patch_size": 16, "num_layers": 2, "num_heads": 2, "hidden_dim": 16, "mlp_dim": 24, "num_classes": 7}
#: Name: (module and class or function in lucid.models, arguments, kind of input).
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "lenet_5": ("lenet.LeNet", {}, "digits"),
    "alexnet": ("alexnet.alexnet", {"num_classes": 7, "dropout": 0.0}, "images64"),
    "vgg11_bn": ("vgg.vgg11_bn", {"num_classes": 7, "dropout": 0.0}, "images"),
    "resnet": ("resnet.ResNet", {"block": "BasicBlock", "layers": [2, 1, 1, 1], "num_classes": 7}, "images"),
    "resnext": ("resnet.ResNet", {"block": "Bottleneck", "layers": [1, 1, 1, 1], "num_classes": 7, "groups": 32,
                                  "width_per_group": 4}, "images"),
    "mobilenet_v2": ("mobilenet.mobilenet_v2", {"num_classes": 7, "dropout": 0.0}, "images"),
    "vit": ("vision_transformer.VisionTransformer", VIT, "images"),
    "unet": ("unet.UNet", {"width": 4}, "odd_images"),
    "unet_bilinear": ("unet.UNet", {"width": 4, "bilinear": True}, "odd_images"),
    "gpt2": ("gpt2.GPT2LMHeadModel", GPT2, "tokens"),
    "bert": ("bert_heads.BertForMaskedLM", BERT, "tokens"),
    "bert_classifier": ("bert_heads.BertForSequenceClassification", BERT, "tokens"),
}


def ours(name: str) -> Any:
    """The model of lucid."""
    path, arguments, kind = CASES[name]
    module, _, entry = path.partition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"lucid.models.{module}"), entry)
    if kind == "tokens":
        from lucid.models import bert, gpt2

        return found((gpt2.GPT2Config if name == "gpt2" else bert.BertConfig)(**arguments))
    return _made(found, arguments, nn)


def _made(function: Callable[..., Any], arguments: dict[str, Any], nn: Any) -> Any:
    """The model of a function. Layers of 4096, most of the weights of AlexNet and VGG, have 8 instead."""
    if "block" in arguments:
        arguments = {**arguments, "block": getattr(sys.modules[function.__module__], arguments["block"])}
    model = function(**arguments)
    classifier = getattr(model, "classifier", ())
    for place, layer in enumerate(classifier if isinstance(classifier, nn.Sequential) else ()):
        if 4096 in getattr(layer, "weight", np.empty(0)).shape:
            rows, columns = (8 if length == 4096 else length for length in layer.weight.shape)
            classifier[place] = nn.Linear(columns, rows)
    return model


def reference(name: str) -> Any:
    """The model of torchvision or transformers. Of those that have none, our own module with PyTorch in the place of lucid."""
    path, arguments, kind = CASES[name]
    module, _, entry = path.partition(".")
    if kind == "tokens":
        transformers: Any = importlib.import_module("transformers")
        configuration = (transformers.GPT2Config if name == "gpt2" else transformers.BertConfig)(**arguments)
        return getattr(transformers, entry)(configuration)
    if module in ("lenet", "unet"):
        return getattr(with_torch(module), entry)(**arguments)
    vision: Any = importlib.import_module("torchvision.models." + {"mobilenet": "mobilenetv2"}.get(module, module))
    return _made(getattr(vision, entry), arguments, importlib.import_module("torch.nn"))


def with_torch(module: str) -> Any:
    """A module of lucid.models that computes with PyTorch."""
    source = pathlib.Path(importlib.import_module(f"lucid.models.{module}").__file__).read_text()  # type: ignore[arg-type]
    source = source.replace("from .registry import register_model", "register_model = lambda function: function")
    source = source.replace("import lucid\nfrom lucid import nn", "import torch as lucid\nfrom torch import nn")
    found = types.ModuleType(module)
    exec(compile(source, module, "exec"), vars(found))
    return found


def entries(model: Any) -> list[tuple[str, tuple[int, ...]]]:
    """The keys of a state dict, and their shapes."""
    return [(key, tuple(value.shape)) for key, value in model.state_dict().items()]


def fill(model: Any, tensor: Callable[[np.ndarray], Any]) -> Any:
    """Give `model` weights that depend on nothing but their names, made by `tensor` of arrays."""
    state = {}
    for key, shape in entries(model):
        if key.endswith("num_batches_tracked"):
            state[key] = tensor(np.array(3))
            continue
        # The names that lucid and the libraries share; a tied weight has the elements of the first one.
        name = {"lm_head.weight": "transformer.wte.weight", "cls.predictions.decoder.bias": "cls.predictions.bias",
                "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight"}.get(key, key)
        elements = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(997).astype(np.float32)
        values = np.resize(elements, shape)
        if key.endswith("running_var"):
            values = 1 + 0.1 * np.abs(values)
        elif len(shape) > 1:
            values = values / np.sqrt(np.prod(shape[1:], dtype=np.float32))
        else:
            values = 0.1 * values + (1 if key.endswith("weight") else 0)
        state[key] = tensor(values.astype(np.float32))
    model.load_state_dict(state)
    return model


def inputs(kind: str) -> np.ndarray:
    """What a model is called with."""
    rng = np.random.default_rng(0)
    if kind == "tokens":
        return rng.integers(1, 60, (2, 7))
    shape = {"digits": (2, 1, 32, 32), "images": (4, 3, 32, 32), "images64": (4, 3, 64, 64), "odd_images": (2, 3, 35, 34)}[kind]
    return rng.standard_normal(shape).astype(np.float32)


def scores(output: Any) -> Any:
    """The tensor in what a model returns."""
    return output.logits if hasattr(output, "logits") else output


def digest(model: Any) -> str:
    """One short text for all keys and shapes."""
    return hashlib.sha256(repr(sorted(entries(model))).encode()).hexdigest()[:16]


def main() -> None:
    """Write the numbers."""
    import torch

    vision: Any = importlib.import_module("torchvision.models")
    from lucid.models import list_models

    found: dict[str, Any] = {"keys": {}, "outputs": {}}
    with torch.device("meta"):
        for name in list_models():
            if hasattr(vision, name):
                found["keys"][name] = digest(getattr(vision, name)())
        transformers: Any = importlib.import_module("transformers")
        found["keys"]["gpt2"] = digest(transformers.GPT2LMHeadModel(transformers.GPT2Config()))
        found["keys"]["bert_base"] = digest(transformers.BertModel(transformers.BertConfig()))
    for name, (_, _, kind) in CASES.items():
        model = fill(reference(name), torch.from_numpy).eval()
        with torch.no_grad():
            output = scores(model(torch.from_numpy(inputs(kind)))).double().flatten()
        some = output[:: max(1, len(output) // 12)][:12]
        found["outputs"][name] = [round(float(v), 6) for v in (output.sum(), output.abs().sum(), *some)]
    NUMBERS.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    sys.exit(main())
