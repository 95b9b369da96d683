"""Maxima of windows at random distances: fractional max pooling."""
from __future__ import annotations

import math
from typing import Any, Literal, overload

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import canonical_dim, require_tensor
from ..creation.creation import arange
from ..indexing.gather_scatter import gather_op
from ..manipulation.joining import cat
from ..random.random import rand

__all__ = ()  # functions of nn.functional only
_LENGTHS = ("time", "height", "width")


@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: Literal[False] = False,
                          _random_samples: Tensor | None = None) -> Tensor: ...


@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, *,
                          return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]: ...


@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Tensor | None = None) -> Any: ...


def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """The maxima of `output_size` windows of `kernel_size` in planes (N, C, H, W) or (C, H, W), at distances of one or another
    whole number that random numbers decide; all channels have their own.

    `output_ratio`, a tuple, gives the size as a part of that of the input. `_random_samples` (N, C, 2), of the dtype of `input`,
    are values from 0 to 1 for the width and the height. With `return_indices` also the indices in the flattened planes, int64.
    Differentiable any number of times.

    Raises ValueError where no size is given, RuntimeError for sizes that do not fit, NotImplementedError for integers.
    Source: Graham, "Fractional max-pooling", 2014.

    >>> F.fractional_max_pool2d(lucid.randn(1, 3, 8, 8), 2, output_size=5).shape
    lucid.Size([1, 3, 5, 5])
    """
    if output_size is None and output_ratio is not None and len(output_ratio) > 2:
        raise ValueError("fractional_max_pool2d requires output_ratio to either be a single Int or tuple of Ints.")
    return _pool("fractional_max_pool2d", input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: Literal[False] = False,
                          _random_samples: Tensor | None = None) -> Tensor: ...


@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, *,
                          return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]: ...


@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Tensor | None = None) -> Any: ...


def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """`fractional_max_pool2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W). `_random_samples` (N, C, 3) are
    for the depth, the height and the width.

    >>> F.fractional_max_pool3d(lucid.randn(1, 3, 8, 8, 8), 2, output_size=5).shape
    lucid.Size([1, 3, 5, 5, 5])
    """
    return _pool("fractional_max_pool3d", input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)


def _pool(function: str, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool,
          samples: Tensor | None, count: int) -> Any:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{function} requires specifying either an output_size or an output_ratio")
    shape = require_tensor(function, input)._array.shape
    canonical_dim(-count - 1, len(shape))
    if len(shape) > count + 2:
        raise RuntimeError(f"{function}(): Expected {count + 1}D or {count + 2}D tensor, but got: {list(shape)}")
    lead, channels, lengths = shape[:-count - 1], shape[-count - 1], shape[-count:]
    if output_size is None:
        ratios = _values(function, "output_ratio", output_ratio, count)
        output_size = tuple(int(n * ratio) for n, ratio in zip(lengths, ratios, strict=True))
    kernel, size = (_values(function, name, value, count) for name, value in (("kernel_size", kernel_size),
                                                                                ("output_size", output_size)))
    for name, n, k, wanted in zip(_LENGTHS[-count:], lengths, kernel, size, strict=True):
        if wanted + k - 1 > n - (count == 3):  # PyTorch's bound of volumes is one less
            raise RuntimeError(f"{function}(): pool {name} {k} too large relative to input {name} {n}")
    if 0 in (channels, *lengths):
        raise RuntimeError(f"{function}(): Expected input to have non-zero size for non-batch dimensions, but got "
                           f"{list(shape)}")
    if not _dtypes.is_floating(input._array.dtype):
        raise NotImplementedError(f"\"{function}\" not implemented for '{type_name(input.dtype)}'")
    batch = lead[0] if lead else 1
    if samples is None:
        samples = rand(batch, channels, count, dtype=input.dtype, device=input.device)
    _check_samples(samples, input, batch, channels, count)
    planes = batch * channels
    y, indices = _maxima(input.reshape(planes, *lengths), kernel, size, samples.detach()[:batch].reshape(planes, count))
    y, indices = (found.reshape(*lead, channels, *size) for found in (y, indices))
    return (y, indices) if return_indices else y


def _values(function: str, name: str, value: Any, count: int) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(values) != count:
        raise RuntimeError(f"{function}: {name} must either be a single Int or tuple of Ints")
    return values


def _check_samples(samples: Tensor, input: Tensor, batch: int, channels: int, count: int) -> None:
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    found = samples._array.shape
    if found[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if found[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if found[2] != count:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {count}; got {found[2]}.")


_fractional_max_indices = operation("fractional_max_indices")


def _maxima(x: Tensor, kernel: tuple[int, ...], size: tuple[int, ...], samples: Tensor) -> tuple[Tensor, Tensor]:
    """The maxima (N, number) of windows of x (N, D, H, W) or (N, H, W), and their indices, for samples (N, dimensions)."""
    if 0 in (x._array.shape[0], *size):
        shape = (x._array.shape[0], math.prod(size))
        return x.new_empty(shape), x.new_empty(shape, dtype=_dtypes.int64)
    # The samples of images are for the width first, those of volumes for the depth: as in PyTorch.
    columns = reversed(range(2)) if len(size) == 2 else range(3)
    starts = [_starts(samples[:, column], n - k, wanted)
              for column, n, k, wanted in zip(columns, x._array.shape[1:], kernel, size, strict=True)]
    indices = _fractional_max_indices(x.detach(), *starts, kernel=kernel)
    return gather_op(x.reshape(x._array.shape[0], math.prod(x._array.shape[1:])), indices, axis=1), indices


def _starts(samples: Tensor, last: int, wanted: int) -> Tensor:
    """Where the windows (N, wanted) begin: the last at `last`, the others by steps that the sample of a channel shifts."""
    ends = samples.new_full((*samples._array.shape, 1), last).long()
    if wanted == 1:
        return ends
    step, samples = last / (wanted - 1), samples.unsqueeze(-1)
    steps = arange(wanted - 1, dtype=samples.dtype, device=samples.device)
    return cat([((steps + samples) * step).long() - (samples * step).long(), ends], -1)
