"""Models by name."""
from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Callable
from typing import Any, TypeVar

import lucid
from lucid import nn

Builder = TypeVar("Builder", bound=Callable[..., nn.Module])
_builders: dict[str, Callable[..., nn.Module]] = {}


def register_model(function: Builder) -> Builder:
    """Let `create_model` call a function, which returns a model, by its name; a decorator::

        @lucid.models.register_model
        def my_net(num_classes=10):
            return nn.Linear(8, num_classes)

        lucid.models.create_model("my_net", num_classes=3)

    >>> @lucid.models.register_model
    ... def tiny_for_the_example(num_classes=10):
    ...     return nn.Linear(8, num_classes)
    >>> lucid.models.create_model("tiny_for_the_example", num_classes=3)
    Linear(in_features=8, out_features=3, bias=True)
    """
    name = function.__name__
    if _builders.get(name, function) is not function:
        raise ValueError(f"there is a model {name!r} already: {_builders[name].__module__}.{name}")
    _builders[name] = function
    return function


def list_models(pattern: str | None = None) -> list[str]:
    """The names that `create_model` knows, in order; those that match a `pattern` such as ``"resnet*"``.

    >>> lucid.models.list_models("resnet*")[:3]
    ['resnet101', 'resnet152', 'resnet18']
    """
    return sorted(name for name in _builders if pattern is None or fnmatch.fnmatchcase(name, pattern))


def create_model(name: str, *, weights: str | os.PathLike[str] | None = None, **arguments: Any) -> nn.Module:
    """The model `name` with the arguments of its function, such as `num_classes`, and the weights in a file or a folder, which
    must have all of its keys and no others::

        model = lucid.models.create_model("vit_b_16", weights="vit_b_16-c867db91.pth").eval()

    >>> model = lucid.models.create_model("lenet_5")
    >>> sum(p.numel() for p in model.parameters())
    61706
    """
    if name not in _builders:
        near = difflib.get_close_matches(name, _builders, 1)
        raise ValueError(f"there is no model {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
                         + " lucid.models.list_models() names them all")
    model = _builders[name](**arguments)
    model._created_as = {"lucid_model": name, "arguments": arguments}  # for save_pretrained
    if weights is not None:
        model.load_state_dict(lucid.load(weights))
    return model
