"""Functions of layers that return what their gradients need too, by the names of PyTorch's own namespace."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ...autograd.grad_mode import no_grad
from ...tensor import Tensor
from .._out import accepts_out
from ..creation.creation import empty, ones_like
from ..random.random import rand_like
from . import group_normalization, normalization, pixel_shuffle
from .grid_sampling import grid_sample
from .pooling_dimensions import max_pool1d

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
Triple = tuple[Tensor, Tensor, Tensor]


def _moments(x: Tensor, dims: Sequence[int], eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The mean and the reciprocal of the standard deviation over `dims`; float32 for halves."""
    wide = x.float() if x.dtype.itemsize < 4 else x
    return wide.mean(tuple(dims), keepdim=keepdim), (wide.var(tuple(dims), correction=0, keepdim=keepdim) + eps).rsqrt()


def _kept_moments(x: Tensor, weight: Tensor | None, dims: Sequence[int], eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Without gradients; of halves float32 on a GPU and beside weights of float32, else as `x`."""
    with no_grad():
        mean, rstd = _moments(x, dims, eps, keepdim)
        dtype = mean.dtype if x.is_gpu or (weight is not None and weight.dtype != x.dtype) else x.dtype
        return mean.to(dtype), rstd.to(dtype)


def native_layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
                      ) -> Triple:
    """`nn.functional.layer_norm`, and the mean and the reciprocal of the standard deviation of each part, without gradients.

    >>> y, mean, rstd = lucid.native_layer_norm(lucid.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)
    >>> y, mean, rstd
    (Tensor([[-1.0,  1.0]], requires_grad=False), Tensor([[2.0]], requires_grad=False), Tensor([[1.0]], requires_grad=False))
    """
    y = normalization.layer_norm(input, tuple(normalized_shape), weight, bias, eps)
    return y, *_kept_moments(input, weight, range(-len(normalized_shape), 0), eps, True)


def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
                      ) -> Triple:
    """`nn.functional.group_norm`, and the mean and the reciprocal of the standard deviation (N, group).

    >>> y, mean, rstd = lucid.native_group_norm(lucid.ones(2, 4, 3), None, None, 2, 4, 3, 2, 1.0)
    >>> mean.shape, rstd.tolist()
    (lucid.Size([2, 2]), [[1.0, 1.0], [1.0, 1.0]])
    """
    if input.shape[:2] != (N, C) or input.numel() != N * C * HxW:
        raise RuntimeError(f"native_group_norm: N={N}, C={C} and HxW={HxW} do not fit the shape {tuple(input.shape)}")
    y = group_normalization.group_norm(input, group, weight, bias, eps)
    mean, rstd = _moments(input.reshape(N, group, HxW * C // group), (2,), eps, False)
    dtype = input.dtype if weight is None or weight.dtype == input.dtype else mean.dtype
    return y, mean.to(dtype), rstd.to(dtype)


@accepts_out
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                      running_var: Tensor | None, training: bool, momentum: float, eps: float) -> Triple:
    """`nn.functional.batch_norm`, and in training the mean and the reciprocal of the standard deviation of each channel of the
    batch, without gradients; else two empty tensors.

    >>> x = lucid.tensor([[1.0], [3.0]])
    >>> y, mean, rstd = lucid.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    >>> mean, rstd
    (Tensor([2.0], requires_grad=False), Tensor([1.0], requires_grad=False))
    """
    y = normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        dtype = None if input.dtype.itemsize < 4 else input.dtype
        return y, empty(0, dtype=dtype, device=input.device), empty(0, dtype=dtype, device=input.device)
    return y, *_kept_moments(input, weight, [dim for dim in range(input.ndim) if dim != 1], eps, False)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`input` with each element zero by chance `p` and the others divided by ``1 - p``, and a mask of those; all of them if
    `train` is False.

    >>> y, mask = lucid.native_dropout(lucid.ones(1000), 0.5, True)
    >>> lucid.equal(y, mask * 2.0), 300 < mask.sum() < 700
    (True, Tensor(True, requires_grad=False))
    """
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if train is False:
        return input.clone(), ones_like(input, dtype=bool)
    mask = rand_like(input.detach(), dtype=None if input.dtype.itemsize >= 4 and not input.is_complex() else "float32") >= p
    return input * (mask.to(input.dtype) * (0.0 if p == 1 else 1 / (1 - p))), mask


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`nn.functional.channel_shuffle`.

    >>> lucid.native_channel_shuffle(lucid.arange(4).reshape(1, 4, 1), 2).flatten()
    Tensor([0, 2, 1, 3], requires_grad=False)
    """
    return pixel_shuffle.channel_shuffle(input, groups)


def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False) -> tuple[Tensor, Tensor]:
    """`nn.functional.max_pool1d` and where the maxima stand.

    >>> lucid.max_pool1d_with_indices(lucid.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (Tensor([[3.0, 2.0]], requires_grad=False), Tensor([[1, 2]], requires_grad=False))
    """
    step = None if stride in ((), []) else stride
    found: tuple[Tensor, Tensor] = max_pool1d(input, kernel_size, step, padding, dilation, ceil_mode, return_indices=True)
    return found


def _sampled(name: str, dims: int, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
             ) -> Tensor:
    if input.ndim != dims + 2 or grid.ndim != dims + 2:
        raise RuntimeError(f"{name}: expected input and grid of {dims + 2} dimensions, got {input.ndim} and {grid.ndim}")
    return grid_sample(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`nn.functional.grid_sample` of images: modes by numbers, 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2
    reflection.

    >>> grid = lucid.tensor([[[[-1.0, -1.0]]]])
    >>> lucid.grid_sampler_2d(lucid.arange(4.0).reshape(1, 1, 2, 2), grid, 0, 0, True)
    Tensor([[[[0.0]]]], requires_grad=False)
    """
    return _sampled("grid_sampler_2d", 2, input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`nn.functional.grid_sample` of volumes; numbers as of `grid_sampler_2d`.

    >>> grid = lucid.full((1, 1, 1, 1, 3), -1.0)
    >>> lucid.grid_sampler_3d(lucid.arange(8.0).reshape(1, 1, 2, 2, 2), grid, 0, 0, True).item()
    0.0
    """
    return _sampled("grid_sampler_3d", 3, input, grid, interpolation_mode, padding_mode, align_corners)


def _narrowed(gradient: Tensor, grad_output: Tensor, input_dtype: Any) -> Tensor:
    """In `input_dtype` on a GPU and where a half was widened, else in the dtype of `grad_output`."""
    narrow = grad_output.is_gpu or (grad_output.dtype.itemsize == 4 and _dtypes.as_dtype(input_dtype).itemsize == 2)
    return gradient.to(input_dtype if narrow else grad_output.dtype)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of `softmax` along `dim`, from its result.

    >>> y = lucid.tensor([0.5, 0.5])
    >>> lucid._softmax_backward_data(lucid.tensor([1.0, 0.0]), y, 0, lucid.float32)
    Tensor([ 0.25, -0.25], requires_grad=False)
    """
    weighted = grad_output * output
    return _narrowed(weighted - output * weighted.sum(dim, keepdim=True), grad_output, input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of `log_softmax` along `dim`, from its result.

    >>> y = lucid.tensor([0.5, 0.5]).log()
    >>> lucid._log_softmax_backward_data(lucid.tensor([1.0, 0.0]), y, 0, lucid.float32)
    Tensor([ 0.5, -0.5], requires_grad=False)
    """
    return _narrowed(grad_output - output.exp() * grad_output.sum(dim, keepdim=True), grad_output, input_dtype)
