"""Temporaries of kernels that begin at a whole vector.

A vector that lies across two cache lines takes two reads: loops that read several for each step run 4 to 12 % longer where
all do, as in the half of what `np.empty` gives.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.allocator import empty
from ..runtime.jit import jit
from .address import address_of
from .cpu_features import VECTOR_BYTES


@jit
def aligned_empty(count: int, like: Any) -> Any:
    """A flat array of `count` elements, not initialised, of the dtype of `like`: in compiled kernels."""
    room = np.empty(count + VECTOR_BYTES // like.itemsize, like.dtype)
    first = -room.ctypes.data % VECTOR_BYTES // like.itemsize
    return room[first : first + count]


def aligned(count: int, dtype: Any) -> np.ndarray[Any, Any]:
    """A flat array of `count` elements, not initialised: around compiled kernels."""
    room = empty((count + VECTOR_BYTES // dtype.itemsize,), dtype)
    first = -address_of(room) % VECTOR_BYTES // dtype.itemsize
    return room[first : first + count]


def whole_vectors(count: int, itemsize: int) -> int:
    """The elements of as many whole vectors as `count` elements need."""
    lanes = VECTOR_BYTES // itemsize
    return -(-count // lanes) * lanes
