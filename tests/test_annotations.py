"""Annotations of public classes, functions and methods can be read while the program runs, as tools do that make schemas of them."""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from typing import Any

import lucid
from lucid import nn


def _public() -> Iterator[tuple[str, Any]]:
    """Every public function and class of lucid, with the methods and properties of classes."""
    names = [module.name for module in pkgutil.walk_packages(lucid.__path__, "lucid.")]
    names = [name for name in names if not name.startswith(("lucid.backends", "lucid.warmup"))]
    for module in (lucid, *map(importlib.import_module, names)):
        for name, value in list(vars(module).items()):
            if name.startswith("_") or not (getattr(value, "__module__", None) or "").startswith("lucid"):
                continue
            if inspect.isclass(value):
                yield f"{module.__name__}.{name}", value
                for attribute, member in list(vars(value).items()):
                    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                    if callable(function) and hasattr(function, "__annotations__"):
                        yield f"{module.__name__}.{name}.{attribute}", function
            elif callable(value) and hasattr(value, "__annotations__"):
                yield f"{module.__name__}.{name}", value


def test_type_hints_of_everything_public_resolve() -> None:
    failed, seen = [], set()
    for name, value in _public():
        if id(value) not in seen:
            seen.add(id(value))
            try:
                typing.get_type_hints(value)
            except Exception as error:
                failed.append(f"{name}: {error!r}")
    assert len(seen) > 2000
    assert not failed, "\n".join(failed)


def test_type_hints_of_a_layer() -> None:
    assert typing.get_type_hints(nn.Linear)["_modules"] == dict[str, nn.Module | None]
    assert typing.get_type_hints(nn.Linear.forward)["return"] is lucid.Tensor
    assert typing.get_type_hints(nn.Module.get_submodule)["return"] is nn.Module
