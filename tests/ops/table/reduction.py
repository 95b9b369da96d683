"""Rows of the op table for reductions, scans and statistics."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.table.row import Row, constant, matrix, pair


def _quantile(interpolation: str) -> Row:
    return Row("quantile", matrix(), lambda x: np.quantile(x, 0.3, 1, method=interpolation),
               lambda lib, x, **out: lib.quantile(x, 0.3, 1, interpolation=interpolation, **out), variant=interpolation,
                   out=True)


def _whole_and_along(op: str, reference: Any, smooth: bool = True, complex: bool = False, **options: Any) -> list[Row]:
    """The rows of a reduction of all elements, and along dimension 1."""
    return [Row(op, matrix(), reference, smooth=smooth, complex=complex, **options),
            Row(op, matrix(), lambda x: reference(x, axis=1), lambda lib, x, **out: getattr(lib, op)(x, 1, **out),
                variant="dim", smooth=smooth, complex=complex, out=True, **options)]


REDUCTIONS = [
    *_whole_and_along("sum", np.sum, complex=True), *_whole_and_along("mean", np.mean, complex=True),
    *_whole_and_along("prod", np.prod, complex=True), *_whole_and_along("amin", np.min), *_whole_and_along("amax", np.max),
    *_whole_and_along("argmin", np.argmin, smooth=False), *_whole_and_along("argmax", np.argmax, smooth=False),
    *_whole_and_along("all", np.all, smooth=False), *_whole_and_along("any", np.any, smooth=False),
    *_whole_and_along("nansum", np.nansum), *_whole_and_along("nanmean", np.nanmean),
    Row("sum", matrix(shape=(2, 3, 4)), lambda x: x.sum((0, 2), keepdims=True),
        lambda lib, x: x.sum((0, 2), True), variant="dims"),
    Row("mean", matrix(shape=(2, 3, 4)), lambda x: x.mean((0, -1)), lambda lib, x: lib.mean(x, (0, -1)), variant="dims"),
    Row("prod", matrix(), lambda x: np.prod(x * [1, 0, 1, 1], 1),
        lambda lib, x: (x * constant(lib, x, [1, 0, 1, 1]).to(x.dtype)).prod(1), variant="with zeros", complex=True),
    Row("var", matrix(), lambda x: np.var(x, ddof=1)), Row("std", matrix(), lambda x: np.std(x, ddof=1)),
    Row("var", matrix(), lambda x: np.var(x, 1),
        lambda lib, x, **out: lib.var(x, 1, correction=0, **out), variant="dim", out=True),
    Row("std", matrix(), lambda x: np.std(x, 1, keepdims=True), lambda lib, x, **out: lib.std(x, 1, False, True, **out),
        variant="dim", out=True),
    Row("var_mean", matrix(), lambda x: (np.var(x, 0, ddof=1), np.mean(x, 0)), lambda lib, x: lib.var_mean(x, 0)),
    Row("std_mean", matrix(), lambda x: (np.std(x, 0, ddof=1), np.mean(x, 0)), lambda lib, x: lib.std_mean(x, 0)),
    Row("min", matrix(), np.min), Row("max", matrix(), np.max),
    Row("min", matrix(), lambda x: (x.min(1), x.argmin(1)),
        lambda lib, x, **out: lib.min(x, 1, **out), variant="dim", out=True),
    Row("max", matrix(), lambda x: (x.max(1), x.argmax(1)),
        lambda lib, x, **out: lib.max(x, 1, **out), variant="dim", out=True),
    Row("aminmax", matrix(), lambda x: (x.min(1), x.max(1)), lambda lib, x, **out: lib.aminmax(x, dim=1, **out), out=True),
    Row("median", matrix(), lambda x: np.quantile(x, 0.5, method="lower")),
    Row("median", matrix(), lambda x: (np.quantile(x, 0.5, 1, method="lower"), np.argsort(x, 1)[:, 1]),
        lambda lib, x, **out: lib.median(x, 1, **out), variant="dim", out=True),
    Row("nanmedian", matrix(), lambda x: np.quantile(x, 0.5, method="lower")),
    Row("nanmedian", matrix(), lambda x: (np.quantile(x, 0.5, 0, method="lower", keepdims=True), np.argsort(x, 0)[1:2]),
        lambda lib, x, **out: lib.nanmedian(x, 0, True, **out), variant="dim", out=True),
    Row("mode", matrix(), lambda x: (x.min(1), x.argmin(1)), lambda lib, x, **out: lib.mode(x, 1, **out), out=True),
    *map(_quantile, ("linear", "lower", "higher", "nearest", "midpoint")),
    Row("nanquantile", matrix(), lambda x: np.quantile(x, 0.7), lambda lib, x, **out: lib.nanquantile(x, 0.7, **out), out=True),
    Row("logsumexp", matrix(), lambda x: np.log(np.exp(x).sum(1)), lambda lib, x, **out: lib.logsumexp(x, 1, **out), out=True),
    Row("norm", matrix(), np.linalg.norm, complex=True),
    Row("norm", matrix(), lambda x: np.linalg.norm(x, 3, 1), lambda lib, x: lib.norm(x, 3, 1), variant="3 dim"),
    Row("dist", pair(), lambda a, b: np.linalg.norm(a - b)),
    Row("dist", pair(), lambda a, b: (np.abs(a - b) ** 3).sum() ** (1 / 3), lambda lib, a, b: lib.dist(a, b, 3), variant="3"),
    Row("count_nonzero", matrix(), lambda x: np.count_nonzero(np.round(x), 1), lambda lib, x: lib.count_nonzero(x.round(), 1),
        smooth=False),
    Row("equal", pair(), np.array_equal, smooth=False), Row("allclose", pair(), np.allclose, smooth=False),
    Row("equal", matrix(), lambda x: True, lambda lib, x: lib.equal(x, x.clone()), variant="to itself", smooth=False),
    Row("allclose", matrix(), lambda x: True, lambda lib, x: lib.allclose(x, x + 0), variant="to itself", smooth=False),
]

SCANS = [
    Row("cumsum", matrix(), lambda x: np.cumsum(x, 1), lambda lib, x, **out: lib.cumsum(x, 1, **out), complex=True, out=True),
    Row("cumprod", matrix(), lambda x: np.cumprod(x, 1),
        lambda lib, x, **out: lib.cumprod(x, 1, **out), complex=True, out=True),
    Row("cumprod", matrix(), lambda x: np.cumprod(x * [1, 0, 1, 0], 1),
        lambda lib, x: (x * constant(lib, x, [1.0, 0.0, 1.0, 0.0]).to(x.dtype)).cumprod(1), variant="with zeros"),
    Row("cummax", matrix(), lambda x: np.maximum.accumulate(x, 1), lambda lib, x: lib.cummax(x, 1)[0]),
    Row("cummin", matrix(), lambda x: np.minimum.accumulate(x, 0), lambda lib, x: lib.cummin(x, 0)[0]),
    Row("logcumsumexp", matrix(), lambda x: np.logaddexp.accumulate(x, 1),
        lambda lib, x, **out: lib.logcumsumexp(x, 1, **out), out=True),
    Row("diff", matrix(), lambda x: np.diff(x, 2, 1), lambda lib, x, **out: lib.diff(x, 2, 1, **out), complex=True, out=True),
    Row("trapezoid", pair(b=(4,)), np.trapezoid), Row("trapz", pair(), np.trapezoid),
    Row("cumulative_trapezoid", matrix(), lambda y: np.cumsum((y[1:] + y[:-1]) * 0.25, 0),
        lambda lib, y: lib.cumulative_trapezoid(y, dx=0.5, dim=0)),
]


def _counts(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.integers(0, 5, 9), rng.uniform(-2, 2, 9)]


STATISTICS = [
    Row("cov", matrix(), np.cov), Row("corrcoef", matrix(), np.corrcoef),
    Row("histc", matrix(), lambda x: np.histogram(x, 6, (-2, 2))[0].astype(float),
        lambda lib, x, **out: lib.histc(x, 6, -2, 2, **out), smooth=False, out=True),
    Row("histogram", matrix(), lambda x: tuple(a.astype(float) for a in np.histogram(x, 4, (-2, 2))),
        lambda lib, x, **out: lib.histogram(x, 4, range=(-2.0, 2.0), **out), smooth=False, out=True),
    Row("bincount", _counts, lambda index, weights: np.bincount(index, weights, 6),
        lambda lib, index, weights: lib.bincount(index, weights, 6), smooth=False, data_dependent=True),
    Row("unique", matrix(), lambda x: np.unique(np.round(x)) + 0.0, lambda lib, x: lib.unique(x.round()), data_dependent=True,
        smooth=False),
    Row("unique", matrix(), lambda x: np.unique(np.round(x), return_inverse=True, return_counts=True),
        lambda lib, x: lib.unique(x.round(), return_inverse=True, return_counts=True), variant="inverse counts",
        data_dependent=True, smooth=False),
    Row("unique_consecutive", lambda rng: [np.array([2.0, 2.0, 1.0, 2.0, 2.0, 2.0, 3.0])],
        lambda x: (np.array([2.0, 1.0, 2.0, 3.0]), np.array([2, 1, 3, 1])),
        lambda lib, x: lib.unique_consecutive(x, return_counts=True), data_dependent=True, smooth=False),
]

ROWS = REDUCTIONS + SCANS + STATISTICS
