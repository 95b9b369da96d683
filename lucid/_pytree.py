"""Pytrees: nested containers flattened into leaves and a `TreeSpec`, unflattened, and mapped over.

Lists, tuples, named tuples, dictionaries (also OrderedDict and defaultdict) and deques are containers, and classes that
`register_pytree_node` names; everything else is a leaf, and so is what `is_leaf` says.
"""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec", "is_namedtuple", "keystr",
           "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
           "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_",
           "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten"]

PyTree = Any
IsLeaf = Callable[[Any], bool] | None


class SequenceKey(NamedTuple):
    """A step of a path: a place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class MappingKey(NamedTuple):
    """A step of a path: a key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class GetAttrKey(NamedTuple):
    """A step of a path: the name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


class _Kind(NamedTuple):
    """How a container is taken apart: ``flatten(x) -> (children, context)``, ``unflatten(children, context)``, and the steps to
    its children.
    """

    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]
    keys: Callable[[Any, int], list[Any]]


def _places(context: Any, count: int) -> list[Any]:
    return [SequenceKey(index) for index in range(count)]


_KINDS: dict[type, _Kind] = {
    list: _Kind(lambda x: (list(x), None), lambda children, _: list(children), _places),
    tuple: _Kind(lambda x: (list(x), None), lambda children, _: tuple(children), _places),
    dict: _Kind(lambda x: (list(x.values()), list(x)), lambda children, names: dict(zip(names, children, strict=True)),
                lambda names, _: [MappingKey(name) for name in names]),
    OrderedDict: _Kind(lambda x: (list(x.values()), list(x)),
                       lambda children, names: OrderedDict(zip(names, children, strict=True)),
                       lambda names, _: [MappingKey(name) for name in names]),
    defaultdict: _Kind(lambda x: (list(x.values()), [x.default_factory, list(x)]),
                       lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
                       lambda context, _: [MappingKey(name) for name in context[1]]),
    deque: _Kind(lambda x: (list(x), x.maxlen), lambda children, longest: deque(children, maxlen=longest), _places),
}
_NAMED = _Kind(lambda x: (list(x), type(x)), lambda children, cls: cls(*children),
               lambda cls, _: [GetAttrKey(name) for name in cls._fields])
_NAMED_KEY = type("namedtuple", (), {})


def register_pytree_node(cls: type, flatten_fn: Callable[[Any], tuple[Any, Any]],
                         unflatten_fn: Callable[[Iterable[Any], Any], Any], *, serialized_type_name: str | None = None,
                         to_dumpable_context: Any = None, from_dumpable_context: Any = None,
                         flatten_with_keys_fn: Any = None) -> None:
    """Make a container of a class: ``flatten_fn(x) -> (children, context)`` and ``unflatten_fn(children, context) -> x``.

    `flatten_with_keys_fn` gives pairs of a step and a child in the place of children. Raises ValueError for a class that is one
    already. What is for specs in files is accepted and not used.
    """
    if cls in _KINDS:
        raise ValueError(f"{cls} is already registered as pytree node.")

    def flatten(x: Any) -> tuple[list[Any], Any]:
        children, context = flatten_fn(x)
        return list(children), context

    _KINDS[cls] = _Kind(flatten, unflatten_fn, _places)
    if flatten_with_keys_fn is not None:
        _KEYED[cls] = flatten_with_keys_fn


_KEYED: dict[type, Callable[[Any], tuple[list[tuple[Any, Any]], Any]]] = {}


def is_namedtuple(obj: Any) -> bool:
    """Whether an object, or a class, is a named tuple."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def _type(tree: Any) -> Any:
    cls = tree.__class__
    return cls if cls in _KINDS else _NAMED_KEY if is_namedtuple(cls) else None


def _kind(cls: Any) -> _Kind:
    return _NAMED if cls is _NAMED_KEY else _KINDS[cls]


class TreeSpec:
    """The shape of a tree: the class of its container (None for a leaf), what else that needs, and the shapes of its children."""

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves: int = sum(child.num_leaves for child in children_specs) if type is not None else 1

    @property
    def num_children(self) -> int:
        """How many children there are."""
        return len(self.children_specs)

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves there are."""
        return 1 + sum(child.num_nodes for child in self.children_specs)

    def is_leaf(self) -> bool:
        """Whether it is the shape of a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves. Raises ValueError for another number of them."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that "
                             f"holds {self.num_leaves} items ({self}).")
        return self._built(iter(given))

    def _built(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return _kind(self.type).unflatten([child._built(leaves) for child in self.children_specs], self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of `tree` at the places of this shape's leaves. Raises ValueError where `tree` has another shape."""
        if self.type is None:
            return [tree]
        if _type(tree) is not self.type:
            raise ValueError(f"Type mismatch; expected {_name(self.type)}, but got {type(tree).__name__}.")
        children, context = _kind(self.type).flatten(tree)
        if isinstance(tree, (dict, OrderedDict, defaultdict)):
            names = _names(self)
            if set(tree) != set(names):
                raise ValueError(f"Node keys mismatch; expected {names}, but got {list(tree)}.")
            children = [tree[name] for name in names]
        elif len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        elif context != self.context and self.type is not deque:
            raise ValueError(f"Node context mismatch for {_name(self.type)}.")
        return [part for spec, child in zip(self.children_specs, children, strict=True) for part in spec.flatten_up_to(child)]

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TreeSpec) and self.type is other.type and self.context == other.context
                and self.children_specs == other.children_specs)

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({_name(self.type)}, {self.context}, [{', '.join(map(repr, self.children_specs))}])"


class LeafSpec(TreeSpec):
    """The shape of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _name(cls: Any) -> str:
    return str(cls.__name__)


def _names(spec: TreeSpec) -> list[Any]:
    names: list[Any] = spec.context[1] if spec.type is defaultdict else spec.context
    return names


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `tree` is no container."""
    return (is_leaf is not None and bool(is_leaf(tree))) or _type(tree) is None


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and the shape without them."""
    leaves: list[Any] = []
    return leaves, _flattened(tree, is_leaf, leaves)


def _flattened(tree: PyTree, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    cls = _type(tree)
    children, context = _kind(cls).flatten(tree)
    return TreeSpec(cls, context, [_flattened(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of that shape with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError("tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
                        f"{type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in _kind(_type(tree)).flatten(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The shape."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree of ``func(leaf, ...)``, with the parts of `rests` at the places of the leaves."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` as `tree_map` does, for what it does; returns `tree`."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _test(types: Any) -> Callable[[Any], bool]:
    return types if callable(types) and not isinstance(types, type) else lambda x: isinstance(x, types)


def tree_map_only(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` of the leaves of some types, or of those of which a function is true; the others stay."""
    chosen = _test(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if chosen(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` as `tree_map_only` does, for what it does; returns `tree`."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true of all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true of all leaves of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true of a leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Pairs of the steps to a leaf and the leaf."""
    return list(_with_paths(tree, is_leaf, ()))


def _with_paths(tree: PyTree, is_leaf: IsLeaf, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    cls = _type(tree)
    if cls in _KEYED:
        pairs = _KEYED[cls](tree)[0]
    else:
        children, context = _kind(cls).flatten(tree)
        pairs = list(zip(_kind(cls).keys(context, len(children)), children, strict=True))
    for step, child in pairs:
        yield from _with_paths(child, is_leaf, (*path, step))


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """`tree_leaves_with_path`, and the shape."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` of ``func(path, leaf, ...)``."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten([func(path, leaf, *others) for (path, leaf), *others in
                           zip(pairs, *[spec.flatten_up_to(rest) for rest in rests], strict=True)])


def keystr(kp: Iterable[Any]) -> str:
    """The steps of a path as Python writes them: ``['a'][0].x``."""
    return "".join(map(str, kp))


def broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec) -> list[Any] | None:
    """The leaves of `tree`, one for each leaf of `treespec`: a leaf of it stands for all below. None if they do not fit."""
    own = tree_structure(tree)
    if own.type is None:
        return [tree] * treespec.num_leaves
    if treespec.type is None:
        return None
    children, context = _kind(own.type).flatten(tree)
    if (own.type, context, len(children)) != (treespec.type, treespec.context, treespec.num_children):
        return None
    leaves: list[Any] = []
    for child, below in zip(children, treespec.children_specs, strict=True):
        found = broadcast_to_and_flatten(child, below)
        if found is None:
            return None
        leaves += found
    return leaves
