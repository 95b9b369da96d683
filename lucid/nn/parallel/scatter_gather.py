"""Parts of the tensors in containers for several devices, and back."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...backends.device import Device
from ...ops.manipulation.joining import cat
from ...tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Parts of tensors along `dim`, one on each of `target_gpus`, differentiably; a tuple for a tensor, else a list. A container
    gives a container for each part; other objects are in all parts.

    >>> x = lucid.ones(2, requires_grad=True)
    >>> [part] = nn.parallel.scatter({"x": x}, [0])
    >>> part["x"].device.type, part["x"].requires_grad
    ('gpu', True)
    """
    targets = [Device("gpu", device) if isinstance(device, int) else Device(device) for device in target_gpus]

    def parts(obj: Any) -> Sequence[Any]:
        if isinstance(obj, Tensor):
            return tuple(part.to(target) for part, target in zip(obj.chunk(len(targets), dim), targets, strict=False))
        if isinstance(obj, tuple) and hasattr(obj, "_fields"):
            return [type(obj)(*each) for each in zip(*map(parts, obj), strict=False)]
        if isinstance(obj, tuple) and obj:
            return list(zip(*map(parts, obj), strict=False))
        if isinstance(obj, list) and obj:
            return [list(each) for each in zip(*map(parts, obj), strict=False)]
        if isinstance(obj, dict) and obj:
            return [type(obj)(each) for each in zip(*map(parts, obj.items()), strict=False)]
        return [obj for _ in targets]

    return parts(inputs)


def scatter_kwargs(inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
                   ) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` of positional and of named arguments, with as many of both.

    >>> inputs, kwargs = nn.parallel.scatter_gather.scatter_kwargs((lucid.ones(2),), None, [0])
    >>> len(inputs), kwargs
    (1, ({},))
    """
    positional = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    positional += [()] * (len(named) - len(positional))
    named += [{}] * (len(positional) - len(named))
    return tuple(positional), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Tensors of several GPUs joined along `dim` on one device, differentiably; numbers without dimensions become a vector. In
    containers each tensor is joined with those in its place.

    >>> nn.parallel.gather([{"x": lucid.ones(2)}, {"x": lucid.zeros(1)}], "cpu")
    {'x': Tensor([1.0, 1.0, 0.0], requires_grad=False)}
    """
    target = Device("cpu") if target_device == -1 else Device(target_device)

    def joined(outputs: Sequence[Any]) -> Any:
        first = outputs[0]
        if isinstance(first, Tensor):
            tensors = [output.to(target) for output in outputs]
            if all(tensor.dim() == 0 for tensor in tensors) and dim == 0:
                warnings.warn("Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze "
                              "and return a vector.", stacklevel=3)
                tensors = [tensor.reshape(1) for tensor in tensors]
            return cat(tensors, dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(first) != len(output) for output in outputs):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, joined([output[key] for output in outputs])) for key in first)
        if isinstance(first, tuple) and hasattr(first, "_fields"):
            return type(first)._make(map(joined, zip(*outputs, strict=True)))  # type: ignore[attr-defined]
        return type(first)(map(joined, zip(*outputs, strict=True)))

    return joined(outputs)
