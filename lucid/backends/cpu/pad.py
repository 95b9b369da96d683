"""Padding on the CPU; many rows by a kernel."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.runtime.allocator import empty

from ..common import pad as common_pad
from ..common.pad import Pads, parts
from ..sizes import PAD_FROM, PAD_LEAST_ROWS
from .bits import BITS, as_bits
from .copies import copy_into


def _sources(length: int, before: int, after: int, mode: str) -> np.ndarray:
    """The element along a dimension that each one of the result repeats, -1 for a constant."""
    sources = np.full(before + length + after, -1)
    for part in parts(length, before, after, mode):
        if part.source is not None:
            sources[part.target] = np.arange(length)[part.source]
    return sources


def pad_rows(x: np.ndarray, y: np.ndarray, value: Any, pads: Pads, mode: str) -> bool:
    """Whether a kernel has written all of `pad`'s result `y`: one with many rows."""
    bits = BITS.get(x.itemsize)
    if not pads or y.size < PAD_FROM or y.size < PAD_LEAST_ROWS * y.shape[-1] or bits is None or not x.flags.c_contiguous:
        return False
    from lucid_kernels.cpu.movement import pad as kernels  # compiles with Numba: imported with the first many rows

    lead = x.ndim - len(pads)
    *outer, (before, after) = pads
    rows = np.zeros(1, np.int64)
    for length, pad in zip(x.shape[lead:-1], outer, strict=True):
        sources = _sources(length, *pad, mode)
        rows = np.where((rows[:, None] < 0) | (sources < 0), -1, rows[:, None] * length + sources).ravel()
    columns = np.delete(_sources(x.shape[-1], before, after, mode), slice(before, before + x.shape[-1]))
    source, target = (as_bits(array, bits).reshape(math.prod(x.shape[:lead]), -1, array.shape[-1]) for array in (x, y))
    kernels.pad(source, target, rows, columns, before, np.asarray(value, x.dtype).view(bits))
    return True


TABLE: dict[str, Callable[..., Any]] = common_pad.table(empty, copy_into, pad_rows)
