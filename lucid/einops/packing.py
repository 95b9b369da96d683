"""Tensors of different shapes in one, and back."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ops._operands import require_tensor
from ..ops.manipulation.joining import cat
from ..tensor import Tensor
from .patterns import EinopsError, parse

__all__ = ["pack", "unpack"]


def _around(pattern: str, name: str) -> tuple[int, int]:
    """The numbers of axes before and after the ``*`` of a pattern. Raises EinopsError."""
    axes = pattern.split()
    if axes.count("*") != 1:
        raise EinopsError(f'No *-axis or more than one in {name}(..., "{pattern}")')
    if not all(axis.isidentifier() for axis in axes if axis != "*"):
        raise EinopsError(f'Invalid axis name in {name}(..., "{pattern}"): a pattern is names of axes and a *')
    parse(pattern.replace("*", " "))  # what else is wrong with names
    place = axes.index("*")
    return place, len(axes) - place - 1


def pack(tensors: Sequence[Any], pattern: str) -> tuple[Tensor, list[tuple[int, ...]]]:
    """The tensors side by side along one axis, that of the ``*`` in `pattern`, and the shapes that they have there.

    ``pack([image, tokens], 'batch * channel')`` of shapes (b, h, w, c) and (b, n, c) is of shape (b, h w + n, c), with
    ``[(h, w), (n,)]``. Raises EinopsError for a tensor of too few dimensions.

    >>> image, tokens = lucid.zeros(2, 4, 4, 8), lucid.zeros(2, 3, 8)
    >>> packed, shapes = lucid.einops.pack([image, tokens], "batch * channel")
    >>> packed.shape, shapes
    (lucid.Size([2, 19, 8]), [(4, 4), (3,)])
    """
    before, after = _around(pattern, "pack")
    flat, shapes = [], []
    for index, tensor in enumerate(tensors):
        shape = tuple(require_tensor("pack", tensor).shape)
        if len(shape) < before + after:
            raise EinopsError(f"packed tensor #{index} (enumeration starts with 0) has shape {shape}, while pattern {pattern} "
                              f"assumes at least {before + after} axes")
        end = len(shape) - after
        shapes.append(shape[before:end])
        flat.append(tensor.reshape(*shape[:before], math.prod(shape[before:end]), *shape[end:]))
    return cat(flat, before), shapes


def unpack(tensor: Tensor, packed_shapes: Sequence[Sequence[int]], pattern: str) -> list[Tensor]:
    """What `pack` made one tensor of: views of the shapes given, one of which may have a length of -1.

    Raises EinopsError for another number of dimensions than `pattern` names, and for shapes that do not make up the axis.

    >>> packed, shapes = lucid.einops.pack([lucid.zeros(2, 4, 4, 8), lucid.zeros(2, 3, 8)], "b * c")
    >>> [part.shape for part in lucid.einops.unpack(packed, shapes, "b * c")]
    [lucid.Size([2, 4, 4, 8]), lucid.Size([2, 3, 8])]
    """
    before, after = _around(pattern, "unpack")
    shape = tuple(require_tensor("unpack", tensor).shape)
    if len(shape) != before + after + 1:
        raise EinopsError(f"unpack(..., {pattern}) received input of wrong dim with shape {shape}")
    whole = shape[before]
    lengths = [-1 if -1 in part else math.prod(part) for part in packed_shapes]
    if lengths.count(-1) > 1:
        raise EinopsError(f"unpack(..., {pattern}) received more than one -1 in {packed_shapes} and can't infer dimensions")
    if -1 in lengths:
        lengths[lengths.index(-1)] = whole - sum(length for length in lengths if length != -1)
    if sum(lengths) != whole or min(lengths, default=0) < 0:
        raise EinopsError(f'Error during unpack(..., "{pattern}"): could not split axis of size {whole} into requested '
                          f"{packed_shapes}")
    result, start = [], 0
    for length, part in zip(lengths, packed_shapes, strict=True):
        try:
            result.append(tensor.narrow(before, start, length).reshape(*shape[:before], *part, *shape[before + 1:]))
        except RuntimeError as error:
            raise EinopsError(f'Error during unpack(..., "{pattern}"): {length} elements do not have the shape '
                              f"{tuple(part)}") from error
        start += length
    return result
