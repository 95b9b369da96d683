"""Operations that write their result straight into the tensor that is given for it."""
from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _clock as clock
from .._writers import writes
from ..backends import TABLES
from ..backends.out import may_write, share_partly
from ..tensor import Tensor, disabled_torch_function, version_box, wrap
from .errors import recover
from .grad_mode import GRAD, HOOKS, INFERENCE
from .grad_mode import mode as grad_mode
from .node import saved_tensors
from .views import follow, written_with

_new = object.__new__


def refuse_overlap(array: Any) -> None:
    """Raise RuntimeError if several elements of `array` share memory, as those of `expand` do; CuPy would not notice."""
    strides = array.strides
    if 0 in strides and not hasattr(array, "is_sparse") and array.size and any(
            step == 0 and length > 1 for step, length in zip(strides, array.shape, strict=True)):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single "
                           "memory location. Please clone() the tensor before performing the operation.")


def refuse_write(target: Tensor) -> None:
    """Raise RuntimeError if `target` was made in `inference_mode`, and this is outside, or if its conjugates could not follow."""
    for array in written_with(target):
        refuse_overlap(array)
    if target.is_inference() and not grad_mode.get() & INFERENCE:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get "
                           "a normal tensor before doing inplace update.")


def _refuse_grad(target: Tensor) -> None:
    """Raise RuntimeError if `target`, which was made in `inference_mode`, is to require grad outside."""
    if not grad_mode.get() & INFERENCE:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")


Tensor._refuse_grad = _refuse_grad  # type: ignore[assignment]


def refuse_shared(destination: Tensor, arguments: Iterable[Any]) -> None:
    """Raise RuntimeError if one of the arguments shares memory with `destination`, but not element by element."""
    array = destination._array
    for argument in arguments:
        if isinstance(argument, Tensor) and share_partly(array, argument._array):
            raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                               "single memory location. Please clone() the tensor before performing the operation.")


class Overwriting(Tensor):
    """A first operand whose operation shall write its result into the memory of another tensor, or its own.

    The operation does so where its kernel can, and computes a new array elsewhere. The first one that takes this tensor makes a
    plain tensor of it: so a function may be given one if it passes the tensor to one operation only, the last that can fail.
    """

    __torch_function__ = disabled_torch_function
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

    @writes("destination")
    def run(self, op: Any, inputs: Sequence[Any], attributes: dict[str, Any]) -> Tensor:
        """The result of `op`: in the memory of the destination, as a write to it, or in memory of its own."""
        destination: Any = self._grad
        self.__class__ = Tensor  # type: ignore[assignment]
        self._grad = None  # rules may save this tensor, and the destination holds its history
        array = destination._array
        arrays, tracked = [], False
        for t in inputs:
            if isinstance(t, Tensor):
                arrays.append(t._array)
                if t._node is not None:
                    tracked = True
            else:
                arrays.append(t)
        if not may_write(op.name, arrays, array, attributes.get("program")):
            computed: Tensor = op(*inputs, **attributes)
            return computed
        if 0 in array.strides:
            refuse_overlap(array)
        if clock.any_guarded:
            refuse_write(destination)
        box = destination._version_box or version_box(destination)
        flags = grad_mode.get()
        result = destination
        if tracked and flags & GRAD and op.rule is not None:
            if flags & HOOKS:  # they see results, which are not there before the kernel runs
                elsewhere: Tensor = op(*inputs, **attributes)
                return elsewhere
            result = wrap(array)
            result._version_box = box
            _record(self, op, result, inputs, attributes, flags)
        try:
            TABLES[array.__class__][op.name](*arrays, out=array, **attributes)
        except Exception as error:
            recover(op.name, arrays, {**attributes, "out": array}, op.name, inputs, error)
        box.bump()
        if clock.any_guarded:
            follow(destination)
        if result is not destination and result._node is not None and result._node.kept.__class__ is list:
            _follow(result._node, box)
        return result


def _record(old: Tensor, op: Any, result: Tensor, inputs: Sequence[Any], attributes: dict[str, Any], flags: int) -> None:
    """Record the operation before its kernel runs, as rules may compute with the `old` elements, or save them."""
    parents = [t._node if isinstance(t, Tensor) else None for t in inputs]
    stand_in = wrap(old._array, old._node)
    stand_in._version_box = old._version_box
    reference = weakref.ref(stand_in)
    op.record(result, result._array, parents, [stand_in if t is old else t for t in inputs], attributes, flags)
    del stand_in
    keep_elements(reference())


def keep_elements(saved: Tensor | None) -> None:
    """Give `saved`, a tensor that was made for a gradient rule alone, a copy of the elements that are about to be overwritten.

    It is None if the rule has not saved it. Where tensors live for a while after the last reference to them is gone, the copy is
    one too many, and no harm is done.
    """
    if saved is not None:
        array = saved._array
        saved._array, saved._version_box = TABLES[array.__class__]["copy"](array), None


def _follow(node: Any, box: Any) -> None:
    """Let `node`, which keeps its own result, come after the write of it; not if it has saved other tensors of that memory."""
    if all(tensor._version_box is not box for tensor in saved_tensors(node.vjp)):
        node.seq = clock.tick()
