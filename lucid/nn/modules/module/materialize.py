"""Memory for modules that have none: `to_empty`, and the buffers that no state dict can bring back after the meta device."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from ....autograd.grad_mode import no_grad
from ....backends import Device
from ....ops.creation.creation import empty_like
from ....tensor import Tensor, as_array, wrap
from ...parameter import Buffer
from .conversion import Conversion
from .registry import Registry
from .unregistered_tensors import warn_unregistered


class Materialization(Conversion):
    """The part of Module that gives it new memory."""

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give all parameters, buffers and gradients new memory on `device` (None: where they are), without copying what they
        contain: a module built on the device 'meta' gets its memory so, before a state dict is loaded. The objects and
        what they share stay; the elements are arbitrary, except in

        - buffers with ``Buffer(init=...)``: computed again, with `device` as the default device, and cast to their dtype;
        - other non-persistent buffers, which no state dict holds: they move with their elements.

        With ``recurse=False`` the submodules are left alone. Raises, with nothing changed, RuntimeError that names the
        non-persistent buffers on the device 'meta' that nobody can compute, and UninitializedError (a ValueError) for
        lazy parameters.

        >>> layer = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
        >>> layer.weight.device
        device(type='cpu')
        """
        target = None if device is None else Device(device)
        modules = list(self.named_modules()) if recurse else [("", self)]
        loaded = {id(tensor._array) for _, module in modules for tensor in module._persistent_state().values()}
        buffers = [(name, buffer, persistent) for name, buffer, persistent in _buffers(modules)
                   if (buffer.device if target is None else target).type != "meta"]
        # By the id of an array, for buffers may share it: what comes in its place.
        computed = {id(buffer._array): _computed(name, buffer, target or buffer.device) for name, buffer, _ in buffers
                    if isinstance(buffer, Buffer) and buffer.init is not None}
        kept = {id(buffer._array) for _, buffer, persistent in buffers if not persistent} - loaded - computed.keys()
        lost = [name for name, buffer, _ in buffers if id(buffer._array) in kept and buffer.is_meta]
        if lost:
            raise RuntimeError(_lost_message(type(self).__name__, lost))

        def convert(tensor: Tensor) -> Tensor:
            array = id(tensor._array)
            if array in kept:
                return tensor if target is None else tensor.to(target)
            return computed[array] if array in computed else empty_like(tensor, device=target)

        self._apply(convert, recurse)
        if target is not None and recurse:
            warn_unregistered(self, target, stacklevel=2)
        return self


def recomputed_buffers(root: Registry, device: Device) -> list[tuple[Buffer, Tensor]]:
    """The non-persistent buffers on the device 'meta' that know their content, with it on `device`. Changes nothing."""
    return [(buffer, _computed(name, buffer, device)) for name, buffer, persistent in _buffers(root.named_modules())
            if not persistent and isinstance(buffer, Buffer) and buffer.init is not None and buffer.is_meta]


def _buffers(modules: Any) -> Iterator[tuple[str, Tensor, bool]]:
    """Triples (dotted name, buffer, whether a state dict holds it)."""
    for path, module in modules:
        for name, buffer in module._buffers.items():
            if buffer is not None:
                yield f"{path}.{name}" if path else name, buffer, name not in module._non_persistent_buffers_set


def _computed(name: str, buffer: Buffer, device: Device) -> Tensor:
    """What ``buffer.init()`` returns, on `device` and in the dtype of `buffer`."""
    assert buffer.init is not None
    with no_grad(), device:
        content = wrap(as_array(buffer.init(), buffer.dtype, device))
    if content.shape != buffer.shape and not buffer.resizable:
        raise RuntimeError(f"init of buffer '{name}' returned a tensor of shape {list(content.shape)}, but the buffer has "
                           f"shape {list(buffer.shape)}. Give it that shape, or declare Buffer(resizable=True).")
    return content


def _lost_message(owner: str, names: list[str]) -> str:
    one = len(names) == 1
    return (f"{owner}.to_empty() would leave {'this non-persistent buffer' if one else 'these non-persistent buffers'} without "
            f"content: {', '.join(map(repr, names))}. {'It is' if one else 'They are'} on the device 'meta', and no state dict "
            "holds what belongs there. Say how to compute it with nn.Buffer(init=function, persistent=False), make it a "
            "persistent buffer, or create it on a real device. Nothing was changed.")
