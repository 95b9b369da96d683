"""Neighbours in a Sequential that are computed together, because nobody sees the tensor between them.

Values, gradients and statistics are those of the modules one after the other. It pays by memory traffic: batch normalisation
with ReLU moves a tensor a third as often, and max pooling applies ReLU, and its gradient, to the maxima only.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ...ops.pooling import relu_max_pool2d
from ...tensor import Tensor
from .. import functional as F
from ._global_hooks import around_calls
from .activation import ReLU
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .pooling import AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, MaxPool1d, MaxPool2d, MaxPool3d

_BATCH_NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d)
_MAX_POOLS = (MaxPool1d, MaxPool2d, MaxPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d)
# What returns a tensor that nobody else has.
_MAKERS = (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Linear)
# As the classes define it: one that is replaced, for a test or a tracer, must be called.
_FORWARDS = {kind: kind.forward for kind in (ReLU, *_BATCH_NORMS, *_MAX_POOLS, *_MAKERS)}
_FIRST = frozenset((ReLU, *_BATCH_NORMS))
_CALL = Module.__call__


def _batch_norm_relu(norm: Any, relu: ReLU, input: Tensor) -> Tensor:
    result: Tensor = norm._normalized(F.batch_norm_relu, input)
    return result


def _relu_max_pool(relu: ReLU, pool: Any, input: Any) -> Any:
    """ReLU commutes with the maximum. Where a window has no positive element neither order passes a gradient."""
    if not isinstance(input, Tensor) or not input.is_floating_point():
        return pool(relu(input))
    if type(pool) is MaxPool2d:
        return relu_max_pool2d(input, pool.kernel_size, pool.stride, pool.padding, pool.ceil_mode)
    return relu(pool(input))


def _is_plain(module: Module) -> bool:
    """Whether calling `module` is what its class says and nothing else: no hook, no other `forward`."""
    state, kind = module.__dict__, type(module)
    return not (state["_forward_hooks"] or state["_forward_pre_hooks"] or state["_backward_hooks"]
                or state["_backward_pre_hooks"] or "forward" in state
                or kind.forward is not _FORWARDS[kind] or kind.__call__ is not _CALL)  # type: ignore[index]


def _together(first: Any, second: Any, unseen: bool) -> Callable[[Any, Any, Any], Any] | None:
    """What computes ``second(first(input))`` in another way, or None. The type of `first` is one of `_FIRST`.

    `unseen` says that nobody else has the input.
    """
    function: Callable[[Any, Any, Any], Any]
    if type(first) is ReLU:
        # In place it changes its input. Dilated windows can lie in the padding, whose -inf it must not see.
        if (type(second) not in _MAX_POOLS or (first.inplace and not unseen) or second.return_indices
                or getattr(second, "dilation", 1) not in (1, (1,), (1, 1), (1, 1, 1))):
            return None
        function = _relu_max_pool
    elif type(second) is ReLU:
        function = _batch_norm_relu
    else:
        return None
    return function if not around_calls and _is_plain(first) and _is_plain(second) else None


def steps(modules: Iterable[Module]) -> Iterator[Callable[[Any], Any]]:
    """The modules in their order, two that are computed together as one step."""
    waiting, unseen = None, False
    for module in modules:
        if waiting is not None:
            function = _together(waiting, module, unseen)
            unseen = False
            if function is not None:
                yield partial(function, waiting, module)
                waiting = None
                continue
            yield waiting
        waiting = module if type(module) in _FIRST else None
        if waiting is None:
            unseen = type(module) in _MAKERS and not around_calls and _is_plain(module)
            yield module
    if waiting is not None:
        yield waiting
