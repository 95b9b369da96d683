"""Rules of linear algebra."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..array import MetaArray, blank
from ..probe import probed
from .new_rules import new_rules

RULES, rule = new_rules()


@rule
def kron(a: MetaArray, b: MetaArray) -> MetaArray:
    rank = max(a.ndim, b.ndim)
    n, m = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    return blank([i * j for i, j in zip(n, m, strict=True)], a.dtype)


@rule
def qr(x: MetaArray, *, mode: str) -> tuple[MetaArray, MetaArray]:
    q, r = probed("qr")(x, mode="reduced" if mode == "r" else mode)
    return blank((0,), x.dtype) if mode == "r" else q, r


@rule
def lstsq(a: MetaArray, b: MetaArray, **options: Any) -> tuple[MetaArray, MetaArray, MetaArray]:
    *batch, rows, columns = a.shape
    values = blank((*batch, min(rows, columns)), a.value.real.dtype)
    return blank((*batch, columns, b.shape[-1]), a.dtype), blank(batch, np.int64), values


@rule
def lu_permutation(pivots: MetaArray, *, rows: int) -> MetaArray:
    return blank((*pivots.shape[:-1], rows), np.int64)


@rule
def pair_distances(x: MetaArray, y: MetaArray | None, *, p: int) -> MetaArray:
    batch, rows = x.shape[:2]
    return blank((batch, rows * (rows - 1) // 2) if y is None else (batch, rows, y.shape[1]), x.dtype)


@rule
def pair_distances_grad(g: MetaArray, distances: MetaArray, x: MetaArray, y: MetaArray | None, *, p: int) -> MetaArray:
    return blank(x.shape, x.dtype)


@rule
def csr_matmul(values: MetaArray, compressed: MetaArray, plain: MetaArray, dense: MetaArray) -> MetaArray:
    return blank((compressed.size - 1, dense.shape[1]), dense.dtype)


@rule
def csr_sampled(a: MetaArray, b: MetaArray, compressed: MetaArray, plain: MetaArray) -> MetaArray:
    return blank(plain.shape, a.dtype)


@rule
def ldl_factor(a: MetaArray, *, hermitian: bool) -> tuple[MetaArray, MetaArray, MetaArray]:
    return blank(a.shape, a.dtype), blank(a.shape[:-1], np.dtype(np.int32)), blank(a.shape[:-2], np.dtype(np.int32))


@rule
def ldl_solve(compact: MetaArray, pivots: MetaArray, b: MetaArray, *, hermitian: bool) -> MetaArray:
    return blank(b.shape, b.dtype)
