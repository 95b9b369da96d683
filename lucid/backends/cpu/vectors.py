"""Inner, cross and Kronecker products and distances of CPU vectors: by our kernels, but for very few."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..common import vectors
from ..families import compiler_is_loaded
from ..sizes import INNER_PRODUCT_FROM, LARGE, MANY, VECTOR_FROM
from .indexing.scatter import scatter_add

Array = Any
Kernel = Callable[..., Any]



@functools.cache
def inner_product() -> Any:
    """Our kernel for them, which compiles with Numba: imported with the first long vectors."""
    from lucid_kernels.cpu.matmul import dot as kernels

    return kernels


@functools.cache
def _distances() -> Any:
    from lucid_kernels.cpu.linalg import cdist

    return cdist


def _by_kernel(x: Array, count: int) -> bool:
    return x.dtype.char in "fd" and (count >= MANY or (count >= VECTOR_FROM and compiler_is_loaded()))


def _many_pairs(x: Array, y: Array | None) -> bool:
    return _by_kernel(x, x.size * (x if y is None else y).shape[1])


def table(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operations, with the other `entries` of the backend, by the time of a call."""
    shared = SimpleNamespace(**vectors.table(np, entries, scatter_add))

    def dot(a: Array, b: Array) -> Array:
        """The sum of the products of the elements of two vectors of one length and dtype."""
        if a.dtype.char not in "fd":
            return shared.dot(a, b)
        if a.size < INNER_PRODUCT_FROM:
            return np.dot(a, b)
        return np.asarray(inner_product().dot(a, b), a.dtype)

    def cross(a: Array, b: Array, *, axis: int) -> Array:
        """The cross products of the vectors along `axis`, of length 3, of two arrays of one shape; row-major."""
        if not _by_kernel(a, a.size):
            return shared.cross(a, b, axis=axis)
        from lucid_kernels.cpu.linalg import cross as kernels

        return kernels.cross(a, b, axis=axis)

    def kron(a: Array, b: Array) -> Array:
        """The Kronecker product of two arrays of one dtype."""
        if not 0 < max(a.ndim, b.ndim) < 3 or a.size * b.size < LARGE or a.dtype.char not in "fd":
            return shared.kron(a, b)
        from lucid_kernels.cpu.linalg import kron as kernels

        left, right, shape = vectors.lines_of_product(np, a, b)
        return kernels.products_of_rows(left.reshape(-1, shape[-1]), right.reshape(-1, shape[-1])).reshape(shape)

    def pair_distances(x: Array, y: Array | None, *, p: int) -> Array:
        """The norms of order `p`, 1 or 2, of the differences of the vectors of `x` (B, P, M) and `y` (B, R, M): (B, P, R);
        without `y` of all pairs i < j of different ones of `x`, in order: (B, P * (P - 1) / 2).
        """
        if not _many_pairs(x, y):
            return shared.pair_distances(x, y, p=p)
        found = _distances().distances(x, y, p=p)
        return found if y is None else found.reshape(x.shape[0], x.shape[1], y.shape[1])

    def pair_distances_grad(g: Array, distances: Array, x: Array, y: Array | None, *, p: int) -> Array:
        """The gradient of `x`, where `g` is that of its `distances`; a distance of 0 has the subgradient 0."""
        if not _many_pairs(x, y):
            return shared.pair_distances_grad(g, distances, x, y, p=p)
        shape = g.shape[0], math.prod(g.shape[1:])
        return _distances().distances_grad(g.reshape(shape), distances.reshape(shape), x, y, p=p)

    functions: tuple[Kernel, ...] = (dot, cross, kron, shared.euclidean_distances, pair_distances, pair_distances_grad)
    return {function.__name__: function for function in functions}
