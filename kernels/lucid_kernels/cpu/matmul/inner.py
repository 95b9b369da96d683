"""Products of small matrices inside a parallel kernel: tiles that lie in the cache, register blocks in LLVM IR.

A BLAS cannot be called there: which one NumPy has, how it starts threads and whether it may be entered from several of ours
at once differs from machine to machine. These loops reach its speed on one thread, because the operands are in L2 already.
"""
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..runtime.jit import jit
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep

# The rows and columns of a result are computed in whole blocks: the caller's arrays are padded to multiples of these. AVX2 has
# registers for 12 sums: 4 rows of 2 vectors took 1.1 times as long on a Zen 3, 6 of 2 no less; 3 vectors would leave a ninth of
# the columns of 64 empty.
ROW_BLOCK, VECTORS = (8, 2) if VECTOR_BYTES == 64 else (3, 4)
COLUMN_BLOCK_BYTES = VECTORS * VECTOR_BYTES


def _block_product(transposed: bool) -> Any:
    """The intrinsic that computes ROW_BLOCK rows of VECTORS vectors of c = a @ b, or a.T @ b where `transposed`.

    Of the sums it takes the terms from `first` to `last`.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        operands = [context.make_array(kind)(context, builder, value) for kind, value in zip(signature.args[:3], arguments)]
        a, b, c = (data_of(context, builder, kind, value) for kind, value in zip(signature.args[:3], arguments))
        a_pitch, b_pitch, c_pitch = (cgutils.unpack_tuple(builder, operand.shape)[1] for operand in operands)
        row, column, first, last, accumulate = arguments[3:]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, b.type.pointee, lanes)
        totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(VECTORS)] for _ in range(ROW_BLOCK)]
        rows = [builder.add(row, constant(r)) for r in range(ROW_BLOCK)]
        targets = [gep(builder, c, builder.mul(r, c_pitch), column) for r in rows]
        for line in totals:
            for total in line:
                builder.store(vectors.zero, total)
        if transposed:  # the scales of one step of the sum stand side by side
            starts = [gep(builder, a, row, r) for r in range(ROW_BLOCK)]
        else:
            starts = [gep(builder, a, builder.mul(r, a_pitch)) for r in rows]
        with cgutils.for_range_slice(builder, first, last, constant(1), intp=I64) as (index, _):
            source = gep(builder, b, builder.mul(index, b_pitch), column)
            values = [gep(builder, source, v * lanes) for v in range(VECTORS)]
            step = builder.mul(index, a_pitch) if transposed else index
            scales = [gep(builder, start, step) for start in starts]
            # Those of which there are fewer stay in registers, the others come one by one.
            if VECTORS < ROW_BLOCK:
                vectors_kept = [vectors.load(value) for value in values]
                for line, scale in zip(totals, scales):
                    factor = vectors.splat(builder.load(scale))
                    for total, vector in zip(line, vectors_kept):
                        vectors.add_product(total, vector, factor)
            else:
                factors = [vectors.splat(builder.load(scale)) for scale in scales]
                for v, value in enumerate(values):
                    vector = vectors.load(value)
                    for line, factor in zip(totals, factors):
                        vectors.add_product(line[v], vector, factor)
        # Added at the end: a sum over many tiles that goes on from the last one has three times the rounding error.
        vectors.store_sums(totals, targets, accumulate, targets)
        return context.get_dummy_value()

    def product(typing, a, b, c, row, column, first, last, accumulate):  # no annotations: Numba would read them
        integer = types.int64
        return types.void(a, b, c, integer, integer, integer, integer, types.boolean), emit

    return intrinsic(product)


block = _block_product(transposed=False)
block_of_transposed = _block_product(transposed=True)


@jit
def multiply(a: Any, b: Any, c: Any, rows: int, columns: int, count: int, accumulate: bool) -> None:
    """c[:rows, :columns] = a[:rows, :count] @ b[:count, :columns], or added to c with `accumulate`; nothing is checked.

    All are C-contiguous and of one dtype. `rows` and `columns` are rounded up to whole blocks: a and c must have those rows,
    b and c those columns.
    """
    for column in range(0, columns, COLUMN_BLOCK_BYTES // a.itemsize):
        for row in range(0, rows, ROW_BLOCK):
            block(a, b, c, row, column, 0, count, accumulate)
