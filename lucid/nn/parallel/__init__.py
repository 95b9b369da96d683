"""Wrappers of PyTorch for several devices and processes. lucid trains in one process on one device: they call the module that
they wrap, which is their attribute `module`, so that its names in the `state_dict` begin with it.

`scatter_gather`: parts of tensors for several devices, and back.

>>> model = nn.DataParallel(nn.Linear(2, 3))
>>> list(model.state_dict())
['module.weight', 'module.bias']
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ...tensor import Tensor
from ..modules.module import Module
from .scatter_gather import gather, scatter


class DataParallel(Module):
    """A module on one device. Raises RuntimeError for several `device_ids`.

    >>> nn.DataParallel(nn.Linear(2, 3))(lucid.ones(4, 2)).shape
    lucid.Size([4, 3])
    """

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        _require_one(type(self).__name__, device_ids)
        self.module = module
        self.dim = dim
        self.device_ids = list(device_ids or ())
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """A module in a group of one process, whose gradients need no exchange.

    Raises ValueError before `distributed.init_process_group`, RuntimeError for a module without a parameter that requires grad
    and for several `device_ids`.

    >>> lucid.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> nn.parallel.DistributedDataParallel(nn.Linear(2, 3))(lucid.ones(4, 2)).shape
    lucid.Size([4, 3])
    >>> lucid.distributed.destroy_process_group()
    """

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
                 gradient_as_bucket_view: bool = False, static_graph: bool = False, **others: Any) -> None:
        from ... import distributed
        super().__init__()
        distributed.get_rank(process_group)
        _require_one(type(self).__name__, device_ids)
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                               "gradient.")
        self.module = module
        self.dim = dim
        self.device_ids = device_ids
        self.process_group = process_group
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients are not exchanged, as they never are."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
             ) -> Any:
        """A context that does nothing: no other process can be short of inputs."""
        return contextlib.nullcontext(self)


def data_parallel(module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
                  module_kwargs: dict[str, Any] | None = None) -> Tensor | None:
    """What the module returns for `inputs`, a tensor or a tuple of arguments. Raises RuntimeError for several devices.

    >>> nn.parallel.data_parallel(nn.Linear(2, 3), lucid.ones(4, 2)).shape
    lucid.Size([4, 3])
    """
    _require_one("data_parallel", device_ids)
    result: Tensor | None = module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
    return result


def _require_one(name: str, device_ids: Sequence[Any] | None) -> None:
    if device_ids is not None and len(device_ids) > 1:
        raise RuntimeError(f"{name}: lucid trains on one device, got device_ids={list(device_ids)}")


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]
