"""Nested containers, as PyTorch takes them apart."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

import lucid
from lucid import _pytree as kinds
from lucid.utils import _pytree

Point = namedtuple("Point", "x y")


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and (self.a, self.b) == (other.a, other.b)

    __hash__ = None  # type: ignore[assignment]


TREES = [3, None, [], [1, (2, None)], {"b": 1, "a": [2, 3]}, Point(1, [2]), OrderedDict(b=1, a=(2,)), deque([1, {"c": 2}], maxlen=4),
         defaultdict(list, a=[1], b=2), ({"k": (1, 2)}, [Point(3, {"z": 4})])]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_apart_and_together_as_pytorch(tree: Any) -> None:
    leaves, spec = _pytree.tree_flatten(tree)
    again = _pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    theirs = pytest.importorskip("torch").utils._pytree
    assert leaves == theirs.tree_leaves(tree) == _pytree.tree_leaves(tree) == list(_pytree.tree_iter(tree))
    assert [_pytree.keystr(path) for path, _ in _pytree.tree_leaves_with_path(tree)] == [
        theirs.keystr(path) for path, _ in theirs.tree_leaves_with_path(tree)]
    mapped = _pytree.tree_map_with_path(lambda path, x: (len(path), str(x)), tree)
    assert mapped == theirs.tree_map_with_path(lambda path, x: (len(path), str(x)), tree)
    reference = theirs.tree_structure(tree)
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (
        reference.num_leaves, reference.num_nodes, reference.num_children)
    assert spec == _pytree.tree_structure(_pytree.tree_map(lambda x: 0, tree)) and hash(spec) == hash(_pytree.tree_structure(tree))


def test_maps_of_several_trees_and_of_some_leaves() -> None:
    assert _pytree.tree_map(lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [[3]], "x": None}) == {"x": (1, None), "y": [(2, [3])]}
    for other in ([1, 2, 3], (1, 2), [1]):
        with pytest.raises(ValueError, match="mismatch"):
            _pytree.tree_map(lambda a, b: a, [1, 2], other)
    with pytest.raises(ValueError, match="keys mismatch"):
        _pytree.tree_map(lambda a, b: a, {"x": 1}, {"y": 1})
    assert _pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert _pytree.tree_map_only(lambda x: x == 2.0, lambda x: -x, [1, "a", 2.0]) == [1, "a", -2.0]
    assert _pytree.tree_all(bool, [1, [2]]) and _pytree.tree_any(bool, [0, [2]]) and not _pytree.tree_any_only(str, bool, [1, ""])
    assert _pytree.tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]
    seen: list[int] = []
    tree = [1, [2]]
    assert _pytree.tree_map_(seen.append, tree) is tree and seen == [1, 2]
    with pytest.raises(ValueError, match="has length 1"):
        _pytree.tree_unflatten([1], _pytree.tree_structure(tree))
    with pytest.raises(TypeError, match="TreeSpec"):
        _pytree.tree_unflatten([1], None)  # type: ignore[arg-type]


def test_a_class_of_the_user() -> None:
    assert _pytree.tree_leaves(Pair(1, 2)) == [Pair(1, 2)]
    _pytree.register_pytree_node(Pair, lambda p: ((p.a, p.b), "context"), lambda children, context: Pair(*children),
                                 flatten_with_keys_fn=lambda p: ([(_pytree.GetAttrKey(n), getattr(p, n)) for n in "ab"], None))
    try:
        assert _pytree.tree_map(lambda x: x + 1, Pair(1, [2])) == Pair(2, [3])
        batched = lucid.vmap(lambda p: p.a * p.b)(Pair(lucid.arange(3), lucid.arange(3)))
        assert batched.tolist() == [0, 1, 4]
        assert [_pytree.keystr(path) for path, _ in _pytree.tree_leaves_with_path([Pair(1, [2])])] == ["[0].a", "[0].b[0]"]
        with pytest.raises(ValueError, match="already registered"):
            _pytree.register_pytree_node(Pair, None, None)  # type: ignore[arg-type]
    finally:
        del kinds._KINDS[Pair], kinds._KEYED[Pair]
