"""Factors L, D of symmetric indefinite matrices, by Bunch and Kaufman's pivots, in the layout of LAPACK's `sytrf` and `hetrf` for
lower triangles. A column at a time, on the host: `table(to_host, from_host)` says how arrays get there and back.

Source: Bunch and Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems", 1977.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]
_ALPHA = (1 + math.sqrt(17)) / 8  # for which both kinds of steps let elements grow alike


def table(to_host: Kernel, from_host: Kernel) -> dict[str, Kernel]:
    """`ldl_factor` and `ldl_solve` for arrays that `to_host` makes NumPy arrays of."""

    def ldl_factor(a: Array, *, hermitian: bool) -> tuple[Array, Array, Array]:
        """The compact factors, int32 pivots that count from 1 (negative: of two rows), and `info`: 0, or the first zero pivot."""
        compact = np.tril(to_host(a))
        stack = compact.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
        pivots, info = np.zeros(stack.shape[:2], np.int32), np.zeros(stack.shape[0], np.int32)
        with np.errstate(all="ignore"):
            for number, matrix in enumerate(stack):
                info[number] = _factor(matrix, pivots[number], hermitian and a.dtype.kind == "c")
        return (from_host(stack.reshape(a.shape)), from_host(pivots.reshape(a.shape[:-1])),
                from_host(info.reshape(a.shape[:-2])))

    def ldl_solve(compact: Array, pivots: Array, b: Array, *, hermitian: bool) -> Array:
        """The solutions of the systems with the matrices of these factors, whose batches are those of `b`."""
        count = math.prod(b.shape[:-2])
        rows = np.array(to_host(b), order="C").reshape(count, *b.shape[-2:])
        matrices = to_host(compact).reshape(count, *compact.shape[-2:])
        orders = to_host(pivots).reshape(count, pivots.shape[-1])
        with np.errstate(all="ignore"):
            for matrix, order, x in zip(matrices, orders, rows, strict=True):
                _solve(matrix, order, x, hermitian and compact.dtype.kind == "c")
        return from_host(rows.reshape(b.shape))

    return {"ldl_factor": ldl_factor, "ldl_solve": ldl_solve}


def _size(x: Array) -> Array:
    """What pivots are compared by: |re| + |im|, as in LAPACK."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _factor(a: Array, pivots: Array, conjugate: bool) -> int:
    n, k, info = a.shape[0], 0, 0
    while k < n:
        if conjugate:
            a[k, k] = a[k, k].real
        below = _size(a[k + 1:, k])
        largest = k + 1 + int(below.argmax()) if below.size else k
        diagonal, column = _size(a[k, k]), below.max() if below.size else 0.0
        pivot, step = k, 1
        if max(diagonal, column) == 0 or np.isnan(diagonal):
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        if diagonal < _ALPHA * column:
            row = max(_size(a[largest, k:largest]).max(), _size(a[largest + 1:, largest]).max(initial=0))
            if diagonal < _ALPHA * column * (column / row):
                pivot = largest
                step = 1 if _size(a[largest, largest]) >= _ALPHA * row else 2
        last = k + step - 1
        if pivot != last:
            _exchange(a, k, last, pivot, conjugate)
        if step == 1:
            if k + 1 < n:
                rest = a[k + 1:, k].copy()
                scaled = rest / a[k, k]
                a[k + 1:, k + 1:] -= np.tril(np.outer(scaled, rest.conj() if conjugate else rest))
                a[k + 1:, k] = scaled
            pivots[k] = pivot + 1
        else:
            corner = a[k + 1, k]
            block = np.array([[a[k, k], corner.conjugate() if conjugate else corner], [corner, a[k + 1, k + 1]]])
            if k + 2 < n:
                rest = a[k + 2:, k:k + 2].copy()
                scaled = rest @ np.linalg.inv(block)
                a[k + 2:, k + 2:] -= np.tril(scaled @ (rest.conj() if conjugate else rest).T)
                a[k + 2:, k:k + 2] = scaled
            pivots[k] = pivots[k + 1] = -(pivot + 1)
        k += step
    return info


def _exchange(a: Array, k: int, one: int, other: int, conjugate: bool) -> None:
    """Exchange two rows and columns of what is left of a lower triangle from row k on."""
    a[other + 1:, [one, other]] = a[other + 1:, [other, one]]
    between = a[one + 1:other, one].copy()
    a[one + 1:other, one] = a[other, one + 1:other].conj() if conjugate else a[other, one + 1:other]
    a[other, one + 1:other] = between.conj() if conjugate else between
    if conjugate:
        a[other, one] = a[other, one].conjugate()
    a[one, one], a[other, other] = a[other, other], a[one, one]
    if one != k:
        a[one, k], a[other, k] = a[other, k], a[one, k]


def _solve(a: Array, pivots: Array, x: Array, conjugate: bool) -> None:
    n, k = a.shape[0], 0
    steps = []
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        steps.append((k, step))
        one, other = k + step - 1, abs(int(pivots[k])) - 1
        x[[one, other]] = x[[other, one]]
        x[k + step:] -= a[k + step:, k:k + step] @ x[k:k + step]
        if step == 1:
            x[k] /= a[k, k]
        else:
            corner = a[k + 1, k]
            x[k:k + 2] = np.linalg.inv(np.array([[a[k, k], corner.conjugate() if conjugate else corner],
                                                 [corner, a[k + 1, k + 1]]])) @ x[k:k + 2]
        k += step
    for k, step in reversed(steps):
        columns = a[k + step:, k:k + step]
        x[k:k + step] -= (columns.conj() if conjugate else columns).T @ x[k + step:]
        one, other = k + step - 1, abs(int(pivots[k])) - 1
        x[[one, other]] = x[[other, one]]
