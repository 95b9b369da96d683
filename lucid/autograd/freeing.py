"""What `backward` frees: the nodes that have saved something. Others can be visited again, as in PyTorch."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from gc import get_referents
from types import FunctionType
from typing import Any

from .. import _dtypes
from ..backends import Device
from ..tensor import Tensor
from ..tensor.nodes import Leaf
from .node import HookedNode, Node, Slot
from .op import Op

# Classes of what a vjp may hold without having saved it. Nodes are parents of its own, which the graph holds anyway.
_PLAIN = frozenset([type(None), bool, int, float, complex, str, slice, type(Ellipsis), Leaf, Node, HookedNode, Slot, Device,
                    *_dtypes.CLASSES])


def saves(closure: Sequence[Any]) -> bool:
    """Whether the cells of a vjp hold tensors or arrays: anything but scalars, shapes, operations and functions of these."""
    plain = _PLAIN
    # The contents of all cells, in a quarter of the time of a loop. From the end: functions of a tensor x stand before it.
    for content in reversed(get_referents(*closure)):
        kind = content.__class__
        if kind in plain:
            continue
        if kind is tuple:  # mostly a shape
            for item in content:
                if item.__class__ not in plain and not _is_plain(item):
                    return True
        elif kind is Tensor or not _is_plain(content):
            return True
    return False


def _is_plain(content: Any) -> bool:
    if content.__class__ in _PLAIN:
        return True
    if isinstance(content, (tuple, list)):
        return all(map(_is_plain, content))
    if content.__class__ is dict:
        return all(map(_is_plain, content.values()))
    if content.__class__ is FunctionType:
        return not saves(content.__closure__ or ())
    if content.__class__ is partial:
        return _is_plain(content.func) and _is_plain(content.args) and _is_plain(content.keywords)
    return isinstance(content, Op)
