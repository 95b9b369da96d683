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

from ..runtime import tuning
from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit_exact
from ..simd.address import DTYPE, FLAGS, HEADER, NDIM, READABLE, SHAPE, address_of
from .layout import Array

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
        return self.total >= tuning.PARALLEL_FROM


def table(arrays: Sequence[Array], width: int) -> Table:
    """The table of `arrays`, `width` of them for each tensor, which fit (`table_if_fit`)."""
    found = table_if_fit(arrays, width)
    assert found is not None
    return found


def table_if_fit(arrays: Sequence[Array], width: int) -> Table | None:
    """The table of `arrays`, `width` of them for each tensor, if they can be given by address: contiguous, of one dtype of
    `DTYPES`, and those of a tensor of one size. Else None.

    A kernel reads all that from the array objects: a fifth of the time of the attributes of 44 arrays.
    """
    dtype = arrays[0].dtype
    if dtype not in DTYPES:
        return None
    if READABLE:
        addresses = np.fromiter(map(id, arrays), np.int64, len(arrays))
        offsets = np.zeros(len(arrays) // width + 1, np.int64)
        if not _read_objects(addresses, width, offsets):
            return None
        return Table(addresses.reshape(-1, width), offsets, offsets.item(-1), dtype)
    if any(array.dtype is not dtype or not array.flags.c_contiguous for array in arrays):
        return None
    sizes = [array.size for array in arrays]
    if any(sizes[::width] != sizes[column::width] for column in range(1, width)):
        return None
    first = [0, *itertools.accumulate(sizes[::width])]
    addresses = np.array([address_of(array) for array in arrays], np.int64)
    return Table(addresses.reshape(-1, width), np.array(first, np.int64), first[-1], dtype)


def launches(arrays: Sequence[Array], tensors: int) -> tuple[list[tuple[Table, Sequence[int]]], list[tuple[Row, int]]]:
    """`arrays`, as many for each tensor: tables of those that share a loop, with the indices of their tensors, and those that go
    alone, with theirs.

    A tensor that is listed twice takes its second step alone, after the first.
    """
    if not tensors:
        return [], []
    width = len(arrays) // tensors
    if len({id(array) for array in arrays[::width]}) == tensors:
        whole = table_if_fit(arrays, width)
        if whole is not None:
            return [(whole, range(tensors))], []
    together: dict[Any, tuple[list[Array], list[int]]] = {}
    alone, seen = [], set()
    for number in range(tensors):
        row = arrays[number * width : (number + 1) * width]
        if id(row[0]) not in seen and table_if_fit(row, width) is not None:
            seen.add(id(row[0]))
            some, indices = together.setdefault(row[0].dtype, ([], []))
            some.extend(row)
            indices.append(number)
        else:
            alone.append((row, number))
    return [(table(some, width), indices) for some, indices in together.values()], alone


@intrinsic
def _pointer(typing_context: Any, address: Any, like: Any) -> Any:
    """An integer as a pointer to elements of the dtype of `like`."""
    pointer = types.CPointer(like.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return pointer(address, like), generate


@jit_exact
def word(address: int, like: Array) -> int:
    """The 64 bits at an address."""
    return carray(_pointer(address, like), (1,))[0]


@jit_exact
def _read_objects(addresses: Array, width: int, offsets: Array) -> bool:
    """Addresses of array objects become those of their elements, and `offsets` are filled. Whether the arrays fit; see
    `table_if_fit`.
    """
    dtype = word(addresses[0] + HEADER + DTYPE, addresses)
    for i in range(addresses.shape[0]):
        fields, tensor = addresses[i] + HEADER, i // width
        if word(fields + DTYPE, addresses) != dtype or word(fields + FLAGS, addresses) & 1 == 0:  # the bit of C_CONTIGUOUS
            return False
        size, shape = 1, word(fields + SHAPE, addresses)
        for dim in range(word(fields + NDIM, addresses) & 0xFFFFFFFF):
            size *= word(shape + 8 * dim, addresses)
        if i % width == 0:
            offsets[tensor + 1] = offsets[tensor] + size
        elif offsets[tensor + 1] - offsets[tensor] != size:
            return False
        addresses[i] = word(fields, addresses)
    return True


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
    """`size` elements from element `first` of the array at `address`, in the dtype of the array `like`."""
    return carray(_pointer(address, like), (first + size,))[first:]
