"""Neighbours in a Sequential that are computed together, because nobody sees the tensor between them.

Values, gradients and statistics are those of the modules one after the other. It pays by memory traffic: batch normalisation
with ReLU moves a tensor a third as often, convolution and linear layers apply ReLU to what they write, and max pooling applies
ReLU, and its gradient, to the maxima only.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ...ops.nn.activation import relu_that_saves_its_input
from ...ops.nn.convolution import convolution_relu
from ...ops.nn.linear_activation import fit, linear_activation, perceptron
from ...ops.nn.pooling import relu_max_pool2d
from ...tensor import Tensor
from .. import functional as F
from ..parameter import Parameter
from .activation import GELU, ReLU
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
_FORWARDS = {kind: kind.forward for kind in (ReLU, GELU, *_BATCH_NORMS, *_MAX_POOLS, *_MAKERS)}
_CALL = Module.__call__


def _batch_norm_relu(norm: Any, relu: ReLU, input: Tensor) -> Tensor:
    result: Tensor = norm._normalized(F.batch_norm_relu, input)
    return result


def _convolution_relu(convolution: Any, relu: ReLU, input: Any) -> Any:
    if not isinstance(input, Tensor) or not input.is_floating_point():
        return relu(convolution(input))
    function = partial(convolution_relu, convolution._dims)
    return convolution._conv_forward(input, *convolution._tensors("weight", "bias"), function)


def _linear_activation(linear: Any, activation: Any, input: Any) -> Any:
    """On a GPU alone, where the product does it."""
    weight, bias = linear._tensors("weight", "bias")
    if not _is_usual(input, weight, bias):
        return activation(linear(input))
    return linear_activation(input, weight, bias, _name(activation))


def _perceptron(first: Any, activation: Any, second: Any, input: Any) -> Any:
    """Likewise, and the gradient of the second layer does that of the activation."""
    weight, bias = first._tensors("weight", "bias")
    weight2, bias2 = second._tensors("weight", "bias")
    if not (_is_usual(input, weight, bias) and type(weight2) is type(bias2) is Parameter
            and fit(weight.shape[0], weight2, bias2, input)):
        return second(_linear_activation(first, activation, input))
    return perceptron(input, weight, bias, weight2, bias2, _name(activation))


def _name(activation: Module) -> str:
    return "relu" if type(activation) is ReLU else "gelu"


def _is_usual(input: Any, weight: Any, bias: Any) -> bool:
    """Whether a product on a GPU may do the activation of a linear layer: parameters and an input of one dtype that fit."""
    return (type(input) is Tensor and type(weight) is type(bias) is Parameter and bool(input.is_gpu)
            and input.is_floating_point() and input.ndim > 1 and fit(input.shape[-1], weight, bias, input))


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
    """A fused kernel for ``second(first(input))``, or None. `first` is ReLU, batch normalisation, a convolution or linear."""
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
    elif type(first) is Linear and (type(second) is ReLU or (type(second) is GELU and second.approximate == "tanh")):
        function = _linear_activation
    else:
        return None
    return function if not around_calls and _is_plain(first) and _is_plain(second) else None


def _is_perceptron(row: Sequence[Module]) -> bool:
    """Whether the third of these modules is a linear layer that no activation follows, which would be its."""
    return len(row) > 2 and type(row[2]) is Linear and _is_plain(row[2]) and (
        len(row) == 3 or _two(None, *row[2:]) is not _linear_activation)


def steps(modules: Iterable[Module]) -> Iterator[Callable[[Any], Any]]:
    """The modules in their order, two or three that are computed together as one step."""
    row, at = tuple(modules), 0
    while at < len(row):
        step: Callable[[Any], Any] = row[at]
        pair = row[at : at + 2]
        function = _two(row[at - 1] if at else None, *pair) if len(pair) == 2 else None
        if function in (_convolution_relu, _linear_activation) and at + 2 < len(row) and _two(*row[at : at + 3]):
            function = None  # ReLU of the maxima only is less work
        if function is _linear_activation and _is_perceptron(row[at : at + 4]):
            step, at = partial(_perceptron, *row[at : at + 3]), at + 2
        elif function is not None:
            step, at = partial(function, *pair), at + 1
        yield step
        at += 1
