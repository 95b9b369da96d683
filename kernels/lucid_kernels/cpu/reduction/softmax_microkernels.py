"""A row of softmax's gradient, streamed, in LLVM IR."""
from __future__ import annotations

from typing import Any

from numba import types

from ..runtime.intrinsic import intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep
from ..simd.nontemporal import emit_row


@intrinsic
def stream_grad_row(typing, g, y, total, dx, start, width):
    """dx = y * (g - total) with non-temporal stores for the `width` elements from `start` on, arrays as if flat; not checked.

    What comes next in g and y is prefetched (see `emit_row`). A row computed into a buffer and streamed from there took as long
    as a normal one.
    """
    signature = types.void(g, y, y.dtype, dx, types.intp, types.intp)

    def emit(context, builder, signature, arguments):
        _, _, total, _, start, width = arguments
        g, y, dx = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), start) for i in (0, 1, 3))
        vectors = Vectors(builder, total.type, VECTOR_BYTES // (signature.args[2].bitwidth // 8))
        total = vectors.splat(total)

        def value(column: Any, mask: Any) -> Any:
            upstream, own = (vectors.load_part(gep(builder, pointer, column), mask) for pointer in (g, y))
            return builder.fmul(own, builder.fsub(upstream, total))

        emit_row(builder, vectors, dx, width, value, [g, y])
        return context.get_dummy_value()

    return signature, emit
