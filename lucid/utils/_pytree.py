"""torch.utils._pytree: the functions are those of `lucid._pytree`; here are the registry of containers as PyTorch shows it, and
specs as text.
"""
from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .._pytree import (
    _KEYED,
    _KINDS,
    _NAMED_KEY,
    GetAttrKey,
    LeafSpec,
    MappingKey,
    PyTree,
    SequenceKey,
    TreeSpec,
    _kind,
    _type,
    is_namedtuple,
    keystr,
    register_pytree_node,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_flatten_with_path,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_map_with_path,
    tree_structure,
    tree_unflatten,
)

__all__ = ["GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec", "is_namedtuple", "is_namedtuple_class",
           "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance", "key_get", "keystr",
           "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
           "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map",
           "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure",
           "tree_unflatten", "treespec_dumps", "treespec_loads", "treespec_pprint"]

Context = Any


class NodeDef(NamedTuple):
    """How a container is taken apart and put together."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


class _Nodes(Mapping[Any, NodeDef]):
    """The classes that are containers, those that were registered too, and one key for all classes of named tuples."""

    def __getitem__(self, cls: Any) -> NodeDef:
        if cls not in self:
            raise KeyError(cls)
        kind = _kind(cls)

        def flatten_with_keys(x: Any) -> tuple[list[tuple[Any, Any]], Any]:
            if cls in _KEYED:
                return _KEYED[cls](x)
            children, context = kind.flatten(x)
            return list(zip(kind.keys(context, len(children)), children, strict=True)), context

        return NodeDef(cls, kind.flatten, kind.unflatten, flatten_with_keys)

    def __contains__(self, cls: Any) -> bool:
        return cls is _NAMED_KEY or cls in _KINDS

    def __iter__(self) -> Iterator[Any]:
        return iter((*_KINDS, _NAMED_KEY))

    def __len__(self) -> int:
        return len(_KINDS) + 1


SUPPORTED_NODES = _Nodes()


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: list[Any]) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _get_node_type(tree: Any) -> Any:
    return _type(tree) or type(tree)


def _is_leaf(tree: Any, is_leaf: Any = None) -> bool:
    return tree_is_leaf(tree, is_leaf)


def is_namedtuple_class(cls: Any) -> bool:
    """Whether `cls` is a class of named tuples."""
    return isinstance(cls, type) and is_namedtuple(cls)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether `obj` is a named tuple."""
    return not isinstance(obj, type) and is_namedtuple(obj)


def is_structseq_class(cls: Any) -> bool:
    """Whether `cls` is a class of tuples with names that is written in C, as `os.stat_result`."""
    return (isinstance(cls, type) and cls.__bases__ == (tuple,)
            and all(isinstance(getattr(cls, name, None), int) for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")))


def is_structseq_instance(obj: Any) -> bool:
    """Whether `obj` is a tuple of such a class."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether `obj` is such a class, or a tuple of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """The part of `obj` at the end of a path, as `tree_leaves_with_path` gives it."""
    for step in kp:
        if isinstance(step, SequenceKey):
            obj = obj[step.idx]
        elif isinstance(step, MappingKey):
            obj = obj[step.key]
        else:
            obj = getattr(obj, step.name)
    return obj


_NAMES: dict[str, type] = {f"{cls.__module__}.{cls.__name__}": cls for cls in (list, tuple, dict, OrderedDict, deque)}


def _as_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name = next((name for name, cls in _NAMES.items() if cls is spec.type), None)
    if name is None:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found")
    return {"type": name, "context": json.dumps(spec.context), "children_spec": [_as_json(each) for each in spec.children_specs]}


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A shape as JSON. Raises NotImplementedError for containers but lists, tuples, dictionaries and deques."""
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps((1, _as_json(treespec)))


def _from_json(found: dict[str, Any]) -> TreeSpec:
    if found["type"] is None:
        return LeafSpec()
    return TreeSpec(_NAMES[found["type"]], json.loads(found["context"]), [_from_json(each) for each in found["children_spec"]])


def treespec_loads(serialized: str) -> TreeSpec:
    """The shape of `treespec_dumps`."""
    protocol, found = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_json(found)


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A shape as its containers are written, with a star for each leaf."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))
