"""Large arrays in order on the CPU: our radix sort; NumPy sorts the small ones."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..families import MANY
from ..half_precision import wide

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]

# As MANY, for a long row, and for the largest of all: NumPy takes 1.1 to 2.5 times as long. Rows of a hundred it sorts as fast.
_LONG = 1000
_NARROW = 1 << 32  # keys below are sorted in one go
_SORTED_GROUPS = 8  # of columns of rows; rows of more are compared as strings of bytes


def _kernels() -> Any:
    from lucid_kernels.cpu.indexing import sort as indexing_sort

    return indexing_sort


def _last(x: Array, axis: int) -> Array:
    """`x` with `axis` last. NumPy's function takes 3 us even where it is."""
    return x if axis == x.ndim - 1 else np.moveaxis(x, axis, -1)


def _keys(x: Array, axis: int, descending: bool, least: int = MANY) -> tuple[Array, bool] | None:
    """Keys of the elements with `axis` last, and whether they are wide; None for what NumPy has to sort, such as fewer than
    `least` in short rows.
    """
    if (x.size < least and x.shape[axis] < _LONG) or x.shape[axis] >= _NARROW:
        return None
    rows = _last(wide(x), axis)
    if rows.dtype.kind == "f":
        return _kernels().float_keys(rows, descending), rows.itemsize > 4
    if rows.dtype.kind not in "iub":
        return None
    low, high = int(rows.min()), int(rows.max())
    return _kernels().integer_keys(rows, low, high, descending), high - low >= _NARROW


def table(plain: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones, which serve small arrays and other dtypes."""
    names = ("argsort", "sort", "topk", "lexsort", "gather")
    plain_argsort, plain_sort, plain_topk, plain_lexsort, gather = (plain[name] for name in names)

    def in_place(rows: Array, axis: int) -> Array:
        """`rows` with their last axis as `axis`, in row-major order."""
        return rows if axis == rows.ndim - 1 else np.ascontiguousarray(np.moveaxis(rows, -1, axis))

    def order(keys: Array, wide_keys: bool, axis: int) -> Array:
        """The places of the keys, which are overwritten, along their last axis, in the order of `axis`."""
        places = _kernels().order(keys.reshape(-1, keys.shape[-1]), wide_keys)
        return in_place(places.reshape(keys.shape), axis)

    def argsort(x: Array, axis: int) -> Array:
        found = _keys(x, axis, False)
        return plain_argsort(x, axis=axis) if found is None else order(*found, axis)

    def sort(x: Array, *, axis: int, descending: bool) -> Any:
        found = _keys(x, axis, descending)
        if found is None:
            return plain_sort(x, axis=axis, descending=descending)
        indices = order(*found, axis)
        return gather(x, indices, axis=axis), indices

    def topk(x: Array, *, k: int, axis: int, largest: bool) -> Any:
        found = _keys(x, axis, largest, _LONG) if k else None
        if found is None:
            return plain_topk(x, k=k, axis=axis, largest=largest)
        keys, wide_keys = found
        if wide_keys or not _kernels().suits_first(keys.shape[-1], k):
            indices = np.ascontiguousarray(order(keys, wide_keys, axis)[(*(slice(None),) * axis, slice(k))])
        else:
            places = _kernels().first(keys.reshape(-1, keys.shape[-1]), k)
            indices = in_place(places.reshape(*keys.shape[:-1], k), axis)
        return gather(x, indices, axis=axis), indices

    def lexsort(rows: Array) -> Array:
        found = _keys(rows, 1, False)
        if found is None:
            return plain_lexsort(rows)
        keys, _ = found
        bits = max(int(keys.max()).bit_length(), 1)
        together = 64 // bits  # columns that share a key
        groups = [keys[:, i:i + together] for i in range(0, keys.shape[1], together)]
        if len(groups) > _SORTED_GROUPS:
            size = next(size for size in (1, 2, 4, 8) if 8 * size >= bits)
            text = np.ascontiguousarray(keys.astype(f">u{size}"))
            return np.argsort(text.view(f"S{size * keys.shape[1]}").reshape(-1), kind="stable")
        places: Any = None
        for group in reversed(groups):
            joined = np.zeros(len(keys), np.uint64)
            for column in group.T:
                joined <<= np.uint64(bits % 64)  # the only column of 64 bits needs no place
                joined |= column
            joined = joined if places is None else joined[places]
            found_order = order(joined[None], bits * group.shape[1] > 32, 1)[0]
            places = found_order if places is None else places[found_order]
        return places

    return {"argsort": argsort, "sort": sort, "topk": topk, "lexsort": lexsort}
