"""Rows of the op table for views, stacks, scans, order statistics, reductions and writing by index."""
from __future__ import annotations

from typing import Any

import numpy as np

import lucid
from tests.ops.row import Row, matrix, pair

CUBE = (2, 3, 4)


def _index(like: lucid.Tensor, values: Any) -> lucid.Tensor:
    return lucid.tensor(values, device=like.device)


def _scatter_row(reduce: str, ufunc: Any, include_self: bool) -> Row:
    """`scatter_reduce` of five numbers into three of four places along dimension 0."""
    places = np.array([[0, 2, 2, 0], [2, 2, 3, 0], [0, 2, 3, 3]])
    neutral = {"prod": 1.0, "amax": -np.inf, "amin": np.inf, "sum": 0.0, "mean": 0.0}[reduce]

    def reference(x: np.ndarray, source: np.ndarray) -> np.ndarray:
        result, count = x.copy(), np.full(x.shape, float(include_self))
        spot = (places, np.broadcast_to(np.arange(4), places.shape))
        if not include_self:
            result[spot] = neutral
        ufunc.at(result, spot, source)
        np.add.at(count, spot, 1.0)
        return result / np.maximum(count, 1) if reduce == "mean" else result

    return Row(f"scatter_reduce {reduce} {include_self}", lambda x, source: lucid.scatter_reduce(
        x, 0, _index(x, places), source, reduce, include_self=include_self), reference, pair(a=(4, 4), b=(3, 4)))


def _windows(x: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2]


def _replaced(x: np.ndarray, index: Any, value: Any) -> np.ndarray:
    result = x.copy()
    result[index] = value
    return result


def _quantile(interpolation: str) -> Row:
    return Row(f"quantile {interpolation}", lambda x: lucid.quantile(x, 0.3, 1, interpolation=interpolation),
               lambda x: np.quantile(x, 0.3, 1, method=interpolation), matrix())


ROWS = [
    Row("as_strided", lambda x: x.as_strided((3, 2, 2), (1, 2, 4), 1),
        lambda x: np.lib.stride_tricks.as_strided(x.copy().reshape(-1)[1:], (3, 2, 2), (8, 16, 32)),
        lambda rng: [rng.uniform(-2, 2, 12)]),
    Row("windows", lambda x: x.unfold(1, 3, 2), _windows, matrix(shape=(3, 7))),
    Row("diag_embed", lambda x: lucid.diag_embed(x, 1), lambda x: np.stack([np.diag(row, 1) for row in x]), matrix()),
    Row("diagflat", lucid.diagflat, np.diagflat, matrix()),
    Row("diagonal dims", lambda x: x.diagonal(1, 2, 0), lambda x: np.diagonal(x, 1, 2, 0), matrix(shape=CUBE)),
    Row("diagonal_scatter", lambda a, b: a.diagonal_scatter(b), lambda a, b: _replaced(a, np.diag_indices(3), b),
        pair(a=(3, 3), b=(3,))),
    Row("select_scatter", lambda a, b: a.select_scatter(b, 0, -1), lambda a, b: _replaced(a, -1, b), pair(b=(4,))),
    Row("slice_scatter", lambda a, b: a.slice_scatter(b, 1, 0, 4, 2), lambda a, b: _replaced(a, np.s_[:, 0:4:2], b),
        pair(b=(3, 2))),
    Row("as_strided_scatter", lambda a, b: a.as_strided_scatter(b, (3,), (3,), 1),
        lambda a, b: _replaced(a, np.s_[1:8:3], b), pair(a=(12,), b=(3,))),
    Row("rot90", lambda x: lucid.rot90(x, 3), lambda x: np.rot90(x, 3), matrix()),
    Row("dstack", lambda a, b: lucid.dstack([a, b]), lambda a, b: np.dstack([a, b]), pair()),
    Row("column_stack", lambda a, b: lucid.column_stack([a, b]), lambda a, b: np.column_stack([a, b]), pair(b=(3, 2))),
    Row("row_stack", lambda a, b: lucid.row_stack([a, b]), lambda a, b: np.vstack([a, b]), pair(b=(4,))),
    Row("block_diag", lambda a, b: lucid.block_diag(a, b), lambda a, b: np.block([[a, np.zeros((3, 2))], [np.zeros((2, 4)), b]]),
        pair(b=(2, 2))),
    Row("hsplit", lambda x: x.hsplit(2)[1], lambda x: np.hsplit(x, 2)[1], matrix()),
    Row("vsplit", lambda x: x.vsplit((1, 2))[1], lambda x: np.vsplit(x, (1, 2))[1], matrix()),
    Row("dsplit", lambda x: x.dsplit(2)[0], lambda x: np.dsplit(x, 2)[0], matrix(shape=CUBE)),
    Row("meshgrid", lambda a, b: lucid.stack(lucid.meshgrid(a, b, indexing="xy")), lambda a, b: np.stack(np.meshgrid(a, b)),
        pair(a=(3,), b=(2,))),
    Row("combinations", lambda a: lucid.combinations(a), lambda a: np.array([[a[0], a[1]], [a[0], a[2]], [a[1], a[2]]]),
        matrix(shape=(3,))),
    Row("cumprod", lambda x: x.cumprod(1), lambda x: np.cumprod(x, 1), matrix()),
    Row("cumprod with zeros", lambda x: (x * _index(x, [1.0, 0.0, 1.0, 0.0]).to(x.dtype)).cumprod(1),
        lambda x: np.cumprod(x * [1, 0, 1, 0], 1), matrix()),
    Row("cummax", lambda x: x.cummax(1).values, lambda x: np.maximum.accumulate(x, 1), matrix()),
    Row("cummin", lambda x: x.cummin(0).values, lambda x: np.minimum.accumulate(x, 0), matrix()),
    Row("logcumsumexp", lambda x: x.logcumsumexp(1), lambda x: np.logaddexp.accumulate(x, 1), matrix()),
    Row("diff", lambda x: x.diff(2, 1), lambda x: np.diff(x, 2, 1), matrix()),
    Row("trapezoid", lambda y, x: lucid.trapezoid(y, x), lambda y, x: np.trapezoid(y, x), pair(b=(4,))),
    Row("cumulative_trapezoid", lambda y: lucid.cumulative_trapezoid(y, dx=0.5, dim=0),
        lambda y: np.cumsum((y[1:] + y[:-1]) * 0.25, 0), matrix()),
    Row("aminmax", lambda x: x.aminmax(dim=1).max - x.aminmax(dim=1).min, lambda x: np.ptp(x, 1), matrix()),
    Row("median", lambda x: x.median(), lambda x: np.quantile(x, 0.5, method="lower"), matrix()),
    Row("median dim", lambda x: x.median(1).values, lambda x: np.quantile(x, 0.5, 1, method="lower"), matrix()),
    Row("nanmedian", lambda x: x.nanmedian(0, True).values, lambda x: np.quantile(x, 0.5, 0, method="lower", keepdims=True), matrix()),
    Row("kthvalue", lambda x: x.kthvalue(2).values, lambda x: np.sort(x, 1)[:, 1], matrix()),
    Row("mode", lambda x: x.mode(1).values, lambda x: x.min(1), matrix()),
    Row("msort", lambda x: x.msort(), lambda x: np.sort(x, 0), matrix()),
    *map(_quantile, ("linear", "lower", "higher", "nearest", "midpoint")),
    Row("nanquantile", lambda x: x.nanquantile(0.7), lambda x: np.quantile(x, 0.7), matrix()),
    Row("nansum", lambda x: x.nansum(1), lambda x: x.sum(1), matrix()),
    Row("nanmean", lambda x: x.nanmean(1, True), lambda x: x.mean(1, keepdims=True), matrix()),
    Row("dist", lambda a, b: lucid.dist(a, b, 3), lambda a, b: (np.abs(a - b) ** 3).sum() ** (1 / 3), pair()),
    Row("cov", lambda x: x.cov(), np.cov, matrix()), Row("corrcoef", lambda x: x.corrcoef(), np.corrcoef, matrix()),
    _scatter_row("sum", np.add, True), _scatter_row("sum", np.add, False), _scatter_row("mean", np.add, True),
    _scatter_row("mean", np.add, False), _scatter_row("prod", np.multiply, True), _scatter_row("prod", np.multiply, False),
    _scatter_row("amax", np.maximum, True), _scatter_row("amax", np.maximum, False),
    _scatter_row("amin", np.minimum, True), _scatter_row("amin", np.minimum, False),
    Row("index_reduce", lambda a, b: a.index_reduce(0, _index(a, [0, 0, 2]), b, "prod"),
        lambda a, b: np.stack([a[0] * b[0] * b[1], a[1], a[2] * b[2]]), pair(b=(3, 4))),
    Row("put", lambda a, b: a.put(_index(a, [0, -1, 5]), b), lambda a, b: _replaced(a.reshape(-1), [0, -1, 5], b).reshape(3, 4),
        pair(b=(3,))),
    Row("masked_scatter", lambda a, b: a.masked_scatter(_index(a, [True, False, True, False]), b),
        lambda a, b: _replaced(a, np.s_[:, [0, 2]], b), pair(b=(3, 2))),
    Row("histc", lambda x: lucid.histc(x, 6, -2, 2), lambda x: np.histogram(x, 6, (-2, 2))[0].astype(float), matrix(), False),
    Row("isin", lambda a, b: lucid.isin(a.round(), b.round()), lambda a, b: np.isin(np.round(a), np.round(b)), pair(b=(3,)), False),
    Row("unique", lambda x: x.round().unique(), lambda x: np.unique(np.round(x)) + 0.0, matrix(), False,
        data_dependent=True),
    Row("einops.rearrange", lambda x: lucid.einops.rearrange(x, "a (b c) d -> (d a) c b", b=1), lambda x: x.transpose(
        2, 0, 1).reshape(8, 3, 1), matrix(shape=CUBE)),
]
