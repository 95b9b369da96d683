"""Folders with a configuration and weights, as Hugging Face has them: config.json, and model.safetensors or several with an index
(also pytorch_model.bin).
"""
from __future__ import annotations

import json
import os
import pathlib
import warnings
from typing import Any

import lucid
from lucid import nn
from lucid.serialization.output_file import written_at

from . import bert, bert_heads, gpt2
from .registry import create_model

_MODELS: dict[str, Any] = {model.__name__: (model, configuration) for model, configuration in (
    (gpt2.GPT2Model, gpt2.GPT2Config), (gpt2.GPT2LMHeadModel, gpt2.GPT2Config), (bert.BertModel, bert.BertConfig),
    (bert_heads.BertForMaskedLM, bert.BertConfig), (bert_heads.BertForSequenceClassification, bert.BertConfig))}
_OLD_ENDS = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def save_pretrained(model: nn.Module, folder: str | os.PathLike[str], max_shard_size: int | str = "5GB") -> None:
    """Write the configuration and the weights of a model of `create_model` or `from_pretrained` into a folder, for them and, of a
    language model, for transformers, too::

        lucid.models.save_pretrained(model, "folder")

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lucid.models.save_pretrained(lucid.models.create_model("lenet_5"), folder)
    ...     print(sorted(os.listdir(folder)))
    ['config.json', 'model.safetensors']
    """
    document = _configuration(model)
    path = pathlib.Path(folder)
    lucid.save(model.state_dict(), path, max_shard_size=max_shard_size)
    with written_at(path / "config.json") as file:
        file.write(json.dumps(document, indent=2).encode() + b"\n")


def _configuration(model: nn.Module) -> dict[str, Any]:
    if type(model).__name__ in _MODELS:
        return {"architectures": [type(model).__name__], **model.config.to_dict()}
    if not hasattr(model, "_created_as"):
        raise TypeError(f"cannot write a config.json for a {type(model).__name__} that create_model has not made")
    return model._created_as


def from_pretrained(folder: str | os.PathLike[str], architecture: str | None = None, *, strict: bool = True) -> nn.Module:
    """The model in a folder, in evaluation mode: that of `save_pretrained`, or a GPT-2 or BERT of Hugging Face. Nothing is
    downloaded::

        model = lucid.models.from_pretrained("folder")

    `architecture` is the class, such as ``"GPT2Model"``, where it is not the one that config.json names. Raises RuntimeError with
    the names of missing and unexpected keys; with ``strict=False`` it warns, and what is missing stays as it was initialized.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lucid.models.save_pretrained(lucid.models.create_model("lenet_5"), folder)
    ...     model = lucid.models.from_pretrained(folder)
    >>> type(model).__name__, model.training
    ('LeNet', False)
    """
    path = pathlib.Path(folder)
    config = path / "config.json"
    if not config.is_file():
        raise FileNotFoundError(f"{config} is not there: from_pretrained needs a folder with config.json and weights")
    document = json.loads(config.read_text(encoding="utf-8"))
    if "lucid_model" in document:
        model = create_model(document["lucid_model"], **document["arguments"])
    else:
        names = [architecture] if architecture else document.get("architectures") or [None]
        if names[0] not in _MODELS:
            raise ValueError(f"{config} is of {names[0] or document.get('model_type')}; lucid.models has {', '.join(_MODELS)}")
        kind, configuration = _MODELS[names[0]]
        if document.get("model_type", configuration.model_type) != configuration.model_type:
            raise ValueError(f"{config} is of a {document['model_type']}, which {names[0]} is not")
        model = kind(configuration.from_dict(document))
    state = lucid.load(path)
    if "lucid_model" not in document:
        state = _renamed(state, model)
    found = model.load_state_dict(state, strict=strict)
    if found.missing_keys or found.unexpected_keys:
        warnings.warn(f"{folder}: missing keys {found.missing_keys}, unexpected keys {found.unexpected_keys}", stacklevel=2)
    return model.eval()


def _renamed(state: dict[str, Any], model: Any) -> dict[str, Any]:
    """`state` under the keys of `model`: files of the model without its head, and of one with a head for the model without,
    have the same keys but for a prefix.
    """
    own = model.state_dict().keys()
    for old, new in _OLD_ENDS.items():
        state = {key.removesuffix(old) + new if key.endswith(old) else key: value for key, value in state.items()}
    state = {key: value for key, value in state.items() if key in own or not _is_ignored(key, model)}
    prefix = getattr(model, "base_model_prefix", None)
    if prefix is not None:
        state = {f"{prefix}.{key}" if key not in own and f"{prefix}.{key}" in own else key: value
                 for key, value in state.items()}
    else:
        for prefix in ("transformer.", "bert."):
            if any(key.startswith(prefix) for key in state):
                state = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    for key, other in model.tied_keys.items():
        if key in own and key not in state and other in state and _are_one(model, key, other):
            state[key] = state[other]
        elif key in own and other in own and other not in state and key in state and _are_one(model, key, other):
            state[other] = state[key]
    return state


def _is_ignored(key: str, model: Any) -> bool:
    return any(key.endswith(name) or (name.endswith(".") and key.startswith(name)) for name in model.ignored_keys)


def _are_one(model: nn.Module, key: str, other: str) -> bool:
    return model.get_parameter(key) is model.get_parameter(other)
