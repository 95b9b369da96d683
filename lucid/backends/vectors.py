"""Inner and cross products and distances of vectors on either backend: of many numbers, on a CPU, by our kernels."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .functions import wide
from .lazy import MANY

Array = Any
Kernel = Callable[..., Any]

_LONG = 1 << 8  # elements of an inner product that take less time by our kernel than a call of NumPy's


@functools.cache
def inner_product() -> Any:
    """Our kernel for them, which compiles with Numba: imported with the first long vectors."""
    from lucid_kernels.cpu import inner_product as kernels

    return kernels


def table(xp: Any, matmul: Kernel, scatter_add: Kernel) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy), with its product of matrices and its `scatter_add(array, index, values)`."""

    def by_kernel(x: Array, count: int) -> bool:
        return xp is np and count >= MANY and x.dtype.char in "fd"

    def many_pairs(x: Array, y: Array | None) -> bool:
        return by_kernel(x, x.size * (x if y is None else y).shape[1])

    def dot(a: Array, b: Array) -> Array:
        """The sum of the products of the elements of two vectors of one length and dtype."""
        if xp is not np or a.dtype.char not in "fd":
            return matmul(a, b)
        if a.size < _LONG:
            return np.dot(a, b)
        return np.asarray(inner_product().dot(a, b), a.dtype)

    def cross(a: Array, b: Array, *, axis: int) -> Array:
        """The cross products of the vectors along `axis`, of length 3, of two arrays of one shape; row-major."""
        if by_kernel(a, a.size):
            from lucid_kernels.cpu import cross as kernels

            return kernels.cross(a, b, axis=axis)

        def turned(x: Array, steps: int) -> Array:
            return xp.roll(x, steps, axis)

        return xp.ascontiguousarray(turned(a, -1) * turned(b, 1) - turned(a, 1) * turned(b, -1))

    def euclidean_distances(x: Array, y: Array) -> Array:
        """The distances of the rows of `x` (..., P, M) and `y` (..., R, M) by a product of matrices."""
        a, b = wide(x), wide(y)
        squares = matmul(a * -2, b, transpose_b=True)
        squares += (a * a).sum(axis=-1, keepdims=True)
        squares += (b * b).sum(axis=-1)[..., None, :]
        return xp.sqrt(xp.maximum(squares, 0, out=squares), out=squares).astype(x.dtype, copy=False)

    def differences(x: Array, y: Array | None) -> Array:
        """Of all pairs of vectors of (B, P, M) and (B, R, M), or without `y` of the pairs i < j of different ones of `x`."""
        if y is not None:
            return x[:, :, None] - y[:, None]
        first, second = (xp.asarray(places) for places in np.triu_indices(x.shape[1], 1))
        return x[:, first] - x[:, second]

    def pair_distances(x: Array, y: Array | None, *, p: int) -> Array:
        """The norms of order `p`, 1 or 2, of the differences of the vectors of `x` (B, P, M) and `y` (B, R, M): (B, P, R);
        without `y` of all pairs i < j of different ones of `x`, in order: (B, P * (P - 1) / 2).
        """
        if many_pairs(x, y):
            from lucid_kernels.cpu import pair_distances as kernels

            found = kernels.distances(x, y, p=p)
            return found if y is None else found.reshape(x.shape[0], x.shape[1], y.shape[1])
        size = differences(wide(x), None if y is None else wide(y))
        found = xp.abs(size).sum(-1) if p == 1 else xp.sqrt((size * size).sum(-1))
        return found.astype(x.dtype, copy=False)

    def pair_distances_grad(g: Array, distances: Array, x: Array, y: Array | None, *, p: int) -> Array:
        """The gradient of `x`, where `g` is that of its `distances`; a distance of 0 has the subgradient 0."""
        if many_pairs(x, y):
            from lucid_kernels.cpu import pair_distances as kernels

            shape = g.shape[0], math.prod(g.shape[1:])
            return kernels.distances_grad(g.reshape(shape), distances.reshape(shape), x, y, p=p)
        slopes, found = wide(g), wide(distances)
        if p == 2:
            slopes = xp.where(found == 0, xp.zeros_like(slopes), slopes / xp.where(found == 0, xp.ones_like(found), found))
        size = differences(wide(x), None if y is None else wide(y))
        parts = slopes[..., None] * (xp.sign(size) if p == 1 else size)
        if y is not None:
            return parts.sum(2).astype(x.dtype, copy=False)
        total = xp.zeros(x.shape, parts.dtype)
        for sign, places in zip((1, -1), np.triu_indices(x.shape[1], 1), strict=True):
            for batch in range(x.shape[0]):
                scatter_add(total[batch], xp.asarray(places), sign * parts[batch])
        return total.astype(x.dtype, copy=False)

    entries: list[Kernel] = [dot, cross, euclidean_distances, pair_distances, pair_distances_grad]
    return {function.__name__: function for function in entries}
