"""Checks of the arguments of convolutions of any dimension: sizes for each dimension, shapes, dtypes, paddings."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import require_tensor

Sizes = tuple[int, ...]


class Geometry(NamedTuple):
    """How the kernel moves over the input: one number for each dimension, and the groups."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int


def per_dimension(name: str, value: Any, count: int) -> Sizes:
    """An integer, or a sequence of one or `count`, as `count` integers. Raises RuntimeError for other sequences."""
    if value.__class__ is int:
        return (value,) * count
    if not isinstance(value, (tuple, list)):
        return (int(value),) * count
    if len(value) not in (1, count):
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {count} values to match the "
                           f"convolution dimensions, but got {name}={list(value)}")
    return tuple(map(int, value)) * (count // len(value))


def require_operands(name: str, input: Tensor, weight: Tensor, bias: Tensor | None, count: int) -> None:
    """Raise unless these are tensors of one dtype with the dimensions of a convolution over `count` of them."""
    x, w = require_tensor(name, input)._array, require_tensor(name, weight)._array
    if not count < x.ndim <= count + 2:
        raise RuntimeError(f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of "
                           f"size: {list(x.shape)}")
    if w.ndim != count + 2:
        raise RuntimeError(f"{name} expects a weight of {count + 2} dimensions, but got {list(w.shape)}")
    for role, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._array.dtype != x.dtype:
            raise RuntimeError(f"Input type ({type_name(input.dtype)}) and {role} type ({type_name(tensor.dtype)}) should "
                               "be the same")


def geometry_of(stride: Any, padding: Any, dilation: Any, groups: int, count: int) -> tuple[Geometry, bool]:
    """The arguments for `count` dimensions, and whether the padding is 'same', whose lengths are zeros here.

    Raises RuntimeError for strides and lengths that no convolution has and for unknown strings.
    """
    try:
        return _geometry_of_integers(stride, padding, dilation, groups, count)
    except TypeError:  # lists, and integers of other types; an error of theirs is not one of handling this one
        pass
    return _geometry_of(stride, padding, dilation, groups, count)


@functools.lru_cache(maxsize=256)  # a fifth of the time around the kernel of a small layer
def _geometry_of_integers(stride: Any, padding: Any, dilation: Any, groups: int, count: int) -> tuple[Geometry, bool]:
    """`geometry_of`. Raises TypeError for what may change its value, such as a tensor."""
    for value in (stride, padding, dilation, groups):
        if any(number.__class__ not in (int, str) for number in (value if value.__class__ is tuple else (value,))):
            raise TypeError("not an integer")
    return _geometry_of(stride, padding, dilation, groups, count)


def _geometry_of(stride: Any, padding: Any, dilation: Any, groups: int, count: int) -> tuple[Geometry, bool]:
    same = padding == "same"
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        padding = 0
    geometry = Geometry(per_dimension("stride", stride, count), per_dimension("padding", padding, count),
                        per_dimension("dilation", dilation, count), int(groups))
    if same and geometry.stride != (1,) * count:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    if min(geometry.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    for name, smallest in (("stride", min(geometry.stride)), ("dilation", min(geometry.dilation)), ("groups", geometry.groups)):
        if smallest <= 0:
            raise RuntimeError(f"non-positive {name} is not supported")
    return geometry, same


@functools.lru_cache(maxsize=256)  # pure, as is `check_sizes`, and a fifth of a small layer's time
def check_channels(shape: Sizes, kernel: Sizes, bias: Sizes | None, groups: int, transposed: bool) -> None:
    """Raise RuntimeError unless a weight of shape `kernel` fits the channels of an input of `shape`, and one of `bias` both."""
    if kernel[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight "
                           f"of size {list(kernel)} instead")
    if kernel[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
                           f"weight of size [{list(kernel)}] instead")
    channels = shape[1 - len(kernel)]
    given = "transposed=1" if transposed else f"groups={groups}"
    expected, results = (kernel[0], kernel[1] * groups) if transposed else (kernel[1] * groups, kernel[0])
    if channels != expected:
        raise RuntimeError(f"Given {given}, weight of size {list(kernel)}, expected input{list(shape)} to have {expected} "
                           f"channels, but got {channels} channels instead")
    if bias is not None and bias != (results,):
        given = "transposed=1, " if transposed else ""
        raise RuntimeError(f"Given {given}weight of size {list(kernel)}, expected bias to be 1-dimensional with {results} "
                           f"elements, but got bias of size {list(bias)} instead")
    if 0 in kernel[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel[2:])}")


@functools.lru_cache(maxsize=256)
def check_sizes(shape: Sizes, kernel: Sizes, geometry: Geometry) -> None:
    """Raise RuntimeError if the kernel does not fit into the padded input."""
    padded = [n + 2 * p for n, p in zip(shape[2:], geometry.padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel[2:], geometry.dilation, strict=True)]
    if any(k > n for k, n in zip(reach, padded, strict=True)):
        raise RuntimeError(f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: ({_times(reach)}). "
                           "Kernel size can't be greater than actual input size")


def transposed_sizes(shape: Sizes, kernel: Sizes, geometry: Geometry, output_padding: Sizes) -> Sizes:
    """The lengths of the result of a transposed convolution. Raises RuntimeError for an output padding that is too large and
    for a result without elements.
    """
    stride, padding, dilation, _ = geometry
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if any(extra >= max(s, d) for extra, s, d in zip(output_padding, stride, dilation, strict=True)):
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got output_padding: "
                           f"{output_padding} stride: {stride} dilation: {dilation}")
    lengths = shape[2:]
    if 0 in lengths:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(shape)}")
    sizes = tuple((n - 1) * s - 2 * p + d * (k - 1) + extra + 1 for n, s, p, d, k, extra in
                  zip(lengths, stride, padding, dilation, kernel[2:], output_padding, strict=True))
    if min(sizes) < 1:
        raise RuntimeError(f"Given input size per channel: ({_times(lengths)}). Calculated output size per channel: "
                           f"({_times(sizes)}). Output size is too small")
    return sizes


def _times(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))
