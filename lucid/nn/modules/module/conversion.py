"""Moving a module to a device and casting it: arrays are swapped inside the same objects, each array once."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from .... import _dtypes
from ....autograd.grad_mode import no_grad
from ....backends import Device
from ....ops.conversion import Destination, convert, destination, type_destination
from ....tensor import Tensor
from ...parameter import is_lazy
from .memoised_conversion import Convert, MemoisedConversion
from .registry import Registry
from .unregistered_tensors import warn_unregistered


class Conversion(Registry):
    """The part of Module that moves and casts it."""

    def _apply(self, fn: Convert, recurse: bool = True) -> Self:
        """Replace every parameter, buffer and gradient by ``fn(it)``, inside the same objects, each array once.

        After an error the tensors before it stay converted, and a note at the error names where it happened.
        """
        if not isinstance(fn, MemoisedConversion):
            return self._converted(MemoisedConversion(fn, self, themselves=True),
                                   lambda conversion: Conversion._apply(self, conversion, recurse))
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for tensor in (*self._parameters.values(), *self._buffers.values()):
                if tensor is not None:
                    fn.swap(tensor)
        return self

    def _apply_memoised(self, conversion: MemoisedConversion) -> Self:
        return self._converted(conversion, self._apply)

    def _converted(self, conversion: MemoisedConversion, apply: Callable[[MemoisedConversion], Self]) -> Self:
        try:
            return apply(conversion)
        except BaseException as error:
            with no_grad():
                conversion.roll_back(error)
            raise

    def to(self, *args: Any, **keywords: Any) -> Self:
        """Move and cast the module in place, and return it: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``,
        ``to(tensor)``, ``to(memory_format=lucid.channels_last)``.

        Only floating-point and complex parameters and buffers are cast, and no buffer with ``cast=False``; only those of 4 or
        5 dimensions get the memory format. Parameters, buffers and gradients stay the same objects, so an optimizer made
        before stays valid and what was tied stays tied: also views of one memory, such as a weight and its transpose, unless
        a memory format is given. A tensor that is an ordinary attribute is left where it is, with a warning.

        Each memory is converted once, and freed before the next one. An error on the way, such as a device without room,
        converts back what was converted before it; notes at the error say so, and name the tensor at which it happened and
        those whose elements a narrower dtype has rounded meanwhile.

        Raises TypeError for a dtype that is neither floating nor complex and for unknown arguments, RuntimeError for
        ``copy=True`` and, with nothing changed, for a memory format of another rank, and NotImplementedError, with nothing
        changed, for state on the device 'meta' that should go to another one: use `to_empty`.

        >>> layer = nn.Linear(2, 3).to(lucid.float64)
        >>> layer.weight.dtype
        dtype('float64')
        >>> layer.to("cpu") is layer
        True
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
        """Move the module to host memory.

        >>> nn.Linear(2, 3).cpu().weight.device
        device(type='cpu')
        """
        return self._move(Destination(Device("cpu")))

    def gpu(self, device: Any = None) -> Self:
        """Move the module to a GPU, GPU 0 by default.

        >>> nn.Linear(2, 3).gpu().weight.device
        device(type='gpu', index=0)
        """
        return self._move(Destination(Device("gpu" if device is None else device)))

    cuda = gpu

    def _move(self, target: Destination) -> Self:
        """Convert the state to `target`, as far as `to` does, and warn the caller's caller of what stays."""
        def moved(tensor: Tensor, dtype: Any = None) -> Tensor:
            memory_format = target.memory_format if tensor.ndim in (4, 5) else None
            return convert(tensor, target._replace(dtype=dtype, memory_format=memory_format))

        def cast(tensor: Tensor) -> Tensor:
            return moved(tensor, target.dtype if _dtypes.is_differentiable(tensor.dtype) else None)

        if target.device is not None and target.device.type != "meta":
            _refuse_meta(self)
        self._apply_memoised(MemoisedConversion(cast, self, moved, reversible=True, elementwise=target.memory_format is None))
        if target.device is not None:
            warn_unregistered(self, target.device, stacklevel=3)
        return self

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, integer ones too, but no buffer with ``cast=False``.

        Raises RuntimeError, with nothing changed, for an integer dtype if a parameter requires grad.

        >>> nn.Linear(2, 3).type(lucid.float64).weight.dtype
        dtype('float64')
        """
        target = type_destination(dst_type)
        if not _dtypes.is_differentiable(target.dtype) and any(parameter.requires_grad for parameter in self.parameters()):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype, not "
                               f"{target.dtype.name}")
        return self._apply_memoised(MemoisedConversion(
            lambda tensor: convert(tensor, target), self, lambda tensor: convert(tensor, Destination(target.device)),
            reversible=True, elementwise=True))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32.

        >>> nn.Linear(2, 3).double().float().weight.dtype
        dtype('float32')
        """
        return self._cast(_dtypes.float32)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64.

        >>> nn.Linear(2, 3).double().weight.dtype
        dtype('float64')
        """
        return self._cast(_dtypes.float64)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16.

        >>> nn.Linear(2, 3).half().weight.dtype
        dtype('float16')
        """
        return self._cast(_dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16.

        >>> nn.Linear(2, 3).bfloat16().weight.dtype == lucid.bfloat16
        True
        """
        return self._cast(_dtypes.bfloat16)

    def share_memory(self) -> Self:
        """Put parameters, buffers and gradients into memory that other processes can share; see `Tensor.share_memory_`.

        Raises UninitializedError (a RuntimeError) for a lazy module that has not seen an input, with nothing changed.

        >>> nn.Linear(2, 3).share_memory().weight.is_shared()
        True
        """
        for tensor in (*self.parameters(), *self.buffers()):
            if is_lazy(tensor):
                tensor.share_memory_()  # raises
        return self._apply_memoised(MemoisedConversion(Tensor.share_memory_, self, elementwise=True))

    def _cast(self, dtype: Any) -> Self:
        return self._apply_memoised(MemoisedConversion(
            lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor, self, lambda tensor: tensor,
            reversible=True, elementwise=True))


def _refuse_meta(root: Registry) -> None:
    """Raise NotImplementedError if some of the state of `root` is on the device 'meta' and has no elements to copy."""
    names = [name for members in (root.named_parameters(), root.named_buffers()) for name, tensor in members if tensor.is_meta]
    if names:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise NotImplementedError(f"Cannot copy out of meta tensor; no data! On the device 'meta' are {shown}. Use "
                                  "module.to_empty(device=...) instead of module.to(...) to give the module memory there.")
