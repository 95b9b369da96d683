"""What the choice of an implementation of a product of matrices depends on. Imports no Numba."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..runtime.threads import THREADS

Array = np.ndarray[Any, Any]


def unit_steps(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[bool, bool]:
    """Whether the rows of a matrix, or of a stack of them, are contiguous, and its columns apart, and the reverse."""
    (rows, columns), (down, right) = shape[-2:], strides[-2:]
    return (right == item and down >= columns * item and down % item == 0,
            down == item and right >= rows * item and right % item == 0)


def with_unit_steps(matrix: Array) -> Array:
    """`matrix`, or a copy where neither its rows nor its columns are contiguous."""
    return matrix if any(unit_steps(matrix.shape, matrix.strides, matrix.itemsize)) else np.ascontiguousarray(matrix)


class Problem(NamedTuple):
    """``left @ right``, by the shapes, strides and dtypes of both, plus a bias or into an `out` or not."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    left_strides: tuple[int, ...]
    right_strides: tuple[int, ...]
    dtype: np.dtype[Any]
    right_dtype: np.dtype[Any]
    bias: bool
    out: bool
    threads: int
    vector_bytes: int | None = None  # None: of this processor, which is looked up only where it matters

    @property
    def are_matrices(self) -> bool:
        return len(self.left) == len(self.right) == 2

    @property
    def fits(self) -> bool:
        """Whether there is a product, which is not empty."""
        return min(len(self.left), len(self.right)) > 1 and self.left[-1] == self.right[-2] and 0 not in self.left + self.right

    @property
    def is_blas(self) -> bool:
        """Whether both have the same one of the dtypes of BLAS."""
        return self.dtype == self.right_dtype and self.dtype.char in "fdFD"

    @property
    def is_real(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def item(self) -> int:
        return self.dtype.itemsize

    @property
    def has_contiguous_columns(self) -> bool:
        """Whether the columns of the right matrix are contiguous, after `with_unit_steps`."""
        return self.right_strides[0] == self.item and any(unit_steps(self.right, self.right_strides, self.item))

    @property
    def has_contiguous_rows(self) -> bool:
        """The same of its rows."""
        rows, columns = unit_steps(self.right, self.right_strides, self.item)
        return self.right_strides[1] == self.item if rows or columns else True

    @property
    def work(self) -> int:
        """Multiply-adds, of stacks of which one is not broadcast."""
        return max(math.prod(self.left) * self.right[-1], math.prod(self.right) * self.left[-2])

    @property
    def work_of_one(self) -> int:
        """Multiply-adds of one matrix."""
        return self.left[-2] * self.left[-1] * self.right[-1]


def problem_of(a: Array, b: Array, bias: Array | None = None, out: Array | None = None) -> Problem:
    return Problem(a.shape, b.shape, a.strides, b.strides, a.dtype, b.dtype, bias is not None, out is not None, THREADS.value)
