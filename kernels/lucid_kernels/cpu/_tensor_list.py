"""Many arrays as one: the elements of a list of arrays, walked in parts of equal length by one parallel loop.

A Numba kernel cannot take a list of arrays without a copy of the list, so it gets their addresses: row `k` of the table is
that of the arrays which belong to tensor `k`, its parameter, its gradient and its state. `offsets[k]` says how many elements
come before tensor `k`, so that parts of the whole do not depend on how it is divided into tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic as numba_intrinsic

from ._address import addresses_of
from ._compile import jit_exact
from ._layout import PARALLEL_FROM, Array

intrinsic: Any = numba_intrinsic  # untyped: Numba declares the result with the typing context as an argument
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
Row = Sequence[Array]


class Table(NamedTuple):
    """Some tensors, for one loop: the addresses of their arrays, (tensors, arrays), offsets (tensors + 1,), the number of all
    elements and the dtype.

    The arrays must be kept alive as long as the table is in use.
    """

    addresses: Array
    offsets: Array
    total: int
    dtype: np.dtype[Any]

    @property
    def is_large(self) -> bool:
        """Whether a parallel loop pays."""
        return self.total >= PARALLEL_FROM


def table(arrays: Sequence[Array], width: int) -> Table:
    """The table of `arrays`, `width` of them for each tensor, which `fit`."""
    addresses = np.array(addresses_of(arrays), np.int64).reshape(-1, width)
    offsets = [0, *itertools.accumulate([array.size for array in arrays[::width]])]
    return Table(addresses, np.array(offsets, np.int64), offsets[-1], arrays[0].dtype)


def fit(arrays: Sequence[Array], width: int) -> bool:
    """Whether `arrays` can be given by address: contiguous, of one dtype of `DTYPES`, `width` neighbours each of one size."""
    dtype = arrays[0].dtype
    if dtype not in DTYPES:
        return False
    sizes = []
    for array in arrays:
        if array.dtype is not dtype or not array.flags.c_contiguous:
            return False
        sizes.append(array.size)
    return all(sizes[::width] == sizes[column::width] for column in range(1, width))


def launches(arrays: Sequence[Array], tensors: int) -> tuple[list[tuple[Table, Sequence[int]]], list[tuple[Row, int]]]:
    """`arrays`, as many for each tensor: tables of those that share a loop, with their numbers, and those that go alone, with
    theirs.

    A tensor that is listed twice takes its second step alone, after the first.
    """
    if not tensors:
        return [], []
    width = len(arrays) // tensors
    if len({id(array) for array in arrays[::width]}) == tensors and fit(arrays, width):
        return [(table(arrays, width), range(tensors))], []
    together: dict[Any, tuple[list[Array], list[int]]] = {}
    alone, seen = [], set()
    for number in range(tensors):
        row = arrays[number * width : (number + 1) * width]
        if id(row[0]) not in seen and fit(row, width):
            seen.add(id(row[0]))
            some, numbers = together.setdefault(row[0].dtype, ([], []))
            some.extend(row)
            numbers.append(number)
        else:
            alone.append((row, number))
    return [(table(some, width), numbers) for some, numbers in together.values()], alone


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
