"""Tensors to several GPUs and back, by the names of torch.cuda.comm. Each runs with one GPU too.

>>> parts = lucid.gpu.comm.scatter(lucid.ones(4), [0])
>>> lucid.gpu.comm.gather(parts, destination="cpu")
Tensor([1.0, 1.0, 1.0, 1.0], requires_grad=False)
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.device import Device
from ..ops.manipulation.joining import cat
from ..tensor import Tensor
from ._device import index_of

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _gpu(device: Any) -> Device:
    return Device("gpu", index_of(device))


def broadcast(tensor: Tensor, devices: Sequence[Any] | None = None, *, out: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """`tensor` on each of `devices`, or written into each tensor of `out`; the one that is there already is not copied.

    >>> [copy.tolist() for copy in lucid.gpu.comm.broadcast(lucid.ones(2), [0])]
    [[1.0, 1.0]]
    """
    if (devices is None) == (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}")
    if out is not None:
        return tuple(target.copy_(tensor) for target in out)
    return tuple(tensor.to(_gpu(device)) for device in devices or ())


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[Any], buffer_size: int = 10485760) -> list[list[Tensor]]:
    """`broadcast` of several tensors: a list for each device. `buffer_size` changes nothing.

    >>> [[copy]] = lucid.gpu.comm.broadcast_coalesced([lucid.ones(2)], [0])
    >>> copy.tolist()
    [1.0, 1.0]
    """
    return [[tensor.to(_gpu(device)) for tensor in tensors] for device in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several GPUs, on the one of `destination`, by default the current one.

    >>> x = lucid.ones(2, device="gpu")
    >>> lucid.gpu.comm.reduce_add([x, x]).tolist()
    [2.0, 2.0]
    """
    target = _gpu(destination)
    for number, tensor in enumerate(inputs):
        if tensor.device.type == "cpu":
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {number} is on CPU")
        if tensor.shape != inputs[0].shape:
            got, expected = ("x".join(map(str, shape)) for shape in (tensor.shape, inputs[0].shape))
            raise ValueError(f"input {number} has invalid size: got {got}, but expected {expected}")
    if all(tensor.device != target for tensor in inputs):
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    total = inputs[0].to(target)
    for tensor in inputs[1:]:
        total = total + tensor.to(target)
    return total


def reduce_add_coalesced(inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 10485760
                         ) -> tuple[Tensor, ...]:
    """`reduce_add` of several tensors, given as a sequence for each GPU. `buffer_size` changes nothing.

    >>> x = lucid.ones(2, device="gpu")
    >>> [total.tolist() for total in lucid.gpu.comm.reduce_add_coalesced([[x], [x]])]
    [[2.0, 2.0]]
    """
    return tuple(reduce_add(tensors, destination) for tensors in zip(*inputs, strict=True))


def scatter(tensor: Tensor, devices: Sequence[Any] | None = None, chunk_sizes: Sequence[int] | None = None, dim: int = 0,
            streams: Sequence[Any] | None = None, *, out: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """Parts of `tensor` along `dim`, one on each of `devices` or written into each tensor of `out`.

    >>> [part.tolist() for part in lucid.gpu.comm.scatter(lucid.ones(2), [0])]
    [[1.0, 1.0]]
    """
    if out is not None:
        for name, given in (("devices", devices), ("chunk_sizes", chunk_sizes)):
            if given is not None:
                raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got {name}={given}")
        parts = tensor.split([target.shape[dim] for target in out], dim)
        return tuple(target.copy_(part) for target, part in zip(out, parts, strict=True))
    targets = [_gpu(device) for device in devices or ()]
    parts = tensor.chunk(len(targets), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(part.to(target) for part, target in zip(parts, targets, strict=chunk_sizes is not None))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Tensors of several GPUs joined along `dim`, on `destination`, by default the current GPU, or written into `out`.

    >>> x = lucid.ones(2, device="gpu")
    >>> lucid.gpu.comm.gather([x, x], destination="cpu")
    Tensor([1.0, 1.0, 1.0, 1.0], requires_grad=False)
    """
    if out is not None:
        if destination is not None:
            raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got destination={destination}")
        return out.copy_(cat([tensor.to(out.device) for tensor in tensors], dim))
    on_host = destination == -1 or (isinstance(destination, str | Device) and Device(destination).type == "cpu")
    target = Device("cpu") if on_host else _gpu(destination)
    return cat([tensor.to(target) for tensor in tensors], dim)
