"""Operations that write their result straight into the tensor that is given for it."""
from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _clock as clock
from ..backends import run
from ..backends.destinations import entry_into, share_partly
from ..tensor import Tensor, version_box, wrap
from .errors import explain
from .grad_mode import GRAD
from .grad_mode import mode as grad_mode

_new = object.__new__


def refuse_overlap(array: Any) -> None:
    """Raise RuntimeError if several elements of `array` share memory, as those of `expand` do; CuPy would not notice."""
    strides = array.strides
    if 0 in strides and array.size and any(step == 0 and length > 1 for step, length in zip(strides, array.shape, strict=True)):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single "
                           "memory location. Please clone() the tensor before performing the operation.")


def refuse_shared(destination: Tensor, arguments: Iterable[Any]) -> None:
    """Raise RuntimeError if one of the arguments shares memory with `destination`, but not element by element."""
    for argument in arguments:
        if isinstance(argument, Tensor) and share_partly(destination._array, argument._array):
            raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                               "single memory location. Please clone() the tensor before performing the operation.")


class Overwriting(Tensor):
    """A first operand whose operation shall write its result into the memory of another tensor, or its own.

    The operation does so where its kernel can, and computes a new array elsewhere. The first one that takes this tensor makes a
    plain tensor of it: so a function may be given one if it passes the tensor to one operation only, the last that can fail.
    """

    __slots__ = ()  # of its own: then `run` can change the class. The destination is where the gradient of others is.

    @classmethod
    def of(cls, source: Tensor, destination: Tensor) -> Overwriting:
        """The elements and the history of `source`, to be computed with into `destination`."""
        tensor: Overwriting = _new(cls)
        tensor._array = source._array
        tensor._node = source._node
        tensor._version_box = source._version_box
        tensor._view = None
        tensor._grad = destination
        return tensor

    def run(self, op: Any, inputs: Sequence[Any], attributes: dict[str, Any]) -> Tensor:
        """The result of `op`: in the memory of the destination, as a write to it, or in memory of its own."""
        destination: Any = self._grad
        self.__class__ = Tensor  # type: ignore[assignment]
        self._grad = None  # rules may save this tensor, and the destination holds its history
        array = destination._array
        arrays = [t._array if isinstance(t, Tensor) else t for t in inputs]
        entry = entry_into(op.name, arrays, array)
        if entry is None:
            computed: Tensor = op(*inputs, **attributes)
            return computed
        refuse_overlap(array)
        result = wrap(array)
        box = result._version_box = version_box(destination)
        flags = grad_mode.get()
        if flags & GRAD and op.rule is not None:
            parents = [t._node if isinstance(t, Tensor) else None for t in inputs]
            if any(parents):
                _record(self, op, result, parents, inputs, attributes, flags)
        attributes["out"] = array
        try:
            run(entry, arrays, attributes)
        except Exception as error:
            raise explain(op.name, inputs, error) from error
        box.bump()
        if result._node is not None and result._node.kept is not None:
            _follow(result._node, box)
        return result


def _record(old: Tensor, op: Any, result: Tensor, parents: list[Any], inputs: Sequence[Any], attributes: dict[str, Any],
            flags: int) -> None:
    """Record the operation before its kernel runs, as rules may compute with the `old` elements, or save them."""
    references = sys.getrefcount(old)
    op._record(result, result._array, parents, inputs, attributes, flags)
    if sys.getrefcount(old) > references:
        old._array, old._version_box = old._array.copy(), None


def _follow(node: Any, box: Any) -> None:
    """Let `node`, which keeps its own result, come after the write of it; not if it has saved other tensors of that memory."""
    from .op import saved_tensors

    if all(tensor._version_box is not box for tensor in saved_tensors(node.pull)):
        node.seq = clock.tick()
