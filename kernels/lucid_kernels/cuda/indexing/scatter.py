"""Elements written, added or combined where indices name them, on a GPU: see `scatter.cu`, `scatter_combine.cu`, `place.cu`, and
`scatter_in_order.cu` for a fixed order.

Those of float32, float64 and whole numbers of 32 and 64 bits are one launch. Narrower ones are computed in float32 or int32 and
rounded once: few in the order of the elements, many in a copy of the whole array. What is written lies apart from what is read.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.elementwise import strides
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, recording, rows

Array = Any
Shape = tuple[int, ...]
_Write = Callable[[Array, Array, bool], None]  # of an array, values for it, and whether in order

MOST_INDICES, _MOST_DIMS = 3, 8
_INDEXED = np.dtype([("step", np.int64, (MOST_INDICES,)), ("length", np.int64, (MOST_INDICES,))])
#: Indices up to which every thread looks through all: reads of the cache, where sorting is several launches.
MOST_UNSORTED = 1024
_ATOMIC = frozenset("fdilqILQFD")
_KINDS = frozenset("?bBhHeE") | _ATOMIC
_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "u64"}
#: What becomes of an element that is there already and of a value for it; the numbers are those of the kernels.
_PUT, _ADD, _PROD, _AMAX, _AMIN = range(5)
_REDUCTIONS = {"prod": _PROD, "amax": _AMAX, "amin": _AMIN}
#: The dtypes that kernels take as they are; others are computed in wider ones.
_NATIVE = {_PUT: _KINDS, _ADD: _ATOMIC, **dict.fromkeys(_REDUCTIONS.values(), frozenset("fdilqLQ"))}
_ANY_LENGTH = 1 << 62  # of a dimension of places: -2**63, which is none, stays negative when it is added


def suits(array: Array, count: int, ndim: int) -> bool:
    """Whether elements of `array` are found here by so many indices, in a loop of `ndim` dimensions."""
    return count > 0 and ndim + (array.dtype.kind == "c") <= _MOST_DIMS and array.dtype.char in _KINDS


def scatter(x: Array, indices: Array, source: Any, *, axis: int, accumulate: bool = False, in_order: bool = False,
            out: Array | None = None) -> Array:
    """`x` with `source`, or a number, where ``gather(x, indices, axis)`` would read; `accumulate` adds it to what is there."""
    y = copies.copied(x, x.dtype) if out is None else out
    _along(y, indices, source, axis, _ADD if accumulate else _PUT, in_order)
    return y


def scatter_reduce(x: Array, indices: Array, source: Array, *, axis: int, reduce: str, in_order: bool = False) -> Array:
    """`x` combined with `source` ('prod', 'amax', 'amin'), real numbers both, where ``gather(x, indices, axis)`` would read."""
    y = copies.copied(x, x.dtype)
    _along(y, indices, source, axis, _REDUCTIONS[reduce], in_order)
    return y


def gather_grad(g: Array, indices: Array, *, shape: Shape, axis: int, unique: bool = False, in_order: bool = False) -> Array:
    """Zeros of `shape` with `g` added where `gather` would read; `unique`: no element is named twice."""
    y = launch.empty(shape, g.dtype)
    if not (unique and indices.shape == shape):  # else all are written
        copies.fill(y, 0)
    _along(y, indices, g, axis, _PUT if unique else _ADD, in_order and not unique)
    return y


def suits_place(g: Array, indices: Array, shape: Shape, axis: int) -> bool:
    """Whether `place` takes these: one element for each slice of an array of `shape` along `axis`."""
    one = (*shape[:axis], 1, *shape[axis + 1 :])
    return g.shape == indices.shape == one and g.dtype.itemsize in _WORDS and bool(shape[axis])


def place(g: Array, indices: Array, *, shape: Shape, axis: int) -> Array:
    """Zeros of `shape` with `g` where `indices` name an element of each slice along `axis`: what `suits_place`."""
    y = launch.empty(shape, g.dtype)
    if y.size:
        g, indices = copies.contiguous(g), copies.contiguous(_long(indices))
        outer, length, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        word = np.dtype(f"u{g.dtype.itemsize}")
        pack = rows.pack(length, y) if inner == 1 else 1
        launch.kernel("place", f"place<{_WORDS[g.dtype.itemsize]}, {pack}>")(
            *launch.grid_1d(y.size // pack),
            (_memory(g, word), indices, _memory(y, word), *map(np.int64, (outer, length, inner))))
    return y


def index_put(x: Array, values: Any, *indices: Array, dims: tuple[int, ...], accumulate: bool = False, in_order: bool = False,
              out: Array | None = None) -> Array:
    """`x` with `values`, or a number, at `indices` into `dims`, all of the others; `accumulate` adds them to what is there."""
    y = copies.copied(x, x.dtype) if out is None else out
    _at(y, values, indices, dims, _ADD if accumulate else _PUT, in_order)
    return y


def scatter_new(values: Array, *indices: Array, shape: Shape, dims: tuple[int, ...], unique: bool,
                in_order: bool = False) -> Array:
    """Zeros of `shape` with `values` added at `indices` into `dims`; `unique`: no element is named twice."""
    y = copies.fill(launch.empty(shape, values.dtype), 0)
    _at(y, values, indices, dims, _PUT if unique else _ADD, in_order and not unique)
    return y


def _along(y: Array, indices: Array, source: Any, axis: int, how: int, in_order: bool) -> None:
    if not indices.ndim:
        y, indices = y.reshape(1), indices.reshape(1)
    axis %= y.ndim
    indices = _long(indices)
    axes = tuple([None if d == axis else d for d in range(y.ndim)])

    def write(y: Array, values: Array, in_order: bool) -> None:
        _put(y, values, [indices], [(y.strides[axis], y.shape[axis])], indices.shape, axes, [indices.strides], how, in_order)

    _natively(write, y, source, indices.size, how, in_order)


def _at(y: Array, values: Any, indices: Sequence[Array], dims: tuple[int, ...], how: int, in_order: bool) -> None:
    """At `indices`, broadcast together, into `dims`: their dimensions come where these are, or first where others lie between."""
    indices = [_long(index) for index in indices]
    common = np.broadcast_shapes(*[index.shape for index in indices])
    first = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    others = [d for d in range(y.ndim) if d not in dims]
    before = [d for d in others if d < first]
    after = others[len(before) :]
    axes = (*before, *[None] * len(common), *after)
    shape = (*[y.shape[d] for d in before], *common, *[y.shape[d] for d in after])

    def write(y: Array, values: Array, in_order: bool) -> None:
        found, spots = indices, [(y.strides[d], y.shape[d]) for d in dims]
        while len(found) > MOST_INDICES:
            found = [_merged(y, found[:MOST_INDICES], spots[:MOST_INDICES], common), *found[MOST_INDICES:]]
            spots = [(y.itemsize, _ANY_LENGTH), *spots[MOST_INDICES:]]
        spread = [(*[0] * len(before), *_broadcast(index, common), *[0] * len(after)) for index in found]
        _put(y, values, found, spots, shape, axes, spread, how, in_order)

    _natively(write, y, values, math.prod(shape), how, in_order)


def _natively(write: _Write, y: Array, values: Any, count: int, how: int, in_order: bool) -> None:
    """Let `write` take `values`, or a number, for so many places in y, in order or not; in another dtype if kernels need that."""
    if not count or not y.size:
        return
    values = _values(values, y.dtype)
    few_halves = y.dtype.char in "eE" and count <= MOST_UNSORTED
    if how >= _PROD:  # in any order whole numbers and extremes are the same
        in_order = how == _PROD and y.dtype.char in "eEfd" and (in_order or few_halves)
    if not in_order and y.dtype.char not in _NATIVE[how]:
        if count > MOST_UNSORTED or how >= _PROD:
            kind: Any = np.float32 if y.dtype.char in "eE" else np.int64 if y.dtype.char == "I" else np.int32
            wide = copies.copied(y, np.dtype(kind))
            write(wide, copies.copied(values, wide.dtype), False)
            copies.copy(wide, y)
            return
        in_order = True
    write(y, values, in_order)


def _merged(y: Array, indices: Sequence[Array], spots: Sequence[tuple[int, int]], shape: Shape) -> Array:
    """The places in y, whose strides are not negative, that several indices, broadcast to `shape`, name together."""
    places = launch.empty(shape, np.dtype(np.int64))
    if places.size:
        still = (0,) * len(shape)
        steps = (still, still, *[_broadcast(index, shape) for index in indices])
        starts = tuple([strides.extent(index.shape, index.strides, index.itemsize)[0] for index in indices])
        layout = _layout(shape, steps, y.itemsize, (0, 0, *starts))
        launch.kernel("scatter_in_order", f"scatter_places<{MOST_INDICES}>")(
            *launch.grid_1d(places.size),
            (places, *map(strides.memory, indices), layout, _indexed(spots, y.itemsize), np.int64(places.size)))
    return places


def _indexed(spots: Sequence[tuple[int, int]], size: int) -> Array:
    """The kernels' `Indexed` of the strides and lengths of dimensions with indices."""
    found = np.zeros((), _INDEXED)
    for place, (stride, length) in enumerate(spots):
        found["step"][place], found["length"][place] = stride // size, length
    return found


def _put(y: Array, values: Array, indices: Sequence[Array], spots: Sequence[tuple[int, int]], shape: Shape,
         axes: tuple[int | None, ...], spread: list[Shape], how: int, in_order: bool) -> None:
    """The loop over `shape`, whose dimensions are the `axes` of y, or None where it is indexed: by `indices` into dimensions with
    the strides and lengths `spots`, which have the strides `spread`.
    """
    count = math.prod(shape)
    if values.ndim > len(shape):  # dimensions of length 1 in front
        values = values.reshape(values.shape[values.ndim - len(shape) :])
    if in_order:
        values = copies.contiguous(cupy.broadcast_to(values, shape))
    size, arrays = y.itemsize, (y, values, *indices)
    steps = [tuple([0 if d is None else y.strides[d] for d in axes]), _broadcast(values, shape), *spread]
    if y.dtype.kind == "c":  # the parts side by side
        size //= 2
        shape, count = (*shape, 2), count * 2
        steps = [(*step, size if place < 2 else 0) for place, step in enumerate(steps)]
    layout = _layout(shape, tuple(steps), size, tuple([strides.extent(a.shape, a.strides, a.itemsize)[0] for a in arrays]))
    memory = [strides.memory(index) for index in indices]
    where = (*memory, *memory[:1] * (MOST_INDICES - len(memory)), layout, _indexed(spots, size), np.int64(count))
    kind = _kind(y.dtype, size, how)
    if not in_order:
        name = f"scatter_{'add' if how else 'put'}<{launch.ctype(kind)}, {len(indices)}>"
        file, name, more = ("scatter", name, ()) if how < _PROD else (
            "scatter_combine", f"scatter_combine<{launch.ctype(kind)}>", (np.int32(how),))
        launch.kernel(file, name)(*launch.grid_1d(count), (_memory(y, kind), _memory(values, kind), *where, *more))
        return
    places = launch.empty((count,), np.int64)
    launch.kernel("scatter_in_order", f"scatter_places<{len(indices)}>")(*launch.grid_1d(count), (places, *where))
    name, found = "scatter_unsorted", [places]
    if count > MOST_UNSORTED:
        recording.unrepeatable()
        order = cupy.argsort(places, kind="stable")
        name, found = "scatter_sorted", [places[order], order]
    launch.kernel("scatter_in_order", f"{name}<{launch.ctype(kind)}>")(
        *launch.grid_1d(count), (_memory(y, kind), _memory(values, kind), *found, np.int64(count), np.int32(how)))


def _long(indices: Array) -> Array:
    return indices if indices.dtype == np.int64 else copies.copied(indices, np.dtype(np.int64))


def _values(values: Any, dtype: Any) -> Array:
    """`values`, or a number, as an array of `dtype`."""
    if not hasattr(values, "dtype"):
        return copies.fill(launch.empty((), dtype), values)
    return values if values.dtype == dtype else copies.copied(values, dtype)


def _broadcast(array: Array, shape: Shape) -> Shape:
    """The strides of `array`, broadcast to `shape`."""
    own = [0 if size == 1 else step for size, step in zip(array.shape, array.strides, strict=True)]
    for have, want in zip(reversed(array.shape), reversed(shape), strict=False):
        if have not in (1, want):
            raise ValueError(f"shape mismatch: value array of shape {array.shape} could not be broadcast to indexing result of "
                             f"shape {shape}")
    return (*[0] * (len(shape) - array.ndim), *own)


@functools.lru_cache(4096)
def _layout(shape: Shape, steps: tuple[Shape, ...], size: int, first: Shape) -> Array:
    sizes = (size, size, *[8] * (len(steps) - 2))
    found = strides.layout(shape, [tuple([step // own for step in array]) for array, own in zip(steps, sizes, strict=True)])
    found["first"] = first
    return found


def _kind(dtype: Any, size: int, how: int) -> Any:
    """The dtype as which the kernels take elements, or parts of them, of so many bytes."""
    if how >= _PROD or (how and dtype.kind in "cfVb"):
        return np.dtype(f"f{size}") if dtype.kind == "c" else dtype
    return np.dtype(f"u{size}")


def _memory(array: Array, dtype: Any) -> Array:
    found = strides.memory(array)
    return found if found.dtype == dtype else found.reshape(-1).view(dtype)
