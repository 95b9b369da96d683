"""Elements by index. A batched index gets the numbers of the batch elements beside it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backends import device_of, to_device
from ..lifted import Level, call
from .basis import as_view, at, dimension, expanded, inner, lift, new_rules, reshaped, spread

RULES, rule = new_rules()
_ALL = slice(None)


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype")


def _numbers(level: Level, like: Any, ndim: int) -> Any:
    """The numbers of the batch elements, for an index whose arrays have `ndim` more dimensions."""
    numbers = np.arange(level.size).reshape(-1, *(1,) * ndim)
    return to_device(numbers, device_of(like))


class _Index:
    """An index with its arrays, and where their dimensions are in the result."""

    def __init__(self, level: Level, index: tuple[Any, ...], ndim: int) -> None:
        self.level = level
        self.full = index if index.__class__ is tuple else (index,)
        if any(item is Ellipsis for item in self.full):
            self.full = self._without_ellipsis(ndim)
        self.places = [place for place, item in enumerate(self.full) if _is_array(item)]
        self.arrays = [self.full[place] for place in self.places]
        self.batched = any(at(level, array) for array in self.arrays)
        self.masks = any(array.dtype.kind == "b" for array in self.arrays)
        # As in NumPy, arrays side by side leave their dimensions there; of others they come first.
        self.adjacent = not self.places or self.places == list(range(self.places[0], self.places[-1] + 1))
        self.dims = max([array.ndim for array in self.arrays], default=0)
        # Dimensions of the result before those of the arrays.
        self.before = sum(item is None or item.__class__ is slice for item in self.full[:self.places[0]]) if self.places else 0

    def _without_ellipsis(self, ndim: int) -> tuple[Any, ...]:
        used = sum(item.ndim if _is_array(item) and item.dtype.kind == "b" else item is not None and item is not Ellipsis
                   for item in self.full)
        place = next(place for place, item in enumerate(self.full) if item is Ellipsis)
        return (*self.full[:place], *(_ALL,) * (ndim - used), *self.full[place + 1:])

    def beside(self, like: Any) -> tuple[Any, ...]:
        """The index of the array with its batch dimension, if the arrays have one: their dimensions come first."""
        items = list(self.full)
        for place in self.places:
            item = items[place]
            if at(self.level, item):
                value = item.value
                items[place] = reshaped(value, (self.level.size, *(1,) * (self.dims - item.ndim), *item.shape))
        return (_numbers(self.level, like, self.dims), *items)


def _refuse_mask() -> RuntimeError:
    return RuntimeError("vmap: It looks like you're attempting to index with a mask that differs from one element of the batch "
                        "to the other: the shape of the result would depend on its elements. We don't support vmap over dynamic "
                        "shapes; use where() instead.")


@rule("getitem")
def getitem(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    index = _Index(level, attributes["index"], x.ndim)
    if index.batched and index.masks:
        raise _refuse_mask()
    if not index.batched:
        full = (_ALL, *attributes["index"])
        result = call(name, (x.value,), {"index": full})
        if not index.arrays:
            return as_view(level, result, x)
        if not index.adjacent:  # the dimensions of the arrays are before that of the batch
            dims = _dimensions(index)
            result = call("transpose", (result,), {"axes": (dims, *range(dims), *range(dims + 1, result.ndim))})
        return lift(level, result)
    like = inner(level, x)
    if at(level, x):
        result = call(name, (like,), {"index": index.beside(like)})
        first = index.places[0] == 0 or not index.adjacent
        if not first:
            dims, before = index.dims, index.before
            axes = (0, *range(1 + dims, 1 + dims + before), *range(1, 1 + dims), *range(1 + dims + before, result.ndim))
            result = call("transpose", (result,), {"axes": axes})
        return lift(level, result)
    items = list(index.full)
    for place in index.places:
        item = items[place]
        if at(level, item):
            items[place] = reshaped(item.value, (level.size, *(1,) * (index.dims - item.ndim), *item.shape))
    result = call(name, (x,), {"index": tuple(items)})
    if index.adjacent and index.before:
        axes = (index.before, *range(index.before), *range(index.before + 1, result.ndim))
        result = call("transpose", (result,), {"axes": axes})
    return lift(level, result)


def _dimensions(index: _Index) -> int:
    """How many dimensions the arrays of an index become: a mask is as many arrays of one."""
    return max(1 if array.dtype.kind == "b" else array.ndim for array in index.arrays)


@rule("index_put")
def index_put(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, values = arrays
    index = _Index(level, attributes["index"], x.ndim)
    if index.batched and index.masks:
        if _is_array(values) and values.ndim:
            raise _refuse_mask()
        if len(index.full) == 1 and not attributes.get("accumulate") and not at(level, values):
            return _put_by_mask(level, x, index.full[0], values)
        return NotImplemented
    target = spread(level, x)
    placed = _placed(level, index, target, attributes["index"], values)
    if placed is None:
        return NotImplemented
    full, given = placed
    return lift(level, call(name, (target, given), {**attributes, "index": full}))


def _put_by_mask(level: Level, x: Any, mask: Any, value: Any) -> Any:
    chosen = reshaped(mask.value, (level.size, *mask.shape, *(1,) * (x.ndim - mask.ndim)))
    target = spread(level, x)
    return lift(level, call("masked_fill", (target, expanded(chosen, target.shape), value), {}))


def _placed(level: Level, index: _Index, target: Any, given: tuple[Any, ...], values: Any) -> tuple[Any, Any] | None:
    """The index into an array with its batch dimension, and the values with theirs; None where they do not lie in that order."""
    if not index.batched:
        if not index.adjacent or (index.masks and at(level, values) and index.places[0] > 0):
            return None
        full: tuple[Any, ...] = (_ALL, *given)
    elif (index.places[0] == 0 or not index.adjacent) or not index.before:
        full = index.beside(target)
    else:
        return None
    if not at(level, values):
        return full, values
    stand_in = np.broadcast_to(np.int8(0), target.shape)
    if index.masks:
        return (full, values.value) if values.ndim else None
    plain = tuple([np.zeros(item.shape, np.int64) if _is_array(item) else item for item in full])
    ndim = stand_in[plain].ndim - 1
    value = values.value
    if values.ndim > ndim:
        return None
    return full, reshaped(value, (level.size, *(1,) * (ndim - values.ndim), *values.shape))


@rule("scatter_new")
def scatter_new(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (values,) = arrays
    shape = (level.size, *attributes["shape"])
    index = _Index(level, attributes["index"], len(shape) - 1)
    if index.batched and index.masks:
        raise _refuse_mask()
    if index.masks and index.places[0] > 0:
        return NotImplemented
    placed = _placed(level, index, np.broadcast_to(np.int8(0), shape), attributes["index"], values)
    if placed is None:
        return NotImplemented
    full, given = placed
    if not at(level, values):  # only the index is batched
        given = expanded(reshaped(given, (1, *given.shape)), (level.size, *given.shape))
    full = tuple([to_device(item, device_of(given)) if item.__class__ is np.ndarray else item for item in full])
    return lift(level, call(name, (given,), {**attributes, "shape": shape, "index": full}))


def _three(level: Level, arrays: Sequence[Any], ndim: int) -> list[Any]:
    """Arrays with their batch dimensions; those of no dimensions as vectors of one."""
    found = []
    for array in arrays:
        if not _is_array(array):
            found.append(array)
            continue
        value = spread(level, array)
        found.append(reshaped(value, (level.size, *(1,) * (max(ndim, 1) - array.ndim), *array.shape)))
    return found


@rule("gather scatter scatter_reduce")
def gather(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, indices = arrays[:2]
    ndim = max(x.ndim, indices.ndim)
    result = call(name, _three(level, arrays, ndim), {**attributes, "axis": dimension(attributes["axis"], ndim)})
    wanted = indices.shape if name == "gather" else x.shape
    return lift(level, reshaped(result, (level.size, *wanted)))


@rule("gather_grad")
def gather_grad(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    shape = tuple(attributes["shape"])
    ndim = max(len(shape), 1)
    result = call(name, _three(level, arrays, ndim), {"shape": (level.size, *(shape or (1,))),
                                                      "axis": dimension(attributes["axis"], ndim)})
    return lift(level, reshaped(result, (level.size, *shape)))


@rule("index_select")
def index_select(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, indices = arrays
    axis = attributes["axis"] % max(x.ndim, 1)
    if x.ndim == 0:
        return NotImplemented
    if not at(level, indices):
        return lift(level, call(name, (x.value, indices), {"axis": axis + 1}))
    return getitem(level, "getitem", (x,), {"index": (*(_ALL,) * axis, indices)})


@rule("index_select_grad")
def index_select_grad(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    g, indices = arrays
    if at(level, indices):
        return NotImplemented
    return lift(level, call(name, (g.value, indices), {"shape": (level.size, *attributes["shape"]),
                                                       "axis": dimension(attributes["axis"], len(attributes["shape"]))}))


@rule("index_add")
def index_add(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, indices, source = arrays
    if at(level, indices) or x.ndim == 0:
        return NotImplemented
    return lift(level, call(name, (spread(level, x), indices, spread(level, source)),
                            {"axis": dimension(attributes["axis"], x.ndim)}))


@rule("embedding")
def embedding(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    weight, indices = arrays
    if not at(level, weight):
        return lift(level, call(name, (weight, indices.value), attributes))
    if not at(level, indices):
        return getitem(level, "getitem", (weight,), {"index": (indices,)})
    return lift(level, call("getitem", (weight.value,), {"index": (_numbers(level, weight.value, indices.ndim), indices.value)}))


@rule("embedding_grad")
def embedding_grad(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """One table with the rows of all batch elements: g (N, D), and indices (N,)."""
    g, indices = arrays
    rows, padding = attributes["rows"], attributes["padding_idx"]
    numbers, gradients = spread(level, indices), spread(level, g)
    if padding is not None:  # a row of each table: those gradients are zeros
        keep = call("ne", (numbers, padding), {})
        keep = reshaped(keep, (*keep.shape, 1))
        gradients = call("mul", (gradients, call("cast", (keep,), {"dtype": gradients.dtype})), {})
    offsets = call("mul", (_numbers(level, numbers, indices.ndim), rows), {})
    count = level.size * indices.size
    places = reshaped(call("add", (numbers, offsets), {}), (count,))
    result = call(name, (reshaped(gradients, (count, g.shape[-1])), places), {"rows": rows * level.size, "padding_idx": None})
    return lift(level, reshaped(result, (level.size, rows, *result.shape[1:])))
