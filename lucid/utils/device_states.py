"""Random states of devices, which functions that are computed again need, by the names of torch.utils.checkpoint."""
from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from .. import gpu
from .._pytree import tree_leaves
from ..tensor import Tensor


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The numbers of the GPUs of the tensors in `args`, and for each the state of the generator, which is one for all devices.

    >>> lucid.utils.checkpoint.get_device_states(lucid.ones(1))
    ([], [])
    """
    devices = [leaf.device.index or 0 for leaf in tree_leaves(args) if isinstance(leaf, Tensor) and leaf.device.type == "gpu"]
    return devices, [gpu.get_rng_state(device) for device in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Put back what `get_device_states` returned.

    >>> x = lucid.ones(1, device="gpu")
    >>> found = lucid.utils.checkpoint.get_device_states(x)
    >>> a = lucid.rand(2, device="gpu")
    >>> lucid.utils.checkpoint.set_device_states(*found)
    >>> lucid.equal(lucid.rand(2, device="gpu"), a)
    True
    """
    for device, state in zip(devices, states, strict=False):
        gpu.set_rng_state(state, device)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of `inputs` without their graph, which require grad where they did; other objects as they are.

    >>> x = lucid.ones(1, requires_grad=True) * 2
    >>> lucid.utils.checkpoint.detach_variable((x,))[0].is_leaf
    True
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no tensor of `inputs` requires grad.

    >>> lucid.utils.checkpoint.check_backward_validity([lucid.ones(1, requires_grad=True)])
    """
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """The type of the device whose state a checkpoint keeps where its arguments do not say it. One generator serves all devices
    here, so it changes nothing.

    >>> lucid.utils.checkpoint.DefaultDeviceType.get_device_type()
    'gpu'
    """

    _type: str | None = None

    @staticmethod
    def set_device_type(device: str = "gpu") -> None:
        """Set it."""
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type() -> str:
        """What was set, else 'gpu' where there is one, else 'cpu'."""
        return DefaultDeviceType._type or ("gpu" if gpu.is_available() else "cpu")
