"""Arrays in which only some elements are kept, by their indices."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._layout import Layout

Array = Any


class _Flags:
    """What is asked of NumPy's flags: the parts have no gaps."""

    c_contiguous = carray = writeable = True
    f_contiguous = False


class NotDense(NotImplementedError, AttributeError):
    """What was asked of a sparse array is a property of dense ones."""


class SparseArray:
    """What both kinds have in common: `values`, a dense array, and the `shape` of the whole."""

    __slots__ = ("__weakref__", "cache", "shape", "values")
    __array_ufunc__ = None  # NumPy's functions refuse it
    is_sparse = True
    base = None
    flags = _Flags()
    sparse_layout: Layout
    shape: tuple[int, ...]
    values: Array
    cache: dict[str, Any]  # what products have found out of the indices

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.values.dtype.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        return (0,) * len(self.shape)

    @property
    def nbytes(self) -> int:
        return sum(int(part.nbytes) for part in self.parts())

    @property
    def device(self) -> Any:
        return self.values.device

    @property
    def nnz(self) -> int:
        """How many elements are kept."""
        return int(self.values.shape[0])

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def __getattr__(self, name: str) -> Any:
        raise NotDense(f"a tensor of layout {self.sparse_layout} has no {name!r}: this operation has no rule for sparse tensors. "
                       "Use to_dense() first.")

    def parts(self) -> tuple[Array, ...]:
        """The dense arrays that it is made of, the values last."""
        raise NotImplementedError

    def facts(self) -> tuple[Any, ...]:
        """What an array of the class is made of beside its parts."""
        raise NotImplementedError

    def mapped(self, function: Callable[[Array], Array]) -> SparseArray:
        """The same made of what `function` makes of each part."""
        raise NotImplementedError

    def with_values(self, values: Array) -> SparseArray:
        """Other values in the same places."""
        raise NotImplementedError

    def _alike(self, other: Any) -> Any:
        """`other`, which keeps the same places: what is found out of these is found once."""
        other.cache = self.cache
        return other

    def become(self, other: SparseArray) -> None:
        """Take the elements of `other`, in the memory that is there where they stand in the same places."""
        mine, its = self.parts(), other.parts()
        if all(a is b for a, b in zip(mine[:-1], its[:-1], strict=True)) and mine[-1].dtype == its[-1].dtype:
            self.values[...] = other.values
        else:
            self.take_parts(its)
            self.cache = {}

    def take_parts(self, parts: tuple[Array, ...]) -> None:
        """Take the parts of another array."""
        raise NotImplementedError

    def emptied(self) -> SparseArray:
        """The same with nothing kept."""
        raise NotImplementedError

    def append(self, other: Any) -> None:
        """Take the elements of another array in beside those that are there."""
        raise NotImplementedError(f"a tensor of layout {self.sparse_layout} cannot be added to in place")

    def copy(self, order: str = "C") -> SparseArray:
        """The same in memory of its own."""
        return self.mapped(lambda part: part.copy())


class CooArray(SparseArray):
    """`values` (nnz, ...) at `indices` (d, nnz), of which the first d dimensions of `shape` are sparse and the others dense.

    A `coalesced` one has each place once, in order. Of others the values of a place are to be added up.
    """

    __slots__ = ("coalesced", "indices")
    sparse_layout = Layout.sparse_coo

    def __init__(self, indices: Array, values: Array, shape: tuple[int, ...], coalesced: bool = False) -> None:
        self.indices, self.values, self.shape, self.coalesced = indices, values, shape, coalesced
        self.cache = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return CooArray, (*self.parts(), *self.facts())

    def facts(self) -> tuple[Any, ...]:
        return self.shape, self.coalesced

    def parts(self) -> tuple[Array, ...]:
        return self.indices, self.values

    def emptied(self) -> CooArray:
        return CooArray(self.indices[:, :0], self.values[:0], self.shape, True)

    def append(self, other: Any) -> None:
        """Take the elements of another array in beside those that are there."""
        joined = _side_by_side(self, other)
        self.take_parts(joined)
        self.coalesced, self.cache = False, {}

    def become(self, other: Any) -> None:
        super().become(other)
        self.coalesced = other.coalesced

    def take_parts(self, parts: tuple[Array, ...]) -> None:
        self.indices, self.values = parts

    def mapped(self, function: Callable[[Array], Array]) -> CooArray:
        return CooArray(function(self.indices), function(self.values), self.shape, self.coalesced)

    def with_values(self, values: Array) -> CooArray:
        return self._alike(CooArray(self.indices, values, self.shape, self.coalesced))


def _side_by_side(a: CooArray, b: CooArray) -> tuple[Array, Array]:
    count = a.nnz
    indices = a.indices.__class__((a.indices.shape[0], count + b.nnz), a.indices.dtype)
    values = a.values.__class__((count + b.nnz, *a.values.shape[1:]), a.values.dtype)
    indices[:, :count], indices[:, count:] = a.indices, b.indices
    values[:count], values[count:] = a.values, b.values
    return indices, values


class CompressedArray(SparseArray):
    """A matrix by rows (CSR) or by columns (CSC): those of row r are `values` from ``compressed[r]`` to ``compressed[r + 1]``,
    and stand in the columns `plain`.
    """

    __slots__ = ("compressed", "plain", "sparse_layout")
    coalesced = True

    def __init__(self, compressed: Array, plain: Array, values: Array, shape: tuple[int, ...], layout: Layout) -> None:
        self.compressed, self.plain, self.values, self.shape, self.sparse_layout = compressed, plain, values, shape, layout
        self.cache = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return CompressedArray, (*self.parts(), *self.facts())

    def facts(self) -> tuple[Any, ...]:
        return self.shape, self.sparse_layout

    def parts(self) -> tuple[Array, ...]:
        return self.compressed, self.plain, self.values

    def emptied(self) -> CompressedArray:
        return CompressedArray(self.compressed * 0, self.plain[:0], self.values[:0], self.shape, self.sparse_layout)

    def take_parts(self, parts: tuple[Array, ...]) -> None:
        self.compressed, self.plain, self.values = parts

    def mapped(self, function: Callable[[Array], Array]) -> CompressedArray:
        return CompressedArray(function(self.compressed), function(self.plain), function(self.values), self.shape,
                               self.sparse_layout)

    def with_values(self, values: Array) -> CompressedArray:
        return self._alike(CompressedArray(self.compressed, self.plain, values, self.shape, self.sparse_layout))
