"""The product of matrices, of stacks of them and of vectors."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Array = Any
Kernel = Callable[..., Any]


def _rows(x: Array) -> Array:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def table(product: Callable[[Array, Array], Array], few: int, rows_of: Kernel = _rows) -> dict[str, Kernel]:
    """The operation by the `product` of matrices, and of vectors of fewer than so many elements; `rows_of` makes one matrix of
    the rows of a stack.
    """

    def matmul(a: Array, b: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
        """The product of matrices, or of stacks of them, with the last two axes of `a` or `b` swapped on request; a vector stands
        for a row as `a`, for a column as `b`, whose axis the result does not have.
        """
        if a.ndim == 2 == b.ndim:
            return product(a.T if transpose_a else a, b.T if transpose_b else b)
        if a.ndim == 1 or b.ndim == 1:
            if a.ndim < 3 and b.ndim < 3 and a.size < few and b.size < few:
                return product(a.T if transpose_a else a, b.T if transpose_b else b)
            full = matmul(a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b,
                          transpose_a=transpose_a and a.ndim > 1, transpose_b=transpose_b and b.ndim > 1)
            rows, columns = full.shape[-2:-1] if a.ndim > 1 else (), full.shape[-1:] if b.ndim > 1 else ()
            return full.reshape((*full.shape[:-2], *rows, *columns))
        if a.ndim > 2 and b.ndim == 2 and not transpose_a:
            # One product, not one for each matrix of the stack.
            rows = product(rows_of(a), b.T if transpose_b else b)
            return rows.reshape(*a.shape[:-1], rows.shape[1])
        return product(a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b)

    return {"matmul": matmul}
