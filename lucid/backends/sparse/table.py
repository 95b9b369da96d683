"""The operations on sparse arrays as a whole. Every other name raises `NoSparseRule`, so that nothing becomes dense unseen."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .arrays import SparseArray

Kernel = Callable[..., Any]


class NoSparseRule(NotImplementedError):
    """An operation that has no kernel for sparse arrays."""

    def __str__(self) -> str:  # it is raised by each operation that has a rule above, and read by nobody then
        return f"op '{self.args[0]}' has no rule for sparse tensors. Use to_dense() first."


def _copy(array: SparseArray, axes: Any = None, out: Any = None) -> SparseArray:
    if axes is not None or (out is not None and out.__class__ is not array.__class__):
        raise NoSparseRule("copy")
    if out is None:
        return array.copy()
    out.become(array)
    return out


def _cast(array: SparseArray, *, dtype: Any) -> SparseArray:
    return array.with_values(array.values.astype(dtype))


class _Table(Mapping[str, Kernel]):
    def __init__(self, entries: dict[str, Kernel]) -> None:
        self.entries = entries

    def __getitem__(self, name: str) -> Kernel:
        found = self.entries.get(name)
        if found is None:
            raise NoSparseRule(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def _fill(array: SparseArray, *, value: Any, out: Any = None) -> SparseArray:
    if value != 0:
        raise NoSparseRule("fill")
    empty = array.emptied()
    if out is None:
        return empty
    out.become(empty)
    return out


def _add(array: SparseArray, other: SparseArray, out: Any = None) -> SparseArray:
    """In place, for sums of gradients: the elements of both, side by side."""
    if out is not array:
        raise NoSparseRule("add")
    array.append(other)
    return array


TABLE = _Table({
    "add": _add,
    "fill": _fill,
    "copy": _copy,
    "cast": _cast,
    "sparse_values": lambda array: array.values,
    "sparse_replace": lambda array, *, result: result,
})
