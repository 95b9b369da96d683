"""Moving a module to a device and casting it: arrays are swapped inside the same objects, each array once."""
from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Self

from ... import _dtypes
from ...autograd.grad_mode import no_grad
from ...backends import Device
from ...ops.conversion import destination
from ...tensor import Tensor, Version, wrap
from ..parameter import Buffer
from ._registry import Registry

Convert = Callable[[Tensor], Tensor]


class _Once:
    """A conversion of the state of `root` that treats each array once: what shared one before shares one afterwards."""

    def __init__(self, convert: Convert, root: Registry) -> None:
        self._convert = convert
        self._seen: set[int] = set()  # tensors by identity; the modules keep them alive
        holders = Counter(id(tensor.data._array) for _, tensor in root._named_members(
            lambda module: (*module._parameters.items(), *module._buffers.items())))
        # Only arrays behind several tensors are kept until the end: all others are freed as soon as they are replaced.
        self._shared = {array for array, count in holders.items() if count > 1}
        self._done: dict[int, tuple[Any, Any, Version | None]] = {}  # id of an array -> (array, its conversion, new version)

    def __call__(self, tensor: Tensor) -> None:
        """Swap the converted array into `tensor`, and that of its gradient into its gradient."""
        for target in (tensor, tensor._grad):
            if target is not None and id(target) not in self._seen:
                self._seen.add(id(target))
                self._swap(target)

    def _swap(self, tensor: Tensor) -> None:
        if isinstance(tensor, Buffer):
            tensor.convert_graph(self._convert)
        array = tensor.data._array  # through `data`, as the array of an uninitialized tensor is out of reach
        if id(array) in self._done:
            _, result, version = self._done[id(array)]
            tensor._swap_array(result)
            tensor._version_box = version
        else:
            result = self._convert(wrap(array))._array
            if result is array:
                return
            tensor._swap_array(result)
            if id(array) in self._shared:
                self._done[id(array)] = (array, result, tensor._version_box)
        tensor._view = None


class Conversion(Registry):
    """The part of Module that moves and casts it."""

    def _apply(self, fn: Convert, recurse: bool = True) -> Self:
        """Replace every parameter, buffer and gradient by ``fn(it)``, inside the same objects, each array once."""
        once = fn if isinstance(fn, _Once) else _Once(fn, self)
        if recurse:
            for module in self.children():
                module._apply(once)  # type: ignore[arg-type]
        with no_grad():
            for tensor in (*self._parameters.values(), *self._buffers.values()):
                if tensor is not None:
                    once(tensor)
        return self

    def to(self, *args: Any, **keywords: Any) -> Self:
        """Move and cast the module in place, and return it: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``,
        ``to(tensor)``.

        Only floating-point and complex parameters and buffers are cast. Parameters, buffers and gradients stay the same
        objects, so an optimizer made before stays valid and what was tied stays tied. A tensor that is an ordinary
        attribute is left where it is, with a warning. Raises TypeError for a dtype that is neither floating nor complex.
        """
        device, dtype, _ = destination(*args, **keywords)
        if dtype is not None and not _dtypes.is_differentiable(dtype):
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={dtype.name}")

        def convert(tensor: Tensor) -> Tensor:
            return tensor.to(device, dtype if _dtypes.is_differentiable(tensor.dtype) else None)

        self._apply(convert)
        if device is not None:
            _warn_left_behind(self, device)
        return self

    def cpu(self) -> Self:
        """Move the module to host memory."""
        return self.to(Device("cpu"))

    def gpu(self, device: Any = None) -> Self:
        """Move the module to a GPU, GPU 0 by default."""
        return self.to(Device("gpu" if device is None else device))

    def cuda(self, device: Any = None) -> Self:
        """The same as `gpu`."""
        return self.gpu(device)

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, integer ones too."""
        return self._apply(lambda tensor: tensor.to(_dtypes.as_dtype(dst_type)))

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
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)


def _warn_left_behind(root: Registry, device: Device) -> None:
    """Warn about tensors that are ordinary attributes and are not on `device`.

    An attribute that a forward pre-hook computes before every call, and says so by its `computes`, needs no moving.
    """
    for path, module in root.named_modules():
        owner = type(root).__name__ + (f".{path}" if path else "")
        computed = [getattr(hook, "computes", None) for hook in module.__dict__["_forward_pre_hooks"].values()]
        for attribute, value in module.__dict__.items():
            if attribute in ("_parameters", "_buffers", "_modules") or attribute in computed:
                continue
            for place, tensor in _tensors_in(value, attribute, 0):
                if tensor.device != device:
                    warnings.warn(f"{owner}.{place} is a plain tensor attribute: .to('{device}') leaves it on "
                                  f"{tensor.device}. Use register_buffer (or nn.Buffer) to make it move with the module.",
                                  UserWarning, stacklevel=3)


def _tensors_in(value: Any, place: str, depth: int) -> Iterator[tuple[str, Tensor]]:
    """Pairs (place, tensor) of the tensors in `value`, which may be nested in lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield place, value
    elif depth < 4:
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                yield from _tensors_in(item, f"{place}[{index}]", depth + 1)
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from _tensors_in(item, f"{place}[{key!r}]", depth + 1)
