"""Nested containers as flat lists: dicts, lists, tuples and named tuples; anything else is a leaf."""
from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any


class TreeSpec:
    """How a container is built: its class, what that needs beside the children (the keys of a dict), and their own specs."""

    __slots__ = ("children", "context", "kind", "num_leaves")
    num_leaves: int

    def __init__(self, kind: type | None, context: Any, children: Sequence[TreeSpec]) -> None:
        self.kind = kind
        self.context = context
        self.children = list(children)
        self.num_leaves = 1 if kind is None else sum(child.num_leaves for child in self.children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.kind, self.context, self.children) == (
            other.kind, other.context, other.children)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        return f"TreeSpec({self.kind.__name__}, {self.context}, [{', '.join(map(repr, self.children))}])"


LEAF = TreeSpec(None, None, ())


def _parts(tree: Any) -> tuple[type, Any, list[Any]] | None:
    """The class, the context and the children of a container; None for a leaf."""
    kind = tree.__class__
    if kind is tuple or kind is list:
        return kind, None, list(tree)
    if kind is dict or kind is OrderedDict:
        return kind, list(tree), list(tree.values())
    if kind is defaultdict:
        return kind, [tree.default_factory, list(tree)], list(tree.values())
    if isinstance(tree, tuple) and hasattr(kind, "_make") and hasattr(kind, "_fields"):
        return kind, None, list(tree)
    return None


def _built(spec: TreeSpec, children: list[Any]) -> Any:
    kind: Any = spec.kind
    if kind is tuple or kind is list:
        return kind(children)
    if kind is dict or kind is OrderedDict:
        return kind(zip(spec.context, children, strict=True))
    if kind is defaultdict:
        factory, keys = spec.context
        return defaultdict(factory, zip(keys, children, strict=True))
    return kind._make(children)


def tree_flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and how it is built."""
    parts = _parts(tree)
    if parts is None:
        return [tree], LEAF
    kind, context, children = parts
    leaves: list[Any] = []
    specs = []
    for child in children:
        found, spec = tree_flatten(child)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(kind, context, specs)


def tree_unflatten(leaves: Sequence[Any], spec: TreeSpec) -> Any:
    """The tree of `spec` with these leaves."""
    if spec.kind is None:
        return leaves[0]
    children, start = [], 0
    for child in spec.children:
        children.append(tree_unflatten(leaves[start:start + child.num_leaves], child))
        start += child.num_leaves
    return _built(spec, children)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with `function` of each leaf in its place."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([function(leaf) for leaf in leaves], spec)


def broadcast_to_and_flatten(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """The leaves of `tree`, one for each leaf of `spec`: a leaf of it stands for all below. None if they do not fit."""
    parts = _parts(tree)
    if parts is None or spec.kind is None:
        return None if parts is not None else [tree] * spec.num_leaves
    kind, context, children = parts
    if kind is not spec.kind or context != spec.context or len(children) != len(spec.children):
        return None
    leaves: list[Any] = []
    for child, below in zip(children, spec.children, strict=True):
        found = broadcast_to_and_flatten(child, below)
        if found is None:
            return None
        leaves += found
    return leaves
