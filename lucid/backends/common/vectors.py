"""Inner, cross and Kronecker products and distances of vectors, for NumPy and CuPy: `table(xp, entries, scatter_add)`."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import wide

Array = Any
Kernel = Callable[..., Any]


def lines_of_product(xp: Any, a: Array, b: Array) -> tuple[Array, Array, list[int]]:
    """Two arrays whose product, by broadcasting, is `kron`'s in another shape, and its shape.

    Their lines are as long as those of the result: where the innermost loop is as long as those of `b`, NumPy takes 2 to 6 times
    as long.
    """
    rank = max(a.ndim, b.ndim)
    n, m = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    shape = [i * j for i, j in zip(n, m, strict=True)]
    left, right = xp.empty((*n, m[-1]), a.dtype), xp.empty((*m[:-1], n[-1], m[-1]), b.dtype)
    left[...], right[...] = a.reshape(n)[..., None], b.reshape(m)[..., None, :]
    left = left.reshape([*itertools.chain(*[(length, 1) for length in n[:-1]]), shape[-1]])
    right = right.reshape([*itertools.chain(*[(1, length) for length in m[:-1]]), shape[-1]])
    return left, right, shape


def table(xp: Any, entries: dict[str, Kernel], scatter_add: Kernel) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy), with its other `entries`, by the time of a call, and its `scatter_add(array, index,
    values)`.
    """
    def dot(a: Array, b: Array) -> Array:
        """The sum of the products of the elements of two vectors of one length and dtype."""
        return entries["matmul"](a, b)

    def cross(a: Array, b: Array, *, axis: int) -> Array:
        """The cross products of the vectors along `axis`, of length 3, of two arrays of one shape; row-major."""

        def turned(x: Array, steps: int) -> Array:
            return xp.roll(x, steps, axis)

        return xp.ascontiguousarray(turned(a, -1) * turned(b, 1) - turned(a, 1) * turned(b, -1))

    def kron(a: Array, b: Array) -> Array:
        """The Kronecker product of two arrays of one dtype."""
        if not a.ndim and not b.ndim:
            return entries["mul"](a, b)
        left, right, shape = lines_of_product(xp, a, b)
        return entries["mul"](left, right).reshape(shape)

    def euclidean_distances(x: Array, y: Array) -> Array:
        """The distances of the rows of `x` (..., P, M) and `y` (..., R, M) by a product of matrices."""
        a, b = wide(x), wide(y)
        squares = entries["matmul"](a * -2, b, transpose_b=True)
        squares += (a * a).sum(axis=-1, keepdims=True)
        squares += (b * b).sum(axis=-1)[..., None, :]
        return xp.sqrt(xp.maximum(squares, 0, out=squares), out=squares).astype(x.dtype, copy=False)

    def differences(x: Array, y: Array | None) -> Array:
        """Of all pairs of vectors of (B, P, M) and (B, R, M), or without `y` of the pairs i < j of different ones of `x`."""
        if y is not None:
            return x[:, :, None] - y[:, None]
        first, second = (xp.asarray(indices) for indices in np.triu_indices(x.shape[1], 1))
        return x[:, first] - x[:, second]

    def pair_distances(x: Array, y: Array | None, *, p: int) -> Array:
        """The norms of order `p`, 1 or 2, of the differences of the vectors of `x` (B, P, M) and `y` (B, R, M): (B, P, R);
        without `y` of all pairs i < j of different ones of `x`, in order: (B, P * (P - 1) / 2).
        """
        size = differences(wide(x), None if y is None else wide(y))
        found = xp.abs(size).sum(-1) if p == 1 else xp.sqrt((size * size).sum(-1))
        return found.astype(x.dtype, copy=False)

    def pair_distances_grad(g: Array, distances: Array, x: Array, y: Array | None, *, p: int) -> Array:
        """The gradient of `x`, where `g` is that of its `distances`; a distance of 0 has the subgradient 0."""
        slopes, found = wide(g), wide(distances)
        if p == 2:
            slopes = xp.where(found == 0, xp.zeros_like(slopes), slopes / xp.where(found == 0, xp.ones_like(found), found))
        size = differences(wide(x), None if y is None else wide(y))
        parts = slopes[..., None] * (xp.sign(size) if p == 1 else size)
        if y is not None:
            return parts.sum(2).astype(x.dtype, copy=False)
        total = xp.zeros(x.shape, parts.dtype)
        for sign, indices in zip((1, -1), np.triu_indices(x.shape[1], 1), strict=True):
            for batch in range(x.shape[0]):
                scatter_add(total[batch], xp.asarray(indices), sign * parts[batch])
        return total.astype(x.dtype, copy=False)

    functions: tuple[Kernel, ...] = (dot, cross, kron, euclidean_distances, pair_distances, pair_distances_grad)
    return {function.__name__: function for function in functions}
