"""Rows of the op table for order and search: sort, topk, kthvalue, searchsorted, isin."""
from __future__ import annotations

import functools

import numpy as np

from tests.ops.table.row import Row, constant, matrix, pair

CUBE = (2, 3, 4)
EDGES = [-1.0, 0.0, 0.5, 1.5]


def _descending(x: np.ndarray, axis: int) -> np.ndarray:
    return np.flip(np.sort(x, axis), axis)


def _places(edges: np.ndarray, values: np.ndarray, side: str) -> np.ndarray:
    """`np.searchsorted` row by row."""
    return np.stack([np.searchsorted(row, value, side) for row, value in zip(edges, values, strict=True)])


def _kth(x: np.ndarray, k: int, axis: int) -> tuple[np.ndarray, np.ndarray]:
    return np.take(np.sort(x, axis), k - 1, axis), np.take(np.argsort(x, axis), k - 1, axis)


def _distinct(rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers without ties in any dtype: which of equal ones is found is arbitrary."""
    return [rng.permutation(12).reshape(3, 4) / 2]


_whole = functools.partial(Row, smooth=False)  # results are numbers of places

ROWS = [
    Row("sort", matrix(), lambda x: (np.sort(x), np.argsort(x)), out=True),
    Row("sort", matrix(shape=CUBE), lambda x: (_descending(x, 1), np.argsort(-x, 1)),
        lambda lib, x: lib.sort(x, 1, descending=True), variant="descending"),
    Row("sort", matrix(), lambda x: (np.sort(np.trunc(x), 0), np.argsort(np.trunc(x), 0, kind="stable")),
        lambda lib, x: lib.sort(x.trunc(), dim=0, stable=True), variant="stable"),
    Row("sort", matrix(), lambda x: (_descending(np.trunc(x), 1), np.argsort(-np.trunc(x), 1, kind="stable")),
        lambda lib, x: x.trunc().sort(dim=1, stable=True, descending=True), variant="stable descending"),
    Row("sort", matrix(shape=()), lambda x: (x, np.zeros((), int)), lambda lib, x: x.sort(), variant="0-d"),
    Row("sort", matrix(shape=(0, 3)), lambda x: (x, np.zeros((0, 3), int)), lambda lib, x: x.sort(0), variant="empty"),
    _whole("argsort", matrix(), np.argsort),
    _whole("argsort", matrix(), lambda x: np.argsort(-x, 0, kind="stable"),
           lambda lib, x: x.argsort(dim=0, descending=True, stable=True), variant="descending"),
    _whole("argsort", matrix(shape=()), lambda x: np.zeros((), int), variant="0-d"),
    Row("msort", matrix(), lambda x: np.sort(x, 0), out=True),
    Row("topk", _distinct, lambda x: (_descending(x, 1)[:, :2], np.argsort(-x)[:, :2]),
        lambda lib, x, **out: lib.topk(x, 2, **out), out=True),
    Row("topk", _distinct, lambda x: (np.sort(x, 0)[:2], np.argsort(x, 0)[:2]),
        lambda lib, x: x.topk(2, 0, largest=False), variant="smallest"),
    Row("topk", matrix(), lambda x: np.sort(_descending(x, 1)[:, :3], 1),
        lambda lib, x: x.topk(3, sorted=False).values.sort(1).values, variant="not sorted"),
    Row("topk", matrix(), lambda x: x[:, :0], lambda lib, x: x.topk(0).values, variant="none"),
    Row("topk", matrix(shape=()), lambda x: (x, np.zeros((), int)), lambda lib, x: x.topk(1), variant="0-d"),
    Row("kthvalue", matrix(), lambda x: _kth(x, 2, 1), lambda lib, x, **out: lib.kthvalue(x, 2, **out), out=True),
    Row("kthvalue", matrix(shape=CUBE), lambda x: tuple(np.expand_dims(part, 1) for part in _kth(x, 3, 1)),
        lambda lib, x: x.kthvalue(3, dim=1, keepdim=True), variant="keepdim"),
    Row("kthvalue", matrix(shape=()), lambda x: (x, np.zeros((), int)), lambda lib, x: x.kthvalue(1), variant="0-d",
        dtypes_differ=("bool", "complex64", "complex128")),
    _whole("searchsorted", matrix(), lambda x: np.searchsorted(EDGES, x),
           lambda lib, x, **out: lib.searchsorted(constant(lib, x, EDGES).to(x.dtype), x, **out), out=True),
    _whole("searchsorted", matrix(), lambda x: np.searchsorted(EDGES, np.trunc(x), "right"),
           lambda lib, x: lib.searchsorted(constant(lib, x, EDGES).to(x.dtype), x.trunc(), right=True), variant="right"),
    _whole("searchsorted", pair(b=(3, 2)), lambda edges, x: _places(np.sort(edges), x, "left"),
           lambda lib, edges, x: lib.searchsorted(edges.sort().values, x), variant="rows"),
    _whole("searchsorted", pair(b=(3, 2)), lambda edges, x: _places(np.sort(edges), x, "right"),
           lambda lib, edges, x: lib.searchsorted(edges, x, side="right", sorter=edges.argsort()), variant="sorter"),
    _whole("searchsorted", matrix(shape=(4,)), lambda edges: np.searchsorted(np.sort(edges), 0.3).astype(np.int32),
           lambda lib, edges: lib.searchsorted(edges.sort().values, 0.3, out_int32=True), variant="a number"),
    _whole("searchsorted", pair(a=(0,), b=(3,)), lambda edges, x: np.zeros(3, int), variant="no edges"),
    _whole("bucketize", matrix(), lambda x: np.searchsorted(EDGES, x),
           lambda lib, x, **out: lib.bucketize(x, constant(lib, x, EDGES).to(x.dtype), **out), out=True),
    _whole("bucketize", matrix(), lambda x: np.searchsorted(EDGES, np.trunc(x), "right").astype(np.int32),
           lambda lib, x: lib.bucketize(x.trunc(), constant(lib, x, EDGES).to(x.dtype), out_int32=True, right=True),
               variant="right"),
    _whole("bucketize", matrix(shape=(4,)), lambda edges: np.searchsorted(np.sort(edges), 0.3),
           lambda lib, edges: lib.bucketize(0.3, edges.sort().values), variant="a number"),
    _whole("isin", pair(b=(3,)), lambda a, b: np.isin(np.round(a), np.round(b)),
           lambda lib, a, b, **out: lib.isin(a.round(), b.round(), **out), out=True),
    _whole("isin", pair(b=(3,)), lambda a, b: np.isin(np.round(a), np.round(b), invert=True),
           lambda lib, a, b: lib.isin(a.round(), b.round(), invert=True, assume_unique=False), variant="invert"),
    _whole("isin", matrix(), lambda a: np.isin(np.round(a), 1), lambda lib, a: lib.isin(a.round(), 1), variant="a number"),
    _whole("isin", pair(b=(0,)), lambda a, b: np.zeros((3, 4), bool), variant="among none"),
]
