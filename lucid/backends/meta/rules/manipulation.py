"""Rules of shapes, orders and parts of arrays."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common.views import window_layout
from ...cpu import backend as cpu
from ...memory_format import memory_axes
from ..array import MetaArray, blank
from ..probe import Probe
from .new_rules import Pair, new_rules

RULES, rule = new_rules()


@rule
def reshape(x: MetaArray, *, shape: tuple[int, ...]) -> MetaArray:
    return x.reshape(shape)


@rule
def transpose(x: MetaArray, *, axes: tuple[int, ...]) -> MetaArray:
    return x.transpose(axes)


@rule
def assemble(*parts: MetaArray, shape: tuple[int, ...], indices: Sequence[Any], axes: tuple[int, ...] | None) -> MetaArray:
    return blank(shape, parts[0].dtype, axes)


@rule
def add_at(x: MetaArray, part: MetaArray, *, index: Any) -> MetaArray:
    return x


@rule
def broadcast_to(x: MetaArray, *, shape: tuple[int, ...]) -> MetaArray:
    return x.view(np.broadcast_to(x.value, shape))


@rule
def real(x: MetaArray) -> MetaArray:
    return x.view(x.value.real)


@rule
def imag(x: MetaArray) -> MetaArray:
    return x.view(x.value.imag)


@rule
def view_dtype(x: MetaArray, *, dtype: np.dtype) -> MetaArray:
    return x.view(x.value.view(dtype))


@rule
def view_as_real(x: MetaArray) -> MetaArray:
    return x.view(cpu.TABLE["view_as_real"](x.value))


@rule
def view_as_complex(x: MetaArray) -> MetaArray:
    return x.view(cpu.TABLE["view_as_complex"](x.value))


@rule
def flip(x: MetaArray, *, axis: Any) -> MetaArray:
    return blank(x.shape, x.dtype, memory_axes(x))


@rule
def contiguous(x: MetaArray) -> MetaArray:
    return x.view(x.value.view()) if x.flags.c_contiguous else x.copy()


@rule
def diagonal(x: MetaArray, *, offset: int, axis1: int, axis2: int) -> MetaArray:
    return x.view(np.diagonal(x.value, offset, axis1, axis2))


@rule
def as_strided(x: MetaArray, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> MetaArray:
    return x.view(np.lib.stride_tricks.as_strided(x.value, shape, [step * x.itemsize for step in strides]))


@rule
def windows(x: MetaArray, *, dim: int, size: int, step: int) -> MetaArray:
    return x.view(np.lib.stride_tricks.as_strided(x.value, *window_layout(x.shape, x.value.strides, dim, size, step)))


@rule
def windows_grad(g: MetaArray, *, dim: int, length: int, step: int) -> MetaArray:
    return blank((*g.shape[:dim], length, *g.shape[dim + 1:-1]), g.dtype)


@rule
def diagonal_scatter(x: MetaArray, *, shape: tuple[int, ...], **where: Any) -> MetaArray:
    return blank(shape, x.dtype)


@rule
def split(x: MetaArray, *, boundaries: tuple[int, ...], axis: int) -> tuple[MetaArray, ...]:
    edges = (0, *boundaries, x.shape[axis])
    return tuple(x[(*[slice(None)] * axis, slice(a, b))] for a, b in zip(edges[:-1], edges[1:], strict=True))


@rule
def unbind(x: MetaArray, *, axis: int) -> tuple[MetaArray, ...]:
    return tuple(x[(*[slice(None)] * axis, place)] for place in range(x.shape[axis]))


@rule
def concatenate(*arrays: MetaArray, axis: int) -> MetaArray:
    return Probe("concatenate", arrays)(arrays, {"axis": axis}, axis, sum(array.shape[axis] for array in arrays))


@rule
def stack(*arrays: MetaArray, axis: int) -> MetaArray:
    return Probe("stack", arrays)(arrays, {"axis": axis}, axis, len(arrays))


@rule
def pad(x: MetaArray, fill: MetaArray | None, *, pads: tuple[Pair, ...], mode: str) -> MetaArray:
    lead = x.ndim - len(pads)
    return blank((*x.shape[:lead], *(n + sum(pad) for n, pad in zip(x.shape[lead:], pads, strict=True))), x.dtype)


@rule
def pad_grad(g: MetaArray, *, pads: tuple[Pair, ...], mode: str) -> MetaArray:
    return pad(g, None, pads=tuple((-before, -after) for before, after in pads), mode=mode)
