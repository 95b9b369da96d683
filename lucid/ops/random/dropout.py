"""Dropout. The kernel draws its random numbers from a counter, so the gradient is the same operation with the same counter,
and no mask is kept.
"""
from __future__ import annotations

import math
import warnings
from typing import Any

from ... import _dtypes, _random
from ..._namespace.callers import stacklevel
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import LEVELS
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.inplace import write
from ...tensor import Tensor
from .._operands import require_tensor
from ..conversion import real
from ..creation.creation import ones_like

__all__ = ("dropout",)

#: Dropout of the elements that a draw hits.
dropped: Any = single_op("dropout", lambda needs, x, **draw: lambda g, y: (dropped(g, **draw),))


def draw(like: Tensor, size: int, p: float) -> dict[str, Any]:
    """The attributes of a draw for `size` elements, four random numbers to a block of the counter; where `like` is on the device
    'meta', it takes none.
    """
    seed, offset = (0, 0) if like.is_meta else _random.default_generator.take(-(-size // 4), like.is_cuda)
    return {"p": float(p), "seed": seed, "offset": offset}


def _drop(input: Tensor, p: float) -> Tensor:
    dtype = input._array.dtype
    if dtype.kind in "biu":
        if p < 1:
            raise RuntimeError(f"result type Float can't be cast to the desired output type {type_name(dtype)}")
        return input * 0 if dtype.kind != "b" else input & False
    if not _dtypes.is_floating(dtype) or grad_mode.get() & LEVELS:  # a mask, which other levels can keep
        return input * dropped(ones_like(real(input.detach())), **draw(input, input._array.size, p))
    return dropped(input, **draw(input, input._array.size, p))


def _drop_features(input: Tensor, p: float) -> Tensor:
    """Zero whole slices ``input[n, c]``."""
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    kept = input.detach().new_ones(shape[:2] + (1,) * (len(shape) - 2))
    return input * dropped(kept, **draw(kept, kept._array.size, p))


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each element of `input` with probability `p` and multiply the others by ``1 / (1 - p)``.

    The random numbers come from the default generator and are the same on every device. Not in training, and for a probability
    of 0, which draws nothing, `input` itself.
    Raises ValueError for a probability outside [0, 1] and RuntimeError for integers.

    Source: Srivastava et al., "Dropout", 2014.

    >>> x = lucid.ones(1000)
    >>> F.dropout(x, p=0.5).unique()
    Tensor([0.0, 2.0], requires_grad=False)
    >>> lucid.equal(F.dropout(x, p=0.5, training=False), x)
    True
    """
    _check(p)
    require_tensor("dropout", input)
    if not training or not p or input._array.size == 0:
        return input
    return write(input, lambda old: _drop(old, p)) if inplace else _drop(input, p)


def feature_dropout(input: Tensor, p: float, training: bool, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels ``input[n, c]``, of any number of dimensions from 2."""
    if not training or not p or input._array.size == 0:
        return input
    return write(input, lambda old: _drop_features(old, p)) if inplace else _drop_features(input, p)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of an input (N, C, L) or (C, L).

    >>> y = F.dropout1d(lucid.ones(1, 8, 4))
    >>> y.unique(), y.amax(2).equal(y.amin(2))  # whole channels
    (Tensor([0.0, 2.0], requires_grad=False), True)
    """
    _check(p)
    ndim = require_tensor("dropout1d", input)._array.ndim
    if ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to "
                           "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
                           "optional batch dimension (i.e. 2D or 3D inputs).")
    if ndim == 2:
        result = feature_dropout(input.unsqueeze(0), p, training, inplace)
        return input if inplace else result.squeeze(0)
    return feature_dropout(input, p, training, inplace)


def _warn_of_dimensions(name: str, ndim: int) -> None:
    warnings.warn(f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
                  "release. To retain the behavior and silence this warning, please use dropout instead.",
                  stacklevel=stacklevel())


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of an input (N, C, H, W). A 3-d input counts as (N, C, L), with a warning, as in PyTorch.

    >>> y = F.dropout2d(lucid.ones(1, 8, 4, 4))
    >>> y.unique(), y.amax((2, 3)).equal(y.amin((2, 3)))  # whole channels
    (Tensor([0.0, 2.0], requires_grad=False), True)
    """
    _check(p)
    ndim = require_tensor("dropout2d", input)._array.ndim
    if ndim not in (3, 4):
        _warn_of_dimensions("dropout2d", ndim)
    if ndim == 3:
        warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                      "desired - input is interpreted as shape (N, C, L), where C is the channel dim. To maintain the 1D "
                      "channel-wise dropout behavior, please switch to using dropout1d instead.", stacklevel=stacklevel())
    return feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of an input (N, C, D, H, W) or (C, D, H, W).

    >>> y = F.dropout3d(lucid.ones(1, 8, 2, 2, 2))
    >>> y.unique(), y.amax((2, 3, 4)).equal(y.amin((2, 3, 4)))  # whole channels
    (Tensor([0.0, 2.0], requires_grad=False), True)
    """
    _check(p)
    ndim = require_tensor("dropout3d", input)._array.ndim
    if ndim not in (4, 5):
        _warn_of_dimensions("dropout3d", ndim)
    if ndim == 4:
        result = feature_dropout(input.unsqueeze(0), p, training, inplace)
        return input if inplace else result.squeeze(0)
    return feature_dropout(input, p, training, inplace)


# The value that units of a self-normalising network have far below 0: -scale * alpha of `selu`.
_ALPHA = -1.7580993408473766


def _alpha_drop(input: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    """Set elements (one decision for each of `shape`, which broadcasts) to `_ALPHA`, and keep mean 0 and variance 1."""
    if p == 1:
        return input * 0
    kept = input.detach().new_ones(shape)
    mask = (dropped(kept, **draw(kept, kept._array.size, p)) != 0).to(input.dtype)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _ALPHA * _ALPHA))
    return (input * mask + (1 - mask) * _ALPHA) * scale - scale * _ALPHA * p


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for `selu`: elements get its most negative value, and mean and variance stay as they are.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    >>> y = F.alpha_dropout(lucid.randn(10000), p=0.5, training=True)
    >>> bool(y.mean().abs() < 0.1), bool((y.std() - 1).abs() < 0.1)
    (True, True)
    """
    _check(p)
    shape = require_tensor("alpha_dropout", input)._array.shape
    if not training or not p or input._array.size == 0:
        return input
    return write(input, lambda old: _alpha_drop(old, p, shape)) if inplace else _alpha_drop(input, p, shape)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels ``input[n, c]``.

    >>> y = F.feature_alpha_dropout(lucid.randn(1, 6, 20), training=True)
    >>> [channel.unique().numel() for channel in y[0]]  # of a channel that is dropped, 1
    [1, 20, 1, 20, 20, 20]
    """
    _check(p)
    shape = require_tensor("feature_alpha_dropout", input)._array.shape
    if not training or not p or input._array.size == 0:
        return input
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    channels = shape[:2] + (1,) * (len(shape) - 2)
    return write(input, lambda old: _alpha_drop(old, p, channels)) if inplace else _alpha_drop(input, p, channels)
