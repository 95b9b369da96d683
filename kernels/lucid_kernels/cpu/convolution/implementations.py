"""Which implementation computes a convolution or its gradients: lists by preference, of `why_not` and what computes it."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..arrays.layout import Array, contiguous
from ..arrays.window import Window
from ..reduction import reduction
from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.implementations import Implementations, anything, unmet
from . import gemm, patch_embedding
from .depthwise import channels, images, planes, selection
from .depthwise import volumes as depthwise_volumes
from .dilation_bands import valid_rows
from .direct import few_outputs, grad_input_strided, outer_grad_weight, parts
from .direct import forward as direct
from .direct import grad_weight as direct_grad_weight
from .direct import volumes as direct_volumes
from .pointwise import forward as pointwise
from .pointwise import grad_weight as pointwise_grad_weight
from .problem import Problem, image_problem
from .winograd import dilated as winograd_dilated
from .winograd import forward as winograd
from .winograd import grad_weight as winograd_grad_weight
from .winograd import volumes as winograd_volumes

# ``convolve(x, weight, bias, window, y, groups)``
FORWARD = Implementations(
    gemm=(gemm.why_not, gemm.convolve),
    patch_embedding=(patch_embedding.why_not, patch_embedding.convolve),
    depthwise_channels=(selection.channels_forward_why_not, partial(images.convolve, channels)),
    depthwise_planes=(selection.planes_forward_why_not, partial(images.convolve, planes)),
    winograd=(winograd.forward_why_not, winograd.convolve),
    winograd_dilated=(winograd_dilated.why_not, winograd_dilated.convolve),
    pointwise=(pointwise.why_not, pointwise.convolve),
    few_outputs=(few_outputs.why_not, few_outputs.convolve),
    direct=(anything, direct.convolve),
)

# ``grad_input(g, weight, window, dx, groups)``
GRAD_INPUT = Implementations(
    gemm=(gemm.grad_input_why_not, gemm.grad_input),
    patch_embedding=(patch_embedding.why_not, patch_embedding.grad_input),
    depthwise_channels=(selection.channels_grad_input_why_not, partial(images.grad_input, channels)),
    depthwise_planes=(selection.planes_grad_input_why_not, partial(images.grad_input, planes)),
    winograd=(winograd.why_not, winograd.grad_input),
    winograd_dilated=(winograd_dilated.why_not, winograd_dilated.grad_input),
    pointwise=(pointwise.grad_input_why_not, pointwise.grad_input),
    few_outputs=(few_outputs.grad_input_why_not, few_outputs.grad_input),
    direct=(parts.gradient_why_not, direct.grad_input),
    grad_input_strided=(anything, grad_input_strided.grad_input_strided),
)


def _and_sums(grad_weight: Callable[..., None]) -> Callable[..., None]:
    """`grad_weight`, and the gradient of the bias unless that is None."""
    def run(g: Array, x: Array, window: Window, dweight: Array, dbias: Array | None, groups: int) -> None:
        grad_weight(g, x, window, dweight, groups)
        if dbias is not None:
            _sum_channels(g, dbias)

    return run


def _sum_channels(g: Array, dbias: Array) -> None:
    """Fill dbias (O,) with the sums of g (N, O, OH, OW)."""
    samples, channels, height, width = g.shape
    planes = g.reshape(samples, channels, height * width)
    view = reduction.view_of(planes, 2)
    if g.size < tuning.PARALLEL_FROM or view is None:
        planes.sum((0, 2), out=dbias)
    else:
        dbias[:] = reduction.total(planes, view).reshape(samples, channels).sum(0)


def _bands_why_not(problem: Problem) -> str | None:
    return unmet((bool(valid_rows(problem.window, problem.height)), "no rows of taps that meet much padding"))


def _grad_weight_by_rows(g: Array, x: Array, window: Window, dweight: Array, groups: int) -> None:
    """Each row of taps with the rows of g in which it meets pixels."""
    for band in valid_rows(window, x.shape[2]):
        part, rows = empty((*dweight.shape[:2], 1, window.kw), dweight.dtype), contiguous(g[:, :, band.top : band.bottom])
        single = band.window(window)
        problem = image_problem(x.shape, g.shape[1], groups, single, x.itemsize)
        GRAD_WEIGHT.choose(problem).run(rows, x, single, part, None, groups)
        dweight[:, :, band.first : band.last] = part


# ``grad_weight(g, x, window, dweight, dbias, groups)``
GRAD_WEIGHT = Implementations(
    gemm=(gemm.grad_weight_why_not, _and_sums(gemm.grad_weight)),
    patch_embedding=(patch_embedding.why_not, _and_sums(patch_embedding.grad_weight)),
    depthwise_channels=(selection.channels_grad_weight_why_not, _and_sums(channels.grad_weight)),
    depthwise_planes=(selection.planes_grad_weight_why_not, _and_sums(planes.grad_weight)),
    pointwise=(pointwise_grad_weight.why_not, _and_sums(pointwise_grad_weight.grad_weight)),
    winograd=(winograd.why_not, winograd_grad_weight.grad_weight),
    winograd_dilated=(winograd_dilated.why_not, winograd_dilated.grad_weight),
    outer_grad_weight=(outer_grad_weight.why_not, _and_sums(outer_grad_weight.grad_weight)),
    dilation_bands=(_bands_why_not, _and_sums(_grad_weight_by_rows)),
    direct=(anything, direct_grad_weight.grad_weight),
)


def _stacked(*arguments: Any) -> None:
    """Slices are stacked as the channels of images, by the caller."""


# ``convolve(x, weight, bias, stride, padding, dilation, groups)`` and so on, which return their result.
VOLUME_FORWARD = Implementations(
    depthwise_channels=(selection.channels_forward_why_not, partial(depthwise_volumes.convolve, channels)),
    depthwise_planes=(selection.planes_forward_why_not, partial(depthwise_volumes.convolve, planes)),
    winograd=(winograd_volumes.forward_why_not, winograd_volumes.convolve),
    direct=(direct_volumes.why_not, direct_volumes.convolve),
    stacked=(anything, _stacked),
)
VOLUME_GRAD_INPUT = Implementations(
    depthwise_channels=(selection.channels_grad_input_why_not, partial(depthwise_volumes.grad_input, channels)),
    depthwise_planes=(selection.planes_grad_input_why_not, partial(depthwise_volumes.grad_input, planes)),
    winograd=(winograd_volumes.why_not, winograd_volumes.grad_input),
    direct=(direct_volumes.grad_input_why_not, direct_volumes.grad_input),
    stacked=(anything, _stacked),
)
VOLUME_GRAD_WEIGHT = Implementations(
    winograd=(winograd_volumes.why_not, winograd_volumes.grad_weight),
    direct=(direct_volumes.grad_weight_why_not, direct_volumes.grad_weight),
    stacked=(anything, _stacked),
)
