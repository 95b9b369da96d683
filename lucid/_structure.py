"""The structure of a saved object as JSON: containers and plain values, with the names of tensors where those stand.

A number, string, bool or None stands for itself, and everything else is an object with one key that says what it is::

    {"OrderedDict": [["weight", {"tensor": "weight"}], ["bias", {"tensor": "bias"}]]}
"""
from __future__ import annotations

import base64
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import _dtypes
from .backends import Device, meta_module
from .backends.memory_format import memory_axes
from .tensor import Tensor, wrap

VERSION = 1
RESERVED = {"__metadata__", "__lucid__"}  # names that the file formats use themselves
_PLAIN = (type(None), bool, int, float, str)


class Damaged(Exception):
    """What is wrong with a file."""


def pack(obj: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The structure of `obj`, and its tensors by name. Raises TypeError for what cannot be saved."""
    packer = _Packer()
    tree = packer.pack(obj, ())
    return {"version": VERSION, "tree": tree}, packer.tensors


class _Packer:
    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def pack(self, value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, Tensor):
            if value.is_meta:
                return {"meta": [value.dtype.name, list(value.shape), list(memory_axes(value._array))]}
            return {"tensor": self.name(value, path)}
        if isinstance(value, np.ndarray):
            return {"array": self.name(wrap(self.numeric(value, path)), path)}
        if isinstance(value, np.generic):
            value = value.item()
        if type(value) in _PLAIN:
            return value
        if isinstance(value, dict):
            return self.mapping(value, path)
        for kind in (list, tuple, set):
            if type(value) is kind or (kind is tuple and isinstance(value, tuple) and not hasattr(value, "_fields")):
                return {kind.__name__: [self.pack(item, (*path, str(number))) for number, item in enumerate(value)]}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.dtype) and value in _dtypes.CATEGORY:
            return {"dtype": value.name}
        if isinstance(value, Device):
            return {"device": str(value)}
        raise TypeError(f"cannot save {where(path)}: a {type(value).__name__} is none of tensor, number, string, bool, None, "
                        "dictionary, list, tuple and set")

    def mapping(self, value: dict[Any, Any], path: tuple[str, ...]) -> dict[str, Any]:
        # Subclasses become their base: a state dict an OrderedDict, a defaultdict a dict.
        kind = next(kind for kind in (OrderedDict, Counter, dict) if isinstance(value, kind))
        items = [[self.pack(key, (*path, "<key>")), self.pack(item, (*path, str(key)))] for key, item in value.items()]
        packed: dict[str, Any] = {kind.__name__: items}
        metadata = getattr(value, "_metadata", None)
        if metadata is not None:
            packed["_metadata"] = self.pack(metadata, (*path, "_metadata"))
        return packed

    def name(self, tensor: Tensor, path: tuple[str, ...]) -> str:
        """A name of its own for `tensor`, from its place in the structure."""
        base = name = ".".join(path) or "tensor"
        number = 1
        while name in self.tensors or name in RESERVED:
            number += 1
            name = f"{base}#{number}"
        self.tensors[name] = tensor
        return name

    def numeric(self, array: np.ndarray, path: tuple[str, ...]) -> np.ndarray:
        if array.dtype not in _dtypes.CATEGORY:
            raise TypeError(f"cannot save {where(path)}: an array of dtype {array.dtype} is not supported")
        return array


def where(path: Iterable[str]) -> str:
    """A place in a structure, for messages: ``['optimizer']['state']``."""
    return "the object" if not path else "entry " + "".join(f"[{key!r}]" for key in path)


def unpack(document: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """The object that `pack` took apart. Raises Damaged."""
    with damage_noticed():
        if document["version"] > VERSION:
            raise Damaged(f"it was written by a later version of lucid (file version {document['version']})")
        return _unpack(document["tree"], tensors)


@contextlib.contextmanager
def damage_noticed() -> Iterator[None]:
    """Raise Damaged for the errors of code that trusts a structure to be what `pack` makes."""
    try:
        yield
    except Damaged:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, StopIteration, RecursionError, MemoryError,
            OverflowError) as error:
        raise Damaged(f"its structure is damaged ({type(error).__name__}: {error})") from error


def _meta(content: list[Any]) -> Tensor:
    dtype, shape, axes = content
    return wrap(meta_module().blank(tuple(shape), _dtypes.as_dtype(dtype), tuple(axes)))


def _unpack(tree: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(tree, dict):
        if type(tree) not in _PLAIN:
            raise Damaged("its structure is damaged")
        return tree
    kind, content = next(iter(tree.items()))
    if kind in ("tensor", "array"):
        if content not in tensors:
            raise Damaged(f"tensor '{content}' is missing")
        return tensors[content] if kind == "tensor" else tensors[content].numpy(force=True)
    if kind in _CONTAINERS:
        return _CONTAINERS[kind]([_unpack(item, tensors) for item in content])
    if kind in _MAPPINGS:
        mapping = _MAPPINGS[kind]({_unpack(key, tensors): _unpack(item, tensors) for key, item in content})
        if "_metadata" in tree:
            mapping._metadata = _unpack(tree["_metadata"], tensors)
        return mapping
    if kind in _VALUES:
        return _VALUES[kind](content)
    raise Damaged(f"its structure is damaged (unknown kind {kind!r})")


_CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set}
_MAPPINGS: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_VALUES: dict[str, Any] = {"complex": lambda parts: complex(*parts), "bytes": base64.b64decode,
                           "dtype": _dtypes.as_dtype, "device": Device, "meta": _meta}
