"""Transforms between vectors and vectors of probabilities."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from .base import Transform
from .elementwise import clipped_sigmoid

_pad, _logsigmoid = lucid.nn.functional.pad, lucid.nn.functional.logsigmoid


class SoftmaxTransform(Transform):
    """The softmax of vectors. Not bijective: `inv` gives logarithms. For transforming parameters, coordinate by coordinate.

    >>> lucid.distributions.SoftmaxTransform()(lucid.tensor([0.0, 0.0]))
    Tensor([0.5, 0.5], requires_grad=False)
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return lucid.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors (..., N - 1) to probabilities (..., N): each element says which part of what is left of a stick breaks off.

    >>> lucid.distributions.StickBreakingTransform()(lucid.tensor([0.0, 0.0])).sum().round(decimals=4)
    Tensor(1.0, requires_grad=False)
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = None

    @staticmethod
    def _offsets(x: Tensor) -> Tensor:
        """The logarithms of how many pieces follow, so that zeros give equal pieces."""
        count = x.shape[-1]
        return lucid.arange(count, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        parts = clipped_sigmoid(x - self._offsets(x))
        return _pad(parts, [0, 1], value=1) * _pad((1 - parts).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        pieces = y[..., :-1]
        # What is left may have been rounded to a negative number.
        left = (1 - pieces.cumsum(-1)).clamp(min=lucid.finfo(y.dtype).tiny)
        return pieces.log() - left.log() + self._offsets(pieces)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offsets(x)
        return (-x + _logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))
