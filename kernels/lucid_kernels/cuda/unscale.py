"""Gradients of a scaled loss, multiplied back: see `unscale.cu`."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import device_tables, launch

_PART = 1 << 12  # elements that a block takes at once: 16 a thread


def multi_tensor_unscale(*arrays: Any) -> None:
    """Multiply gradients by a factor, in place, and set `found` to 1 if an element of one of them is not finite: one launch for
    all contiguous ones of a dtype, the others follow. What is listed twice is multiplied once.

    `arrays` are `found` and the factor, float32 scalars, and the gradients.
    """
    found, inverse, *gradients = arrays
    together: dict[Any, list[Any]] = {}
    for gradient in {id(gradient): gradient for gradient in gradients if gradient.size}.values():
        if gradient.flags.c_contiguous:
            together.setdefault(gradient.dtype, []).append(gradient)
            continue
        work = copies.contiguous(gradient)
        launch.kernel("unscale", f"unscale<{launch.ctype(work.dtype)}>")(
            *launch.grid_1d(work.size), (work, np.int64(work.size), found, inverse))
        gradient[...] = work
    for dtype, some in together.items():
        offsets = np.cumsum([0, *(gradient.size for gradient in some)]).tolist()
        table = device_tables.table("unscale", [0, *offsets, *(gradient.data.ptr for gradient in some)])
        launch.kernel("unscale", f"multi_tensor_unscale<{launch.ctype(dtype)}>")(
            launch.grid_cap(launch.ceil_div(offsets[-1], _PART)), (launch.BLOCK,),
            (table, np.int32(len(some)), np.int64(_PART), found, inverse))
