"""Neighbours in a Sequential that are computed together, because nobody sees the tensor between them.

Values, gradients and statistics are those of the modules one after the other. It pays by memory traffic: batch normalisation
with ReLU moves a tensor a third as often, convolution applies ReLU to what it writes, and max pooling applies ReLU, and its
gradient, to the maxima only.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ...ops.nn.activation import relu_that_saves_its_input
from ...ops.nn.convolution import convolution_relu
from ...ops.nn.pooling import relu_max_pool2d
from ...tensor import Tensor
from .. import functional as F
from .activation import ReLU
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .module.global_hooks import around_calls
from .pooling import AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, MaxPool1d, MaxPool2d, MaxPool3d

_BATCH_NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d)
_CONVOLUTIONS = (Conv1d, Conv2d, Conv3d)
_MAX_POOLS = (MaxPool1d, MaxPool2d, MaxPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d)
# What returns a tensor that nobody else has.
_MAKERS = (*_CONVOLUTIONS, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Linear)
# As the classes define it: one that is replaced, for a test or a tracer, must be called.
_FORWARDS = {kind: kind.forward for kind in (ReLU, *_BATCH_NORMS, *_MAX_POOLS, *_MAKERS)}
_CALL = Module.__call__


def _batch_norm_relu(norm: Any, relu: ReLU, input: Tensor) -> Tensor:
    result: Tensor = norm._normalized(F.batch_norm_relu, input)
    return result


def _convolution_relu(convolution: Any, relu: ReLU, input: Any) -> Any:
    if not isinstance(input, Tensor) or not input.is_floating_point():
        return relu(convolution(input))
    function = partial(convolution_relu, convolution._dims)
    return convolution._conv_forward(input, *convolution._tensors("weight", "bias"), function)


def _relu_max_pool(relu: ReLU, pool: Any, input: Any) -> Any:
    """ReLU commutes with the maximum. Where a window has no positive element neither order passes a gradient."""
    if not isinstance(input, Tensor) or not input.is_floating_point():
        return pool(relu(input))
    if type(pool) is MaxPool2d:
        return relu_max_pool2d(input, pool.kernel_size, pool.stride, pool.padding, pool.ceil_mode)
    return relu_that_saves_its_input(pool(input))


def _is_plain(module: Module) -> bool:
    """Whether calling `module` is what its class says and nothing else: no hook, no other `forward`."""
    state, kind = module.__dict__, type(module)
    return not (state["_forward_hooks"] or state["_forward_pre_hooks"] or state["_backward_hooks"]
                or state["_backward_pre_hooks"] or "forward" in state
                or kind.forward is not _FORWARDS[kind] or kind.__call__ is not _CALL)  # type: ignore[index]


def _without_gaps(pool: Any) -> bool:
    """Whether only maxima are wanted, and no window can lie in the padding, whose -inf ReLU must not see."""
    return not pool.return_indices and getattr(pool, "dilation", 1) in (1, (1,), (1, 1), (1, 1, 1))


def _makes(before: Module | None) -> bool:
    """Whether nobody else has what the module returns."""
    return before is not None and type(before) in _MAKERS and _is_plain(before)


def _two(before: Module | None, first: Any, second: Any) -> Callable[[Any, Any, Any], Any] | None:
    """A fused kernel for ``second(first(input))``, or None. `first` is ReLU, batch normalisation or a convolution."""
    function: Callable[[Any, Any, Any], Any]
    if type(first) is ReLU:
        # In place it would change a tensor that others may hold.
        if type(second) not in _MAX_POOLS or not _without_gaps(second) or (first.inplace and not _makes(before)):
            return None
        function = _relu_max_pool
    elif type(first) in _BATCH_NORMS and type(second) is ReLU:
        function = _batch_norm_relu
    elif type(first) in _CONVOLUTIONS and type(second) is ReLU:
        function = _convolution_relu
    else:
        return None
    return function if not around_calls and _is_plain(first) and _is_plain(second) else None


def steps(modules: Iterable[Module]) -> Iterator[Callable[[Any], Any]]:
    """The modules in their order, two that are computed together as one step."""
    row, at = tuple(modules), 0
    while at < len(row):
        step: Callable[[Any], Any] = row[at]
        pair = row[at : at + 2]
        function = _two(row[at - 1] if at else None, *pair) if len(pair) == 2 else None
        if function is _convolution_relu and at + 2 < len(row) and _two(*row[at : at + 3]):
            function = None  # ReLU of the maxima only is less work
        if function is not None:
            step, at = partial(function, *pair), at + 1
        yield step
        at += 1
