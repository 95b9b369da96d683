"""A functional call that returns the new buffers and changes nothing else."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..modules.module import Module
from ._borrowed import Borrowed, plain, tracks_graph
from .stateless import State, check_tensor, run, swapped


def pure_call(module: Module, tensors: State, args: Any, kwargs: dict[str, Any] | None) -> tuple[Any, dict[str, Tensor]]:
    """The result of `module` with `tensors` at their names, and all buffers after it; forward works on copies of them."""
    rest = dict(tensors)
    before = [(owner, owner._buffers, owner._non_persistent_buffers_set) for owner in module.modules()]
    try:
        # Whole dictionaries are exchanged, as forward may also register and delete buffers.
        for owner, buffers, non_persistent in before:
            owner.__dict__.update(_buffers=dict(buffers), _non_persistent_buffers_set=set(non_persistent))
        for path, owner in module.named_modules(remove_duplicate=False):
            for name in owner._buffers:
                full = f"{path}.{name}" if path else name
                if full in rest:
                    check_tensor(rest[full])
                    owner._buffers[name] = rest.pop(full)
        copies = _Copies()
        for owner, own, _ in before:
            for name, buffer in owner._buffers.items():
                owner._buffers[name] = None if buffer is None else copies.of(buffer, own[name])
        with swapped(module, rest, {}):
            result = run(module, args, kwargs)
        return result, {name: plain(buffer) for name, buffer in module.named_buffers()}
    finally:
        for owner, buffers, non_persistent in before:
            owner.__dict__.update(_buffers=buffers, _non_persistent_buffers_set=non_persistent)


class _Copies:
    """Copies of buffers: one tensor has one, and tensors over one array have copies over one array."""

    def __init__(self) -> None:
        self._of_tensors: dict[int, Tensor] = {}
        self._of_arrays: dict[int, Tensor] = {}

    def of(self, buffer: Tensor, own: Tensor | None) -> Tensor:
        """The copy of `buffer`, in the place of the module's own buffer `own`; a gradient goes through it to `buffer`."""
        if id(buffer) not in self._of_tensors:
            copy = self._of_arrays.setdefault(id(buffer._array), buffer.clone())
            self._of_tensors[id(buffer)] = Borrowed(copy, tracks_graph(buffer, own))
        return self._of_tensors[id(buffer)]
