"""Rows of the op table for reading and writing elements by index: `x[...]`, gather and scatter, masks."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.ops.table.row import Inputs, Row, constant, matrix, pair, replaced

CUBE = (2, 3, 4)
MASK = [[True, False, True, False], [False, False, False, True], [True, True, False, False]]
NOWHERE = np.zeros((3, 4), bool).tolist()
PLACES = np.array([[0, 2, 2, 0], [2, 2, 3, 0], [0, 2, 3, 3]])
ALONG = (PLACES, np.broadcast_to(np.arange(4), PLACES.shape))  # where `PLACES` along dimension 0 points to
ONCE = np.array([[0, 2, 1, 3], [3, 0, 2, 1], [1, 3, 0, 2]])  # no place twice in a column

_row = functools.partial(Row, complex=True)


def _inputs(*shapes: tuple[int, ...]) -> Inputs:
    return lambda rng: [rng.uniform(-2.0, 2.0, shape) for shape in shapes]


def _added(x: np.ndarray, index: Any, value: Any) -> np.ndarray:
    result = x.copy()
    np.add.at(result, index, value)
    return result


def _assigned(x: Any, index: Any, value: Any) -> Any:
    result = x.clone()
    result[index] = value
    return result


def _tensors(library: Any, like: Any, index: Any) -> Any:
    """`index` with its lists as tensors beside `like`."""
    if isinstance(index, tuple):
        return tuple(_tensors(library, like, item) for item in index)
    return constant(library, like, index) if isinstance(index, list) else index


# An index in which lists stand for tensors, and the shape of what it picks of a (2, 3, 4) array.
INDICES: list[tuple[str, Any, tuple[int, ...]]] = [
    ("number", 1, (3, 4)), ("numbers", (1, -1, 2), ()), ("slices", np.s_[:, 1:, ::2], (2, 2, 2)),
    ("empty slice", np.s_[:, 3:], (2, 0, 4)), ("slice beyond", np.s_[-9:9, :-1], (2, 2, 4)),
    ("ellipsis", np.s_[..., 0], (2, 3)), ("none", np.s_[None, :, None, 1], (1, 2, 1, 4)), ("all", ..., (2, 3, 4)),
    ("vector", [1, 0, 1], (3, 3, 4)), ("negative vector", np.s_[:, [-1, 0]], (2, 2, 4)),
    ("matrix", np.s_[:, :, [[0, -1], [3, 3]]], (2, 3, 2, 2)), ("two vectors", ([0, 1], [2, 0]), (2, 4)),
    ("broadcast", np.s_[:, [[0], [2]], [1, 3, 0]], (2, 2, 3)), ("apart", ([0, 1], slice(None), [3, 1]), (2, 3)),
    ("vector and number", ([1, 1], slice(None), 0), (2, 3)), ("vector after none", np.s_[None, [1], ..., :2], (1, 1, 3, 2)),
    ("number between", np.s_[:, 1, [0, 2]], (2, 2)), ("empty vector", np.s_[:, np.zeros(0, np.int64)], (2, 0, 4)),
    ("mask", [[True, False, True], [False, False, True]], (3, 4)), ("mask of the end", np.s_[..., [True, False, False, True]],
                                                                     (2, 3, 2)),
    ("mask and vector", ([True, True], slice(None), [1, 0]), (2, 3)), ("true", True, (1, 2, 3, 4)),
    ("false", False, (0, 2, 3, 4)),
]


def _get(name: str, index: Any) -> Row:
    return _row("Tensor.__getitem__", matrix(shape=CUBE), lambda x: x[index], lambda lib, x: x[_tensors(lib, x, index)],
                variant=name)


def _set(name: str, index: Any, shape: tuple[int, ...]) -> Row:
    """Each element is written once: after several writes to a place any of them may stay."""
    return _row("Tensor.__setitem__", pair(a=CUBE, b=shape), lambda x, y: replaced(x, index, y),
                lambda lib, x, y: _assigned(x, _tensors(lib, x, index), y), variant=name)


_TWICE = {"vector", "matrix", "vector and number"}
READ = [_get(name, index) for name, index, _ in INDICES]
WRITTEN = [_set(name, index, shape) for name, index, shape in INDICES if name not in _TWICE] + [
    _row("Tensor.__setitem__", matrix(), lambda x: replaced(x, np.s_[1:, ::2], 0.5),
         lambda lib, x: _assigned(x, np.s_[1:, ::2], 0.5),
         variant="a number"),
    _row("Tensor.__setitem__", pair(b=()), lambda x, y: replaced(x, np.s_[:, [0, 2]], y),
         lambda lib, x, y: _assigned(x, (slice(None), constant(lib, x, [0, 2])), y), variant="0-d"),
    _row("Tensor.__setitem__", pair(b=(3, 1)), lambda x, y: replaced(x, np.s_[:, 1:], y),
         lambda lib, x, y: _assigned(x, np.s_[:, 1:], y), variant="broadcast value"),
    _row("Tensor.__setitem__", pair(b=(1, 1, 2)), lambda x, y: replaced(x, (np.array([0, 2]), np.array([1, 1])), y[0, 0]),
         lambda lib, x, y: _assigned(x, ([0, 2], [1, 1]), y), variant="long value"),
    _row("Tensor.__setitem__", matrix(), lambda x: replaced(x, np.s_[0], x[1]), lambda lib, x: _assigned(x, 0, x[1]),
         variant="from itself"),
    _row("Tensor.__setitem__", pair(b=(5,)), lambda x, y: replaced(x, np.array(MASK), y),
         lambda lib, x, y: _assigned(x, constant(lib, x, MASK), y), variant="whole mask"),
]

SELECTED = [
    _row("index_select", matrix(), lambda x: x[[2, 0, 2]],
         lambda lib, x, **out: lib.index_select(x, 0, constant(lib, x, [2, 0, 2]), **out), out=True),
    _row("index_select", matrix(shape=CUBE), lambda x: x[:, :, [3]], lambda lib, x: x.index_select(-1, constant(lib, x, 3)),
         variant="0-d index"),
    _row("index_select", matrix(shape=()), lambda x: x, lambda lib, x: x.index_select(0, constant(lib, x, [0])), variant="0-d"),
    _row("index_select", matrix(), lambda x: x[:, :0],
         lambda lib, x: x.index_select(1, constant(lib, x, np.zeros(0, np.int32))), variant="nothing"),
    _row("gather", matrix(shape=(4, 4)), lambda x: x[ALONG],
         lambda lib, x, **out: lib.gather(x, 0, constant(lib, x, PLACES), **out), out=True),
    _row("gather", matrix(shape=CUBE),
         lambda x: np.take_along_axis(x[:1, :2], np.array([[[3, 0]], [[1, 1]]]).transpose(1, 0, 2), 2),
         lambda lib, x: x.gather(-1, constant(lib, x, [[[3, 0], [1, 1]]])), variant="smaller index"),
    _row("gather", matrix(shape=()), lambda x: x, lambda lib, x: x.gather(0, constant(lib, x, 0)), variant="0-d"),
    _row("gather", matrix(), lambda x: x[:0],
         lambda lib, x: x.gather(0, constant(lib, x, np.zeros((0, 4), np.int64))), variant="nothing"),
    _row("take", matrix(), lambda x: x.reshape(-1)[[[0, -1], [5, 5]]],
         lambda lib, x, **out: lib.take(x, constant(lib, x, [[0, -1], [5, 5]]), **out), out=True),
    _row("take", matrix(shape=()), lambda x: np.stack([x, x]), lambda lib, x: x.take(constant(lib, x, [0, -1])), variant="0-d"),
    _row("take_along_dim", matrix(), lambda x: np.take_along_axis(x, np.array([[3, 0], [1, 1], [2, 2]]), 1),
         lambda lib, x, **out: lib.take_along_dim(x, constant(lib, x, [[3, 0], [1, 1], [2, 2]]), 1, **out), out=True),
    _row("take_along_dim", matrix(), lambda x: np.take_along_axis(x, np.array([[2]]), 0),
         lambda lib, x: x.take_along_dim(constant(lib, x, [[2]]), dim=0), variant="broadcast"),
    _row("take_along_dim", matrix(), lambda x: x.reshape(-1)[[7, 0]], lambda lib, x: x.take_along_dim(constant(lib, x, [7, 0])),
         variant="flat"),
    _row("masked_select", matrix(), lambda x: x[np.array(MASK)],
         lambda lib, x, **out: lib.masked_select(x, constant(lib, x, MASK), **out),
         data_dependent=True, out=True),
    _row("masked_select", matrix(shape=(3, 1)), lambda x: np.broadcast_to(x, (3, 4))[np.array(MASK)],
         lambda lib, x: x.masked_select(constant(lib, x, MASK)), data_dependent=True, variant="broadcast"),
    _row("masked_select", matrix(), lambda x: x[np.array(NOWHERE)], lambda lib, x: x.masked_select(constant(lib, x, NOWHERE)),
         data_dependent=True, variant="nothing"),
    _row("nonzero", matrix(), lambda x: np.argwhere(np.round(x.real)), lambda lib, x: lib.nonzero(x.real.round()),
         data_dependent=True, smooth=False),
    _row("nonzero", matrix(shape=CUBE), lambda x: np.nonzero(x.real > 0),
         lambda lib, x: lib.nonzero(x.real > 0, as_tuple=True), data_dependent=True, smooth=False, variant="tuple"),
    _row("nonzero", matrix(shape=()), np.argwhere,
         lambda lib, x: lib.nonzero(x), data_dependent=True, smooth=False, variant="0-d"),
    _row("argwhere", matrix(), lambda x: np.argwhere(np.round(x.real)), lambda lib, x: lib.argwhere(x.real.round()),
         data_dependent=True, smooth=False),
]

FILLED = [
    _row("masked_fill", matrix(), lambda x: np.where(MASK, 2.0, x),
         lambda lib, x: lib.masked_fill(x, constant(lib, x, MASK), 2)),
    _row("masked_fill", pair(b=()), lambda x, y: np.where(MASK[2], y, x),
         lambda lib, x, y: x.masked_fill(constant(lib, x, MASK[2]), y), variant="0-d value"),
    _row("masked_fill", matrix(shape=(4,)), lambda x: np.where(MASK, -1.0, x),
         lambda lib, x: x.masked_fill(constant(lib, x, MASK), -1), variant="broadcast"),
    _row("Tensor.masked_fill_", matrix(), lambda x: np.where(MASK, 2.0, x),
         lambda lib, x: x.clone().masked_fill_(constant(lib, x, MASK), 2)),
    _row("masked_scatter", pair(b=(3, 2)), lambda a, b: replaced(a, np.s_[:, [0, 2]], b),
         lambda lib, a, b: a.masked_scatter(constant(lib, a, [True, False, True, False]), b)),
    _row("Tensor.masked_scatter_", pair(b=(9,)), lambda a, b: replaced(a, np.array(MASK), b[:5]),
         lambda lib, a, b: a.clone().masked_scatter_(constant(lib, a, MASK), b)),
    _row("index_fill", matrix(), lambda x: replaced(x, np.s_[:, [0, 3]], 2.0),
         lambda lib, x: lib.index_fill(x, 1, constant(lib, x, [0, -1]), 2)),
    _row("index_fill", pair(b=()), lambda x, y: replaced(x, [1, 1], y),
         lambda lib, x, y: x.index_fill(0, constant(lib, x, [1, 1]), y), variant="0-d value"),
    _row("Tensor.index_fill_", matrix(), lambda x: replaced(x, [0, 2], 2.0),
         lambda lib, x: x.clone().index_fill_(0, constant(lib, x, [0, 2]), 2)),
]

PUT = [
    _row("index_put", pair(b=(2,)), lambda a, b: replaced(a, ([0, 2], [1, 3]), b),
         lambda lib, a, b: lib.index_put(a, (constant(lib, a, [0, 2]), constant(lib, a, [1, -1])), b)),
    _row("index_put", pair(b=(3, 4)), lambda a, b: _added(a, np.array([0, 2, 0]), b),
         lambda lib, a, b: a.index_put([constant(lib, a, [0, 2, 0])], b, accumulate=True), variant="accumulate"),
    _row("index_put", pair(b=()), lambda a, b: replaced(a, np.array(MASK), b),
         lambda lib, a, b: a.index_put([constant(lib, a, MASK)], b), variant="mask"),
    _row("Tensor.index_put_", pair(b=(5,)), lambda a, b: _added(a, np.array(MASK), b),
         lambda lib, a, b: a.clone().index_put_([constant(lib, a, MASK)], b, True)),
    _row("put", pair(b=(3,)), lambda a, b: replaced(a.reshape(-1), [0, -1, 5], b).reshape(3, 4),
         lambda lib, a, b: a.put(constant(lib, a, [0, -1, 5]), b)),
    _row("Tensor.put_", pair(b=(3,)), lambda a, b: _added(a.reshape(-1), [0, -1, 0], b).reshape(3, 4),
         lambda lib, a, b: a.clone().put_(constant(lib, a, [0, -1, 0]), b, accumulate=True), variant="accumulate"),
    _row("index_add", pair(b=(3, 4)), lambda a, b: _added(a, [2, 0, 2], 3 * b),
         lambda lib, a, b, **out: lib.index_add(a, 0, constant(lib, a, [2, 0, 2]), b, alpha=3, **out), out=True),
    _row("index_add", pair(a=(), b=()), np.add, lambda lib, a, b: a.index_add(0, constant(lib, a, [0]), b), variant="0-d"),
    _row("Tensor.index_add_", pair(b=(3, 2)), lambda a, b: _added(a, np.s_[:, [3, 0]], b),
         lambda lib, a, b: a.clone().index_add_(-1, constant(lib, a, [3, 0]), b)),
    _row("index_copy", pair(b=(2, 4)), lambda a, b: replaced(a, [2, 0], b),
         lambda lib, a, b, **out: lib.index_copy(a, 0, constant(lib, a, [2, 0]), b, **out), out=True),
    _row("Tensor.index_copy_", pair(b=(3, 1)), lambda a, b: replaced(a, np.s_[:, [2]], b),
         lambda lib, a, b: a.clone().index_copy_(1, constant(lib, a, [2]), b)),
    Row("index_reduce", pair(b=(3, 4)), lambda a, b: np.stack([a[0] * b[0] * b[1], a[1], a[2] * b[2]]),
        lambda lib, a, b, **out: lib.index_reduce(a, 0, constant(lib, a, [0, 0, 2]), b, "prod", **out), out=True),
    Row("index_reduce", pair(b=(3, 4)), lambda a, b: np.stack([(b[0] + b[1]) / 2, a[1], b[2]]),
        lambda lib, a, b: a.index_reduce(0, constant(lib, a, [0, 0, 2]), b, "mean", include_self=False), variant="mean",
        dtypes_differ=("bool", "complex64", "complex128")),
    Row("index_reduce", pair(b=(3, 2)),
        lambda a, b: np.concatenate([a[:, :3], np.maximum(a[:, 3:], b.max(1, keepdims=True))], 1),
        lambda lib, a, b: a.index_reduce(1, constant(lib, a, [3, 3]), b, "amax"), variant="amax"),
    Row("Tensor.index_reduce_", pair(b=(2, 4)), lambda a, b: np.stack([b.min(0), a[1], a[2]]),
        lambda lib, a, b: a.clone().index_reduce_(0, constant(lib, a, [0, 0]), b, "amin", include_self=False),
        dtypes_differ=("bool",)),
]


def _scatter_reduce(reduce: str, ufunc: Any, include_self: bool) -> Row:
    neutral = {"prod": 1.0, "amax": -np.inf, "amin": np.inf, "sum": 0.0, "mean": 0.0}[reduce]

    def reference(x: np.ndarray, source: np.ndarray) -> np.ndarray:
        result, count = x.copy(), np.full(x.shape, float(include_self))
        if not include_self:
            result[ALONG] = neutral
        ufunc.at(result, ALONG, source)
        np.add.at(count, ALONG, 1.0)
        return result / np.maximum(count, 1) if reduce == "mean" else result

    return Row("scatter_reduce", pair(a=(4, 4), b=(3, 4)), reference, lambda lib, x, source, **out: lib.scatter_reduce(
        x, 0, constant(lib, x, PLACES), source, reduce, include_self=include_self, **out), out=True,
        variant=f"{reduce} {'with' if include_self else 'without'} self")


SCATTERED = [
    _row("scatter", pair(a=(4, 4), b=(3, 4)), lambda a, b: replaced(a, (ONCE, ALONG[1]), b),
         lambda lib, a, b, **out: lib.scatter(a, 0, constant(lib, a, ONCE), b, **out), out=True),
    _row("scatter", matrix(shape=(4, 4)), lambda a: replaced(a, ALONG, 2.0),
         lambda lib, a: a.scatter(0, constant(lib, a, PLACES), 2), variant="a number"),
    _row("scatter", pair(a=(3, 5), b=(3, 4)), lambda a, b: replaced(a, ([[0], [1]], [[4, 1], [0, 3]]), b[:2, :2]),
         lambda lib, a, b: a.scatter(-1, constant(lib, a, [[4, 1], [0, 3]]), b), variant="smaller index"),
    _row("scatter", pair(a=(4, 4), b=(3, 4)), lambda a, b: _added(a, ALONG, b),
         lambda lib, a, b: a.scatter(0, constant(lib, a, PLACES), b, reduce="add"), variant="add", smooth=False),
    _row("Tensor.scatter_", matrix(shape=(4, 4)), lambda a: replaced(a, ALONG, 2.0),
         lambda lib, a: a.clone().scatter_(0, constant(lib, a, PLACES), value=2)),
    _row("scatter_add", pair(a=(4, 4), b=(3, 4)), lambda a, b: _added(a, ALONG, b),
         lambda lib, a, b, **out: lib.scatter_add(a, 0, constant(lib, a, PLACES), b, **out), out=True),
    _row("scatter_add", pair(a=(), b=()), np.add, lambda lib, a, b: a.scatter_add(0, constant(lib, a, 0), b), variant="0-d"),
    _row("scatter_add", pair(b=(0, 4)), lambda a, b: a,
         lambda lib, a, b: a.scatter_add(0, constant(lib, a, np.zeros((0, 4), np.int64)), b), variant="nothing"),
    _row("Tensor.scatter_add_", pair(a=(4, 4), b=(3, 4)), lambda a, b: _added(a, ALONG, b),
         lambda lib, a, b: a.clone().scatter_add_(0, constant(lib, a, PLACES), b)),
    *[_scatter_reduce(reduce, ufunc, include_self) for include_self in (True, False) for reduce, ufunc in (
        ("sum", np.add), ("mean", np.add), ("prod", np.multiply), ("amax", np.maximum), ("amin", np.minimum))],
    Row("Tensor.scatter_reduce_", pair(a=(4, 4), b=(3, 4)), lambda a, b: _added(a, ALONG, b),
        lambda lib, a, b: a.clone().scatter_reduce_(0, constant(lib, a, PLACES), b, "sum")),
]

ROWS = READ + WRITTEN + SELECTED + FILLED + PUT + SCATTERED
