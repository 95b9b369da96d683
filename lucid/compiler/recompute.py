"""Gradients that no recording has: the call is computed again, eagerly, from the same draws, and compared with what it returned.

So it is where other results get gradients than when the function was recorded, or where gradients are differentiated again.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes, backends
from .._pytree import tree_flatten, tree_unflatten
from ..amp._state import OFF
from ..amp._state import state as autocast
from ..amp.autocast_mode import preserved
from ..autograd.engine import between
from ..autograd.grad_mode import enable_grad
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.node import Node
from ..backends.device import current_gpu
from ..tensor import Tensor, version_box, wrap, write_count
from .symbols import Event

_REPEATABLE = frozenset(("kernel", "constant", "draw", "redraw", "return"))


def context() -> tuple[Any, ...]:
    """The modes in which a function is called."""
    casts = autocast.get()
    return grad_mode.get(), _dtypes.get_default_dtype(), backends.chosen_device(), current_gpu(), None if casts is OFF else casts


def has_hooks(tensor: Tensor) -> bool:
    """Whether hooks wait for the gradient of `tensor`."""
    node = tensor._node
    return node is not None and bool(node.hooks or getattr(node, "post_accumulate_hooks", None))


def cuts(tensors: Sequence[Tensor]) -> dict[int, Tensor]:
    """In the place of arguments that have been computed outside others over their memory, behind which the graph can be cut."""
    found: dict[int, Tensor] = {}
    for tensor in tensors:
        if tensor.__class__ is Tensor and tensor._node is not None and not tensor.is_leaf and not has_hooks(tensor):
            cut = found[id(tensor)] = wrap(tensor._array, Node("argument", (tensor._node,), lambda g, y: (g,), False))
            cut._version_box, cut._view = version_box(tensor), tensor._view
    return found


def replaced(values: Any, others: dict[int, Tensor]) -> Any:
    """`values` with `others` in the place of tensors, by their identity."""
    leaves, spec = tree_flatten(values)
    return tree_unflatten([others.get(id(leaf), leaf) for leaf in leaves], spec)


def is_repeatable(events: Sequence[Event]) -> bool:
    """Whether a call changes nothing that was there before, but generators."""
    return all(event[0] in _REPEATABLE and (event[0] != "kernel" or all(
        output is None or output[0] == "slot" for output in event[6])) for event in events)


class Call:
    """A call with its `arguments`, the tensors among them, the `state` that it reads, and where autocast and generators were."""

    def __init__(self, function: Any, args: Any, keywords: Any, arguments: Sequence[Tensor], state: Sequence[Tensor],
                 generators: Sequence[Any]) -> None:
        self._function, self._args, self._keywords, self._arguments, self._state = function, args, keywords, arguments, state
        self._versions, self._casts = self._counted(), autocast.get()
        self._generators = [(generator, generator.position) for generator in generators]

    def _counted(self) -> list[int]:
        """How often what is read has been written."""
        return [write_count(tensor) for tensor in (*self._arguments, *self._state)]

    def returned(self, results: Sequence[tuple[int, Any]], targets: Sequence[Tensor]) -> None:
        """What it returned: the places of those with gradients, and their arrays. Gradients are those of `targets`."""
        self._results, self._targets = results, targets

    def gradients(self, up: Sequence[Any], create_graph: bool) -> list[Any] | None:
        """The gradients for those of the results; None if what is read has been written, or the call gives other results now."""
        if self._counted() != self._versions:
            return None
        behind = cuts(self._arguments)
        args, keywords = replaced((self._args, self._keywords), behind)
        if not create_graph:
            for cut in behind.values():
                cut._node.parents = ()  # what the gradient is of goes on outside
        now = [(generator, generator.position) for generator, _ in self._generators]
        _put(self._generators)
        try:
            with preserved(self._casts), enable_grad():
                leaves, _ = tree_flatten(self._function(*args, **keywords))
        finally:
            _put(now)
        outputs, present = [], []
        for (place, array), gradient in zip(self._results, up, strict=True):
            leaf = leaves[place] if place < len(leaves) else None
            if not isinstance(leaf, Tensor) or leaf._node is None or not _same(leaf._array, array):
                return None
            if gradient is not None:
                outputs.append(leaf)
                present.append(gradient)
        nodes = [behind.get(id(target), target)._node for target in self._targets]
        found = between(outputs, present, dict(zip(nodes, self._targets, strict=True)), create_graph, create_graph)
        return [found.get(node) for node in nodes]


def _put(positions: Sequence[tuple[Any, tuple[int, int]]]) -> None:
    for generator, position in positions:
        generator.set_state(wrap(np.array(position, "<u8").view(np.uint8)))


def _same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bits."""
    if a.__class__ is not b.__class__ or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(backends.to_host(a).tobytes() == backends.to_host(b).tobytes())
