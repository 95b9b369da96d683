"""What optimizers of other libraries take from `torch.optim.optimizer`."""
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


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions, and anything else as it is."""
    return x.squeeze() if isinstance(x, lucid.Tensor) and x.dim() != 0 else x


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex tensors in the lists by real views of them."""
    for place, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[place] = lucid.view_as_real(tensors[place])
