"""Moving a module to a device and casting it: arrays are swapped inside the same objects, each array once."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ... import _dtypes
from ...autograd.grad_mode import no_grad
from ...backends import Device
from ...ops.conversion import Destination, convert, destination, type_destination
from ...tensor import Tensor, Version, wrap
from ..parameter import Buffer, Parameter
from ._left_behind import warn_left_behind
from ._registry import Registry

Convert = Callable[[Tensor], Tensor]


class _Once:
    """A conversion of the state of `root` that treats each array once: what shared one before shares one afterwards.

    A buffer with ``cast=False`` goes through `uncast` instead of `convert`. All tensors over one array are converted together,
    and the array is free before the next one is converted: there must be room for one array more.
    """

    def __init__(self, convert: Convert, root: Registry, uncast: Convert | None = None) -> None:
        self._convert = convert
        self._uncast = uncast or convert
        self._done: set[int] = set()  # tensors by identity; the modules keep them alive
        self._steady: set[int] = set()  # those that go through `uncast`
        self._holders: dict[int, list[Tensor]] = {}  # id of an array not yet converted -> the tensors over it
        for _, member in root._named_members(lambda module: (*module._parameters.items(), *module._buffers.items())):
            for tensor in (member, member._grad):
                if tensor is not None:
                    # Through `data`, here and below, as the array of an uninitialized tensor is out of reach.
                    self._holders.setdefault(id(tensor.data._array), []).append(tensor)
                    if isinstance(member, Buffer) and not member.cast:
                        self._steady.add(id(tensor))

    def __call__(self, tensor: Tensor) -> Tensor:
        """What `fn(tensor)` gives in an `_apply` that a class overrides to convert tensors of its own, too."""
        if isinstance(tensor, (Parameter, Buffer)):
            self.swap(tensor)
            return tensor
        return self._convert(tensor)

    def swap(self, tensor: Tensor) -> None:
        """Swap the converted array into `tensor`, and that of its gradient into its gradient."""
        for target in (tensor, tensor._grad):
            if target is not None and id(target) not in self._done:
                array = target.data._array
                others = self._holders.pop(id(array), ())
                self._swap(array, [target, *(t for t in others if t is not target and t.data._array is array)])

    def _swap(self, array: Any, tensors: list[Tensor]) -> None:
        functions = [self._uncast if id(tensor) in self._steady else self._convert for tensor in tensors]
        results = {function: function(wrap(array))._array for function in dict.fromkeys(functions)}
        versions: dict[Convert, Version | None] = {}
        for tensor, function in zip(tensors, functions, strict=True):
            self._done.add(id(tensor))
            if isinstance(tensor, Buffer):
                tensor.convert_graph(function)
            if results[function] is not array:
                tensor._swap_array(results[function])
                tensor._version_box = versions.setdefault(function, tensor._version_box)
                tensor._view = None


class Conversion(Registry):
    """The part of Module that moves and casts it."""

    def _apply(self, fn: Convert, recurse: bool = True) -> Self:
        """Replace every parameter, buffer and gradient by ``fn(it)``, inside the same objects, each array once."""
        once = fn if isinstance(fn, _Once) else _Once(fn, self)
        if recurse:
            for module in self.children():
                module._apply(once)
        with no_grad():
            for tensor in (*self._parameters.values(), *self._buffers.values()):
                if tensor is not None:
                    once.swap(tensor)
        return self

    def to(self, *args: Any, **keywords: Any) -> Self:
        """Move and cast the module in place, and return it: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``,
        ``to(tensor)``, ``to(memory_format=lucid.channels_last)``.

        Only floating-point and complex parameters and buffers are cast, and no buffer with ``cast=False``; only those of 4 or
        5 dimensions get the memory format. Parameters, buffers and gradients stay the same objects, so an optimizer made
        before stays valid and what was tied stays tied. A tensor that is an ordinary attribute is left where it is, with a
        warning. Raises TypeError for a dtype that is neither floating nor complex and for unknown arguments, RuntimeError for
        ``copy=True`` and, with nothing changed, for a memory format of another rank, and NotImplementedError, with nothing
        changed, for state on the device 'meta' that should go to another one: use `to_empty`.
        """
        target = destination(*args, **keywords)
        if target.copy:
            raise RuntimeError(".to() does not accept copy argument")
        if target.dtype is not None and not _dtypes.is_differentiable(target.dtype):
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={target.dtype.name}")
        if target.memory_format is not None:
            for tensor in (*self.parameters(), *self.buffers()):
                if tensor.ndim in (4, 5):
                    target.memory_format.axes(tensor.ndim)
        return self._move(target)

    def cpu(self) -> Self:
        """Move the module to host memory."""
        return self._move(Destination(Device("cpu")))

    def gpu(self, device: Any = None) -> Self:
        """Move the module to a GPU, GPU 0 by default."""
        return self._move(Destination(Device("gpu" if device is None else device)))

    def cuda(self, device: Any = None) -> Self:
        """The same as `gpu`."""
        return self._move(Destination(Device("gpu" if device is None else device)))

    def _move(self, target: Destination) -> Self:
        """Convert the state to what `target` asks for, as far as `to` does, and warn the caller's caller of what stays."""
        def moved(tensor: Tensor, dtype: Any = None) -> Tensor:
            memory_format = target.memory_format if tensor.ndim in (4, 5) else None
            return convert(tensor, Destination(target.device, dtype, memory_format=memory_format))

        def cast(tensor: Tensor) -> Tensor:
            return moved(tensor, target.dtype if _dtypes.is_differentiable(tensor.dtype) else None)

        if target.device is not None and target.device.type != "meta":
            _refuse_meta(self)
        self._apply(_Once(cast, self, moved))
        if target.device is not None:
            warn_left_behind(self, target.device, stacklevel=3)
        return self

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, integer ones too, but no buffer with ``cast=False``.

        Raises RuntimeError, with nothing changed, for an integer dtype if a parameter requires grad.
        """
        target = type_destination(dst_type)
        if not _dtypes.is_differentiable(target.dtype) and any(parameter.requires_grad for parameter in self.parameters()):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype, not "
                               f"{target.dtype.name}")
        return self._apply(_Once(lambda tensor: convert(tensor, target), self,
                                 lambda tensor: convert(tensor, Destination(target.device))))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._cast(_dtypes.float32)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._cast(_dtypes.float64)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._cast(_dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._cast(_dtypes.bfloat16)

    def _cast(self, dtype: Any) -> Self:
        return self._apply(_Once(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor, self,
                                 lambda tensor: tensor))


def _refuse_meta(root: Registry) -> None:
    """Raise NotImplementedError if some of the state of `root` is on the device 'meta' and has no elements to copy."""
    names = [name for members in (root.named_parameters(), root.named_buffers()) for name, tensor in members if tensor.is_meta]
    if names:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise NotImplementedError(f"Cannot copy out of meta tensor; no data! On the device 'meta' are {shown}. Use "
                                  "module.to_empty(device=...) instead of module.to(...) to give the module memory there.")
