"""Two-dimensional convolution. It and its two gradients are linear in each argument, so the gradient of each of the three is
made of the other two, and all of them differentiate any number of times.
"""
from __future__ import annotations

from typing import Any

from .. import _dtypes
from ..autograd.errors import type_name
from ..autograd.op import Op, Pull
from ..tensor import Tensor
from ._operands import require_tensor
from .padding import constant_pad

__all__ = ("conv2d",)


def _conv2d_rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor | None, **geometry: Any) -> Pull:
    input_shape, weight_shape = x._array.shape, weight._array.shape
    needs_x, needs_weight, needs_bias = needs
    x, weight = x if needs_weight else None, weight if needs_x else None  # type: ignore[assignment]

    def pull(g: Tensor, y: Any) -> tuple[Any, Any, Any]:
        return (_grad_input(g, weight, input_shape=input_shape, **geometry) if needs_x else None,
                _grad_weight(g, x, weight_shape=weight_shape, **geometry) if needs_weight else None,
                g.sum((0, 2, 3)) if needs_bias else None)

    return pull


def _grad_input_rule(needs: Any, g: Tensor, weight: Tensor, *, input_shape: tuple[int, ...], **geometry: Any) -> Pull:
    weight_shape = weight._array.shape
    needs_g, needs_weight = needs

    def pull(gg: Tensor, y: Any) -> tuple[Any, Any]:
        return (_conv2d(gg, weight, None, **geometry) if needs_g else None,
                _grad_weight(g, gg, weight_shape=weight_shape, **geometry) if needs_weight else None)

    return pull


def _grad_weight_rule(needs: Any, g: Tensor, x: Tensor, *, weight_shape: tuple[int, ...], **geometry: Any) -> Pull:
    input_shape = x._array.shape
    needs_g, needs_x = needs

    def pull(gg: Tensor, y: Any) -> tuple[Any, Any]:
        return (_conv2d(x, gg, None, **geometry) if needs_g else None,
                _grad_input(g, gg, input_shape=input_shape, **geometry) if needs_x else None)

    return pull


_conv2d = Op("conv2d", _conv2d_rule)
_grad_input = Op("conv2d_grad_input", _grad_input_rule)
_grad_weight = Op("conv2d_grad_weight", _grad_weight_rule)


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
           groups: int = 1) -> Tensor:
    """Cross-correlation of `input` (N, C, H, W) or (C, H, W) with `weight` (O, C / groups, KH, KW), plus `bias` (O,).

    `stride`, `padding` and `dilation` are a number or one for each dimension; `padding` may also be 'valid' (none) or 'same'
    (output as large as the input, for stride 1). All tensors have one floating-point dtype; integers are computed in
    float64. Raises RuntimeError for shapes, dtypes and options that do not fit, as PyTorch does.
    """
    require_tensor("conv2d", input), require_tensor("conv2d", weight)
    shape, kernel = input._array.shape, weight._array.shape
    if len(shape) not in (3, 4):
        raise RuntimeError("Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: "
                           f"{list(shape)}")
    if len(kernel) != 4:
        raise RuntimeError(f"conv2d expects a weight of 4 dimensions (O, C / groups, KH, KW), but got {list(kernel)}")
    _require_same_dtype(input, weight, bias)
    stride, dilation = _pair("stride", stride), _pair("dilation", dilation)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same" and stride != (1, 1):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
    else:
        padding = _pair("padding", padding)
    _check_geometry(shape, kernel, bias, stride, padding, dilation, groups)
    x = input if len(shape) == 4 else input.reshape(1, *shape)
    if padding == "valid":
        padding = (0, 0)
    elif padding == "same":
        x, padding = _pad_to_same(x, kernel, dilation)
    _check_size(x._array.shape, kernel, padding, dilation)
    if kernel[1] == 0:  # no input channels: the kernels want at least one, which may be zeros
        x, weight = constant_pad(x, (0, 0, 0, 0, 0, groups)), constant_pad(weight, (0, 0, 0, 0, 0, 1))
    if _dtypes.is_floating(input._array.dtype):
        y = _conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    elif input.is_complex():
        raise NotImplementedError("conv2d of complex tensors is not supported; convolve real and imaginary parts")
    else:
        y = _conv2d(x.double(), weight.double(), None if bias is None else bias.double(), stride=stride, padding=padding,
                    dilation=dilation, groups=groups).to(input.dtype)
    return y if len(shape) == 4 else y.reshape(y.shape[1:])


def _require_same_dtype(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._array.dtype != input._array.dtype:
            raise RuntimeError(f"Input type ({type_name(input.dtype)}) and {name} type ({type_name(tensor.dtype)}) should "
                               "be the same")


def _pair(name: str, value: Any) -> tuple[int, int]:
    """A number, or a sequence of one or two, as two numbers."""
    if isinstance(value, (tuple, list)):
        if len(value) not in (1, 2):
            raise RuntimeError(f"expected {name} to be a single integer value or a list of 2 values to match the "
                               f"convolution dimensions, but got {name}={list(value)}")
        return (int(value[0]), int(value[-1]))
    return (int(value), int(value))


def _check_geometry(shape: tuple[int, ...], kernel: tuple[int, ...], bias: Tensor | None, stride: tuple[int, int],
                    padding: Any, dilation: tuple[int, int], groups: int) -> None:
    if not isinstance(padding, str) and min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    for name, smallest in (("stride", min(stride)), ("dilation", min(dilation)), ("groups", groups)):
        if smallest <= 0:
            raise RuntimeError(f"non-positive {name} is not supported")
    if kernel[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight "
                           f"of size {list(kernel)} instead")
    if kernel[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
                           f"weight of size [{list(kernel)}] instead")
    channels = shape[-3]
    if channels != kernel[1] * groups:
        raise RuntimeError(f"Given groups={groups}, weight of size {list(kernel)}, expected input{list(shape)} to have "
                           f"{kernel[1] * groups} channels, but got {channels} channels instead")
    if bias is not None and bias._array.shape != kernel[:1]:
        raise RuntimeError(f"Given weight of size {list(kernel)}, expected bias to be 1-dimensional with {kernel[0]} "
                           f"elements, but got bias of size {list(bias._array.shape)} instead")


def _check_size(shape: tuple[int, ...], kernel: tuple[int, ...], padding: tuple[int, int], dilation: tuple[int, int]) -> None:
    """Raise RuntimeError if the kernel does not fit into the padded input."""
    padded = tuple(n + 2 * p for n, p in zip(shape[2:], padding, strict=True))
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel[2:], dilation, strict=True))
    if 0 in kernel[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel[2:])}")
    if any(k > n for k, n in zip(reach, padded, strict=True)):
        raise RuntimeError(f"Calculated padded input size per channel: ({padded[0]} x {padded[1]}). Kernel size: "
                           f"({reach[0]} x {reach[1]}). Kernel size can't be greater than actual input size")


def _pad_to_same(x: Tensor, kernel: tuple[int, ...], dilation: tuple[int, int]) -> tuple[Tensor, tuple[int, int]]:
    """Padding 'same'. The kernel pads both sides alike: where an odd number is needed, the last one goes to the end here."""
    total = [d * (k - 1) for k, d in zip(kernel[2:], dilation, strict=True)]
    if total[0] % 2 or total[1] % 2:
        x = constant_pad(x, (0, total[1] % 2, 0, total[0] % 2))
    return x, (total[0] // 2, total[1] // 2)
