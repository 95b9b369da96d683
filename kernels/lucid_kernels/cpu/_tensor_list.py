"""Many arrays as one: the elements of a list of arrays, walked in parts of equal length by one parallel loop.

A Numba kernel cannot take a list of arrays without a copy of the list, so it gets their addresses: row `k` of the table is
that of the arrays which belong to tensor `k`, its parameter, its gradient and its state. `offsets[k]` says how many elements
come before tensor `k`, so that parts of the whole do not depend on how it is divided into tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic as numba_intrinsic

from ._address import addresses_of
from ._compile import jit_exact
from ._layout import PARALLEL_FROM, Array

intrinsic: Any = numba_intrinsic  # untyped: Numba declares the result with the typing context as an argument
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
Row = Sequence[Array]


def fits(row: Row) -> bool:
    """Whether the arrays of a tensor can be given by address: contiguous, of one size and one dtype of `DTYPES`."""
    first = row[0]
    dtype, size = first.dtype, first.size
    if dtype not in DTYPES:
        return False
    for array in row:  # noqa: SIM110  (all() with a generator takes half as long again, and this is a large part of a call)
        if array.dtype is not dtype or array.size != size or not array.flags.c_contiguous:
            return False
    return True


def launches(arrays: Sequence[Array], tensors: int) -> tuple[list[tuple[list[Row], list[int]]], list[tuple[Row, int]]]:
    """`arrays` in rows of equal length, one for each tensor: those of a common loop, by dtype, and those that go alone.

    Each row comes with its number. A tensor that is listed twice takes its second step alone, after the first.
    """
    width = len(arrays) // tensors if tensors else 0
    together: dict[Any, tuple[list[Row], list[int]]] = {}
    alone, seen = [], set()
    for number in range(tensors):
        row = arrays[number * width : (number + 1) * width]
        first = row[0]
        if id(first) not in seen and fits(row):
            seen.add(id(first))
            group = together.get(first.dtype)
            if group is None:
                group = together[first.dtype] = ([], [])
            group[0].append(row)
            group[1].append(number)
        else:
            alone.append((row, number))
    return list(together.values()), alone


def table(rows: Sequence[Row]) -> tuple[Array, Array]:
    """The addresses of the arrays, (tensors, arrays), and the offsets of the tensors, (tensors + 1,).

    The rows must be kept alive as long as the table is in use.
    """
    addresses = np.array(addresses_of(itertools.chain.from_iterable(rows)), np.int64).reshape(len(rows), -1)
    return addresses, np.array([0, *itertools.accumulate([row[0].size for row in rows])], np.int64)


def is_large(offsets: Array) -> bool:
    """Whether a parallel loop pays."""
    return bool(offsets[-1] >= PARALLEL_FROM)


@intrinsic
def _pointer(typing_context: Any, address: Any, like: Any) -> Any:
    """An integer as a pointer to elements of the dtype of `like`."""
    pointer = types.CPointer(like.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return pointer(address, like), generate


@jit_exact
def first_tensor(offsets: Array, element: int) -> int:
    """The tensor that `element` of the whole belongs to."""
    low, high = 0, offsets.shape[0]  # `np.searchsorted` takes 0.3 s to compile
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] <= element:
            low = middle + 1
        else:
            high = middle
    return low - 1


@jit_exact
def part(address: int, first: int, size: int, like: Any) -> Array:
    """`size` elements from element `first` of the array at `address`, in the dtype of the array or tuple `like`."""
    return carray(_pointer(address, like), (first + size,))[first:]
