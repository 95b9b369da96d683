"""The public names and their examples. ``python -m tests.docs.missing`` lists those that have none.

An example stands in the docstring of the function, once: its method of Tensor, its alias and its variant in place share it.
"""
from __future__ import annotations

import doctest
import functools
import inspect
import pathlib
import pkgutil
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

import lucid
from lucid._namespace.lazy import LAZY

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "docs")]

import public_names  # noqa: E402

_METHODS = (types.FunctionType, property, classmethod, staticmethod, functools.partial)

#: Namespaces of helpers, and of what others have written, whose names need none.
WITHOUT = """lucid.backends.memory lucid.extension.math lucid.utils.tensorboard lucid.multiprocessing lucid.types""".split()
NAMESPACES = [name for name in public_names.NAMESPACES if name not in WITHOUT]


#: Classes of which each method and property has one; of what they inherit from another of these, or override, that has it.
CLASSES = """lucid.Tensor lucid.Generator lucid.nn.Module lucid.nn.Sequential lucid.nn.ModuleList lucid.nn.ModuleDict
lucid.nn.ParameterList lucid.nn.ParameterDict lucid.nn.Transformer lucid.nn.Embedding lucid.nn.EmbeddingBag lucid.optim.Optimizer
lucid.optim.lr_scheduler.LRScheduler lucid.distributions.Distribution lucid.autograd.Function lucid.amp.GradScaler""".split()


def itself(namespace: str) -> Any:
    """The module, or the class."""
    return pkgutil.resolve_name(namespace)


def members(namespace: str) -> Iterator[tuple[str, Any]]:
    """The public functions and classes of a module, or the methods and properties of a class."""
    own = itself(namespace)
    if isinstance(own, type):
        bases = [base for base in map(itself, CLASSES) if issubclass(own, base) and base is not own]
        for name in dir(own):
            member = inspect.getattr_static(own, name)
            if not name.startswith("_") and not any(hasattr(base, name) for base in bases) and isinstance(member, _METHODS):
                yield name, member
        return
    for name in sorted({*(getattr(own, "__all__", None) or dir(own)), *LAZY.get(namespace, ())}):
        member = getattr(own, name)
        ours = str(getattr(member, "__module__", "")).startswith("lucid")
        if ours and not name.startswith("_") and (isinstance(member, type | functools.partial) or inspect.isroutine(member)):
            yield name, member


def has_example(member: Any) -> bool:
    """Whether the docstring of a function, class, property or module has an example, or begins with the function that has it."""
    text = member.__doc__ or ""
    return ">>>" in text or text.startswith("`lucid.")


def missing(namespace: str) -> list[str]:
    """The names without an example, "(itself)" of the module. Names that differ in the ``_`` at the end share one: `add_`, and `constant` of `init`."""
    shared = {name.rstrip("_") for name, member in members(namespace) if has_example(member)}
    without = [name for name, _ in members(namespace) if name.rstrip("_") not in shared]
    return without if has_example(itself(namespace)) else ["(itself)", *without]


def examples(namespace: str, seen: set[str]) -> Iterator[doctest.DocTest]:
    """The examples of a namespace, and of its own docstring, but those in `seen`, to which they are added."""
    for name, member in [("", itself(namespace)), *members(namespace)]:
        text = inspect.cleandoc(member.__doc__ or "")
        if ">>>" in text and text not in seen:
            seen.add(text)
            scope = {"lucid": lucid, "nn": lucid.nn, "F": lucid.nn.functional, "np": np, "__name__": "__main__"}
            yield doctest.DocTestParser().get_doctest(text, scope, f"{namespace}.{name}".rstrip("."), None, None)


def main() -> None:
    """Print what is missing."""
    total = 0
    for namespace in [*NAMESPACES, *CLASSES]:
        names = missing(namespace)
        total += len(names)
        if names:
            print(f"{namespace} ({len(names)}): {' '.join(names)}")
    print(f"{total} without an example")


if __name__ == "__main__":
    main()
