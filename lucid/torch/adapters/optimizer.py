"""What optimizers of other libraries take from `torch.optim.optimizer` and `torch.utils._foreach_utils`."""
from __future__ import annotations

from typing import Any

import lucid

__all__ = ["_default_to_fused_or_foreach", "_get_capturable_supported_devices",
           "_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices", "_get_scalar_dtype", "_get_value",
           "_stack_if_compiling", "_to_scalar", "_view_as_real"]


def _get_value(x: Any) -> Any:
    """The number in a tensor of one element."""
    return x.item() if isinstance(x, lucid.Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """`x`: nothing is compiled."""
    return x


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether an optimizer is to take fused or multi-tensor functions when nothing was said: neither."""
    return False, False


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of the numbers that an optimizer keeps in tensors."""
    return lucid.float64 if not is_fused and lucid.get_default_dtype() == lucid.float64 else lucid.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices whose steps can be captured."""
    return ["cuda"]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices with functions of many tensors."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices with steps in one kernel."""
    return ["cuda", "cpu"]


def _device_has_foreach_support(device: lucid.device) -> bool:
    """Whether functions of many tensors are for tensors on `device`."""
    return device.type in ("cpu", "cuda")


def _has_foreach_support(tensors: list[Any], device: lucid.device) -> bool:
    """Whether functions of many tensors are for these, which are None or on `device`."""
    return _device_has_foreach_support(device) and all(tensor is None or type(tensor) is lucid.Tensor for tensor in tensors)


def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:
    """Lists of tensors of the same lengths, split by the device and the dtype of the tensors in the first.

    Gives lists of lists as before, with the indices that the tensors had, which are empty unless `with_indices`.
    """
    first = tensorlistlist[0] if tensorlistlist else []
    if not first:
        raise RuntimeError("The first list must have tensors")
    if any(len(tensors) not in (0, len(first)) for tensors in tensorlistlist):
        raise RuntimeError("Tensors must be in lists of the same length")
    groups: dict[Any, Any] = {}
    for index, tensor in enumerate(first):
        lists, indices = groups.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for group, tensors in zip(lists, tensorlistlist, strict=True):
            if tensors:
                group.append(tensors[index])
        if with_indices:
            indices.append(index)
    return groups


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions, and anything else as it is."""
    return x.squeeze() if isinstance(x, lucid.Tensor) and x.dim() != 0 else x


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex tensors in the lists by real views of them."""
    for place, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[place] = lucid.view_as_real(tensors[place])
