"""Rows of the op table for reductions, scans and statistics."""
from __future__ import annotations

import numpy as np

from tests.ops.row import Row, constant, matrix, pair


def _quantile(interpolation: str) -> Row:
    return Row("quantile", matrix(), lambda x: np.quantile(x, 0.3, 1, method=interpolation),
               lambda lib, x: lib.quantile(x, 0.3, 1, interpolation=interpolation), variant=interpolation)


ROWS = [
    Row("cumprod", matrix(), lambda x: np.cumprod(x, 1), lambda lib, x: x.cumprod(1)),
    Row("cumprod", matrix(), lambda x: np.cumprod(x * [1, 0, 1, 0], 1),
        lambda lib, x: (x * constant(lib, x, [1.0, 0.0, 1.0, 0.0]).to(x.dtype)).cumprod(1), variant="with zeros"),
    Row("cummax", matrix(), lambda x: np.maximum.accumulate(x, 1), lambda lib, x: x.cummax(1).values),
    Row("cummin", matrix(), lambda x: np.minimum.accumulate(x, 0), lambda lib, x: x.cummin(0).values),
    Row("logcumsumexp", matrix(), lambda x: np.logaddexp.accumulate(x, 1), lambda lib, x: x.logcumsumexp(1)),
    Row("diff", matrix(), lambda x: np.diff(x, 2, 1), lambda lib, x: x.diff(2, 1)),
    Row("trapezoid", pair(b=(4,)), lambda y, x: np.trapezoid(y, x), lambda lib, y, x: lib.trapezoid(y, x)),
    Row("cumulative_trapezoid", matrix(), lambda y: np.cumsum((y[1:] + y[:-1]) * 0.25, 0),
        lambda lib, y: lib.cumulative_trapezoid(y, dx=0.5, dim=0)),
    Row("aminmax", matrix(), lambda x: np.ptp(x, 1), lambda lib, x: x.aminmax(dim=1).max - x.aminmax(dim=1).min),
    Row("median", matrix(), lambda x: np.quantile(x, 0.5, method="lower"), lambda lib, x: x.median()),
    Row("median", matrix(), lambda x: np.quantile(x, 0.5, 1, method="lower"), lambda lib, x: x.median(1).values, variant="dim"),
    Row("nanmedian", matrix(), lambda x: np.quantile(x, 0.5, 0, method="lower", keepdims=True),
        lambda lib, x: x.nanmedian(0, True).values),
    Row("mode", matrix(), lambda x: x.min(1), lambda lib, x: x.mode(1).values),
    *map(_quantile, ("linear", "lower", "higher", "nearest", "midpoint")),
    Row("nanquantile", matrix(), lambda x: np.quantile(x, 0.7), lambda lib, x: x.nanquantile(0.7)),
    Row("nansum", matrix(), lambda x: x.sum(1), lambda lib, x: x.nansum(1)),
    Row("nanmean", matrix(), lambda x: x.mean(1, keepdims=True), lambda lib, x: x.nanmean(1, True)),
    Row("dist", pair(), lambda a, b: (np.abs(a - b) ** 3).sum() ** (1 / 3), lambda lib, a, b: lib.dist(a, b, 3)),
    Row("cov", matrix(), np.cov, lambda lib, x: x.cov()), Row("corrcoef", matrix(), np.corrcoef, lambda lib, x: x.corrcoef()),
    Row("histc", matrix(), lambda x: np.histogram(x, 6, (-2, 2))[0].astype(float),
        lambda lib, x: lib.histc(x, 6, -2, 2), smooth=False),
    Row("unique", matrix(), lambda x: np.unique(np.round(x)) + 0.0,
        lambda lib, x: x.round().unique(), data_dependent=True, smooth=False),
]
