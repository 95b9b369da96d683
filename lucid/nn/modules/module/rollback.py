"""Rollback after an error in the middle of a conversion, without having kept what was converted."""
from __future__ import annotations

from typing import Any, NamedTuple

from .... import _dtypes, backends
from ....backends import Device, storage
from ....backends.memory_format import memory_axes
from ....ops.conversion import Destination, convert
from ....tensor import Tensor, array_behind, wrap


class _Step(NamedTuple):
    """One memory that was converted, and how it was."""

    device: Device
    dtype: Any
    layout: tuple[int, ...]  # of its memory
    original: Any  # the memory itself where keeping it costs nothing, on the device 'meta'
    result: Any
    before: list[tuple[Tensor, storage.Part | None, Any, Any]]  # tensor, its part of the memory, its node and view
    exact: bool  # whether converting back gives the same elements


class Rollback:
    """What a conversion did, so that it can be undone.

    The old arrays are not kept: a model would need twice its memory on every move. Moving back needs no more than the
    room that the move has freed; only what a narrower dtype has rounded is lost. That is said, not hidden.
    """

    def __init__(self, reversible: bool) -> None:
        self._reversible = reversible
        self._steps: list[_Step] = []

    def record(self, memory: Any, result: Any, tensors: list[Tensor]) -> None:
        """Note that `result` is about to take the place of `memory`, of which `tensors` are views."""
        device = backends.device_of(memory)
        before = [(t, storage.part(memory, array_behind(t)), t._node, t._view) for t in tensors]
        self._steps.append(_Step(device, memory.dtype, memory_axes(memory), memory if device.type == "meta" else None,
                                 result, before, _is_exact(memory.dtype, result.dtype)))

    def run(self, names: dict[int, str]) -> list[str]:
        """Go back, as far as that is possible, and return what to tell the user; `names` are those of the tensors by id."""
        left, rounded = [], []
        back = 0
        while self._steps:
            step = self._steps.pop()
            shown = [names.get(id(tensor), "a tensor") for tensor, *_ in step.before]
            try:
                memory = self._converted_back(step)
            except Exception:  # the error that led here is the one to report
                memory = None
            if memory is None:
                left += shown
                continue
            for tensor, part, node, view in step.before:
                tensor._swap_array(storage.take(memory, part))
                tensor._node, tensor._view = node, view if step.original is not None else None
            for tensor, *_ in step.before[1:]:
                tensor._version_box = step.before[0][0]._version_box
            back += len(shown)
            if not step.exact and step.original is None:
                rounded += [f"{name} to {step.result.dtype.name}" for name in shown]
        notes = [f"{back} tensor{'s were' if back > 1 else ' was'} converted before it, and converted back."] if back else []
        if rounded:
            notes.append(f"Their elements have been rounded on the way, load them again: {_listed(rounded)}.")
        if left:
            notes.append(f"Converted before it, and not converted back: {_listed(left)}.")
        return notes

    def _converted_back(self, step: _Step) -> Any:
        if step.original is not None:
            return step.original
        if not self._reversible:
            return None
        array = convert(wrap(step.result), Destination(step.device, step.dtype))._array
        return storage.lay_out(array, step.layout)


def _is_exact(old: Any, new: Any) -> bool:
    """Whether every number of dtype `old` is one of dtype `new`."""
    if old in _dtypes.STORED or new in _dtypes.STORED:
        return old.itemsize == 1 and new in (_dtypes.float32, _dtypes.float64)
    same_kind = _dtypes.CATEGORY[old] == _dtypes.CATEGORY[new] or _dtypes.is_differentiable(old)
    return bool(_dtypes.promote_types(old, new) == new and same_kind)


def _listed(names: list[str]) -> str:
    names = names[::-1]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
