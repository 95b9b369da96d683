"""Vectors of integers, and steps along a plane."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant
from .ir import Vectors, gep, splat_index


class Scalars(Vectors):
    """Vectors of integers."""

    def __init__(self, builder: ir.IRBuilder, lanes: int, element: ir.IntType = I64) -> None:
        super().__init__(builder, element, lanes)
        self.alignment = element.width // 8
        self.zero = ir.Constant(self.type, [0] * lanes)

    def _masked(self, what: str, result: ir.Type, arguments: list[Any]) -> Any:
        signature = ir.FunctionType(result, [argument.type for argument in arguments])
        name = f"llvm.masked.{what}.v{self.type.count}i{8 * self.alignment}.p0"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, signature, name), arguments)


LANE = ir.IntType(32)


class Plane:
    """A plane of `height` rows of `width` pixels from `start` on; outside of it are zeros."""

    def __init__(self, vectors: Vectors, start: Any, height: Any, width: Any) -> None:
        self.vectors, self.builder = vectors, vectors.builder
        self.start, self.height, self.width = start, height, width
        self.lanes = ir.VectorType(LANE, vectors.type.count)
        self.limit = self.splat(width)
        self.size = self.builder.mul(height, width)

    def splat(self, number: Any) -> Any:
        return splat_index(self.builder, number, self.lanes.count)

    def inside(self, column: Any) -> Any:
        """A mask of the lanes whose columns, from `column` on, are in the plane."""
        indices = ir.Constant(self.lanes, list(range(self.lanes.count)))
        return self.builder.icmp_unsigned("<", self.builder.add(self.splat(column), indices), self.limit)

    def rows(self, first: Any, count: int, elsewhere: Any) -> list[Any]:
        """The starts of `count` rows, `elsewhere` for those that are not in the plane."""
        row, found = self.row_pointer(first), []
        for i in range(count):
            there = self.builder.icmp_unsigned("<", self.builder.add(first, constant(i)), self.height)
            found.append(self.builder.select(there, row, elsewhere))
            row = gep(self.builder, row, self.width)
        return found

    def row_pointer(self, index: Any) -> Any:
        """The start of a row, which need not be in the plane."""
        return gep(self.builder, self.start, self.builder.mul(index, self.width))

    def prefetch(self, index: Any, count: int, column: Any, ahead: Any, *, write: bool) -> None:
        """Prefetch what is `ahead` elements from a column of `count` rows, in the plane or next to it.

        Not elsewhere: for an address where nothing is the processor looks for long.
        """
        row = self.row_pointer(index)
        for _ in range(count):
            self.vectors.prefetch(gep(self.builder, row, column, ahead), write)
            row = gep(self.builder, row, self.width)


def for_steps(builder: ir.IRBuilder, stop: Any, step: int) -> Any:
    """A loop over 0, step, ... below `stop`."""
    return cgutils.for_range_slice(builder, constant(0), stop, constant(step), intp=I64)
