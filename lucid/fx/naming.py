"""Functions and values by their names: what nodes are called, what a graph prints, and what its code says."""
from __future__ import annotations

import builtins
import functools
import importlib
import keyword
import re
from typing import Any

import numpy as np

from .. import _dtypes
from ..overrides.functions import spaces
from ..tensor import Tensor

#: Of the names of one function those that node names are made of, where the shortest is not the usual one.
_USUAL = frozenset("clamp outer transpose trunc".split())


def package() -> str:
    """The package that programs import: `lucid`, or `torch` in a process where that is lucid."""
    return Tensor.__module__.partition(".")[0]


@functools.cache
def _functions() -> dict[int, tuple[str, str]]:
    """Where the public functions are, and what they are called there, by their identities: they live as long as lucid."""
    found: dict[int, tuple[str, str]] = {}
    for space, members in spaces().items():
        for name in sorted(members, key=lambda name: (name not in _USUAL, len(name), name)):
            found.setdefault(id(members[name]), (space, name))
    return found


def name_of(function: Any) -> str:
    """The name of a function or class, as programs call it."""
    return _functions().get(id(function), ("", getattr(function, "__name__", type(function).__name__)))[1]


def public_path(value: Any) -> str | None:
    """Where `package` has a function or class, such as 'lucid.nn.functional.relu'; None if it is not there."""
    module = getattr(value, "__module__", None)
    name: Any = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    known = _functions().get(id(value))
    if known is None and not (isinstance(module, str) and isinstance(name, str) and re.match(r"(lucid|torch)\b", module)):
        return None
    for space, each in (known or ("lucid", name), (module, name), ("lucid.nn.functional", name)):
        path = package() + str(space).removeprefix("lucid").removeprefix("torch")
        try:
            found = getattr(importlib.import_module(path), each, None)
        except ImportError:
            continue
        if found is value:
            return f"{path}.{each}"
    return None


def qualified_name(value: Any) -> str:
    """A function or class by its module and name."""
    return public_path(value) or f"{getattr(value, '__module__', None) or 'builtins'}.{name_of(value)}"


def shown(target: Any) -> str:
    """The target of a node as a graph prints it."""
    return target if isinstance(target, str) else re.sub(r"^_operator\.", "operator.", qualified_name(target))


def shown_type(kind: Any) -> str:
    """An annotation as code says it, such as `torch.Tensor`, `int` and `typing.List[int]`."""
    if kind is type(None):
        return "NoneType"
    if isinstance(kind, type) and not hasattr(kind, "__args__"):
        return kind.__qualname__ if kind.__module__ == "builtins" else qualified_name(kind)
    return repr(kind)


def of_generic(generic: Any) -> str:
    """A generic class of `typing`, or another, as the name of a global: `typing_List`."""
    name = getattr(generic, "_name", None)
    return f"typing_{name}" if name and getattr(generic, "__module__", "") == "typing" else qualified_name(generic)


def is_dtype(value: Any) -> bool:
    """Whether a value is a dtype."""
    return isinstance(value, np.dtype) or type(value) in _dtypes.CLASSES


def of_dtype(value: Any) -> str:
    """A dtype as code says it."""
    return f"{package()}.{value.name}" if isinstance(value, np.dtype) else repr(value)


def of_node(target: Any) -> str:
    """What a node is called after its target, before numbers make it unique: a method such as `__add__` as `add`."""
    name = name_of(target) if callable(target) else str(target)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        name = name[2:-2]
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


class Namespace:
    """Names that are in use."""

    def __init__(self) -> None:
        self._owners: dict[Any, str] = {}
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate: str, owner: Any) -> str:
        """A name like `candidate` that is free, and that `owner`, unless None, has from then on."""
        if owner is not None and owner in self._owners:
            return self._owners[owner]
        candidate = re.sub(r"\W+", "_", candidate, flags=re.ASCII) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (numbered.group(1), int(numbered.group(2))) if numbered else (candidate, 0)
        if not numbered or candidate in self._used:
            number = self._last.get(base, 0)
            if _taken(candidate, owner):
                number += 1
                candidate = f"{base}_{number}"
        while candidate in self._used:
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._last[base] = number
        if owner is not None:
            self._owners[owner] = candidate
        return candidate

    def associate(self, name: str, owner: Any) -> None:
        """Let `owner` have a name."""
        self._used.add(name)
        self._owners[owner] = name

    def rename(self, owner: Any, name: str) -> str:
        """A name like `name` for `owner`, which loses the one that it has."""
        self._used.discard(self._owners.pop(owner, ""))
        return self.create_name(name, owner)


def _taken(name: str, owner: Any) -> bool:
    """Whether Python or generated code has another use for a name."""
    if name in vars(builtins):
        return vars(builtins)[name] is not owner
    return keyword.iskeyword(name) or name in ("inf", "nan", "NoneType", "device", "lucid", "torch")
