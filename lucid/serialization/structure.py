"""The structure of a saved object as JSON: containers and plain values, with the names of tensors where those stand.

A number, string, bool or None stands for itself, and everything else is an object with one key that says what it is::

    {"OrderedDict": [["weight", {"tensor": "weight"}], ["bias", {"tensor": "bias"}]]}
"""
from __future__ import annotations

import base64
import contextlib
import pathlib
import sys
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .. import _dtypes
from .._layout import Layout
from ..backends import Device, meta_module
from ..backends.memory_format import memory_axes
from ..backends.stored_array import as_stored, bits_dtype
from ..tensor import Size, Tensor, wrap

VERSION = 1
RESERVED = {"__metadata__", "__lucid__"}  # names that the file formats use themselves
MAX_DEPTH = 100  # of containers in each other: code that reads a file must not reach Python's limit of recursion
MAX_NAME = 1000  # characters; a zip archive has room for 65535 bytes
_PLAIN = (type(None), bool, int, float, str)
_STORABLE = {dtype.name: dtype for dtype in _dtypes.EVERY}  # of arrays
_FACTORIES = {kind.__name__: kind for kind in (list, dict, set, tuple, int, float, bool, str)}  # of a defaultdict


class Damaged(Exception):
    """What is wrong with a file."""


def pack(obj: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The structure of `obj`, and its tensors by name. Raises TypeError for what cannot be saved, ValueError for containers
    that are nested too deeply.
    """
    packer = _Packer()
    document: dict[str, Any] = {"version": VERSION, "tree": packer.pack(obj, ())}
    devices = {name: str(tensor.device) for name, tensor in packer.tensors.items() if tensor.device.type != "cpu"}
    for key, value in (("arrays", packer.arrays), ("devices", devices)):
        if value:
            document[key] = value
    return document, packer.tensors


class _Packer:
    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.arrays: list[str] = []  # the names of those that are NumPy arrays
        self.around: set[int] = set()  # the containers around what is being packed, by id

    def pack(self, value: Any, path: tuple[str, ...]) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            # Python refuses to read decimal numbers of many digits.
            return value if kind is not int or value.bit_length() <= 4096 else {"int": hex(value)}
        if isinstance(value, Tensor):
            if value.is_meta:
                return {"meta": [value.dtype.name, list(value.shape), list(memory_axes(value._array))]}
            if value.layout is not Layout.strided:
                return self.sparse(value, path)
            return {"tensor": self.name(value, path)}
        if kind in (np.ndarray, np.memmap):
            name = self.name(wrap(np.asarray(self.storable(value, path))), path)
            self.arrays.append(name)
            return {"array": name}
        if isinstance(value, np.generic):
            if kind in (np.str_, np.bytes_):
                return self.pack(value.item(), path)
            return {"scalar": [self.storable(value, path).dtype.name, self.pack(value.item(), path)]}
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind in _TEXTS:
            name, text = _TEXTS[kind]
            return {name: text(value)}
        if isinstance(value, np.dtype) and value.isnative and value.name in _STORABLE:
            return {"dtype": value.name}
        if id(value) in self.around or len(self.around) >= MAX_DEPTH:
            raise ValueError(f"cannot save {where(path[:3])}: it contains itself, or containers within each other more than "
                             f"{MAX_DEPTH} deep")
        self.around.add(id(value))
        packed = self.container(value, path)
        self.around.discard(id(value))
        if packed is None:
            # Members of an enumeration, named tuples and instances of other classes: to load one runs code of its class.
            raise TypeError(f"cannot save {where(path)}: a {kind.__name__} is none of tensor, array, number, string, bytes, "
                            "bool, None, dictionary, list, tuple, set, range, slice, path, namespace, dtype and device")
        return packed

    def sparse(self, value: Tensor, path: tuple[str, ...]) -> dict[str, Any]:
        """The layout and the shape of a sparse tensor, whether it is coalesced, and its parts."""
        array = value._array
        parts = [self.pack(wrap(part), (*path, str(number))) for number, part in enumerate(array.parts())]
        return {"sparse": [value.layout.name, list(value.shape), array.coalesced, parts]}

    def container(self, value: Any, path: tuple[str, ...]) -> dict[str, Any] | None:
        """The structure of a container and all that is in it; None for anything else."""
        if isinstance(value, dict):
            return self.mapping(value, path)
        kind: Any = type(value)
        if kind in (types.SimpleNamespace, getattr(sys.modules.get("argparse"), "Namespace", None)):
            return {kind.__name__: self.pack(vars(value), path)}
        if kind not in _SEQUENCES and isinstance(value, tuple) and not hasattr(value, "_fields"):
            kind = tuple
        if kind not in _SEQUENCES:
            return None
        return {kind.__name__: [self.pack(item, (*path, str(number))) for number, item in enumerate(_SEQUENCES[kind](value))]}

    def mapping(self, value: dict[Any, Any], path: tuple[str, ...]) -> dict[str, Any]:
        # Subclasses become their base: a state dict an OrderedDict, a defaultdict with a function of others a dict.
        kind = next(kind for kind in (OrderedDict, Counter, dict) if isinstance(value, kind))
        items = [[self.pack(key, (*path, "<key>")), self.pack(item, (*path, str(key)))] for key, item in value.items()]
        packed: dict[str, Any] = {kind.__name__: items}
        factory = getattr(value, "default_factory", None)
        if isinstance(value, defaultdict) and (factory is None or factory in _FACTORIES.values()):
            packed = {"defaultdict": items, "default": factory and factory.__name__}
        metadata = getattr(value, "_metadata", None)
        if metadata is not None:
            packed["_metadata"] = self.pack(metadata, (*path, "_metadata"))
        return packed

    def name(self, tensor: Tensor, path: tuple[str, ...]) -> str:
        """A name of its own for `tensor`, from its position in the structure, without what the formats cannot store."""
        text = ".".join(path) or "tensor"
        base = name = text[:MAX_NAME].encode("utf-8", "replace").decode().replace("\0", "?")
        number = 1
        while name in self.tensors or name in RESERVED:
            number += 1
            name = f"{base}#{number}"
        self.tensors[name] = tensor
        return name

    def storable(self, value: Any, path: tuple[str, ...]) -> Any:
        dtype = value.dtype
        if not dtype.isnative or dtype.name not in _STORABLE:
            what = "a number" if isinstance(value, np.generic) else "an array"
            raise TypeError(f"cannot save {where(path)}: {what} of dtype {dtype} is not supported")
        return value


def where(path: Iterable[str]) -> str:
    """A position in a structure, for messages: ``['optimizer']['state']``."""
    return "the object" if not path else "entry " + "".join(f"[{key!r}]" for key in path)


def unpack(document: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """The object that `pack` took apart. Raises Damaged."""
    with damage_noticed():
        if document["version"] > VERSION:
            raise Damaged(f"it was written by a later version of lucid (file version {document['version']})")
        return _unpack(document["tree"], tensors)


@contextlib.contextmanager
def damage_noticed(what: str = "its structure is damaged") -> Iterator[None]:
    """Raise Damaged for the errors of code that trusts the content of a file."""
    try:
        yield
    except Damaged:
        raise
    except MemoryError as error:
        raise Damaged("there is not enough memory for what it says that it holds") from error
    except Exception as error:
        raise Damaged(f"{what} ({type(error).__name__}: {error})") from error


def _meta(content: list[Any]) -> Tensor:
    dtype, shape, axes = content
    made = _dtypes.as_dtype(dtype)
    if made in _dtypes.STORED:
        return wrap(as_stored(meta_module().blank(tuple(shape), bits_dtype(made), tuple(axes)), made))
    return wrap(meta_module().blank(tuple(shape), made, tuple(axes)))


def _unpack(tree: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(tree, dict):
        if type(tree) not in _PLAIN:
            raise Damaged("its structure is damaged")
        return tree
    kind, content = next(iter(tree.items()))
    if kind in ("tensor", "array"):
        if content not in tensors:
            raise Damaged(f"tensor '{content}' is missing")
        tensor = tensors[content]
        if kind == "array":
            return tensor.numpy(force=True)
        if tensor.dtype not in _dtypes.CATEGORY:
            raise Damaged(f"tensor '{content}' has dtype {tensor.dtype}, which is not supported")
        return tensor
    if kind in _CONTAINERS:
        items = [_unpack(item, tensors) for item in content]
        return _CONTAINERS[kind](*items) if kind in ("range", "slice") else _CONTAINERS[kind](items)
    if kind in _MAPPINGS:
        mapping = _MAPPINGS[kind]({_unpack(key, tensors): _unpack(item, tensors) for key, item in content})
        if kind == "defaultdict" and tree["default"] is not None:
            mapping.default_factory = _FACTORIES[tree["default"]]
        if "_metadata" in tree:
            mapping._metadata = _unpack(tree["_metadata"], tensors)
        return mapping
    if kind == "sparse":
        layout, shape, coalesced, parts = content
        return sparse_of(layout, shape, coalesced, [_unpack(part, tensors) for part in parts])
    if kind in ("Namespace", "SimpleNamespace"):
        import argparse  # by those who use it

        namespace = argparse.Namespace() if kind == "Namespace" else types.SimpleNamespace()
        vars(namespace).update(_unpack(content, tensors))
        return namespace
    if kind == "scalar":
        return _STORABLE[content[0]].type(_unpack(content[1], tensors))
    if kind in _VALUES:
        return _VALUES[kind](content)
    raise Damaged(f"its structure is damaged (unknown kind {kind!r})")


def sparse_of(layout: str, shape: list[int], coalesced: bool | None, parts: list[Tensor]) -> Tensor:
    """A sparse tensor of its parts, whose indices are checked."""
    from ..ops.sparse import creation  # with the first sparse tensor

    if Layout[layout] is Layout.sparse_coo:
        indices, values = parts
        return creation.sparse_coo_tensor(indices, values, shape, is_coalesced=coalesced)
    compressed, plain, values = parts
    return creation.sparse_compressed_tensor(compressed, plain, values, shape, layout=Layout[layout])


def _bounds(value: Any) -> tuple[Any, Any, Any]:
    """What a range or a slice is made of."""
    return value.start, value.stop, value.step


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


# What is packed: the elements of a container, the text of a value under its name.
_SEQUENCES: dict[type, Callable[[Any], Iterable[Any]]] = {
    list: iter, tuple: iter, Size: iter, set: iter, frozenset: iter, range: _bounds, slice: _bounds}
_TEXTS: dict[type, tuple[str, Callable[[Any], str]]] = {
    bytes: ("bytes", _base64), bytearray: ("bytearray", _base64), type(pathlib.Path()): ("Path", str),
    pathlib.PurePosixPath: ("PurePosixPath", str), pathlib.PureWindowsPath: ("PureWindowsPath", str), Device: ("device", str)}
# What is made of it again.
_CONTAINERS: dict[str, Any] = {kind.__name__: kind for kind in _SEQUENCES}
_MAPPINGS: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter,
                             "defaultdict": lambda items: defaultdict(None, items)}
_VALUES: dict[str, Callable[[Any], Any]] = {
    "int": lambda digits: int(digits, 16), "complex": lambda parts: complex(*parts), "bytes": base64.b64decode,
    "bytearray": lambda text: bytearray(base64.b64decode(text)), "Path": pathlib.Path, "PurePosixPath": pathlib.PurePosixPath,
    "PureWindowsPath": pathlib.PureWindowsPath, "dtype": lambda name: _STORABLE[name], "device": Device, "meta": _meta}
