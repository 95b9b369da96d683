"""The sums over all dimensions but the second: gradients of biases. CuPy's `sum` takes the host three times as long."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch, recording

_TILE, _TURNS = 32, 8  # the block of `sum_columns`
_ROWS_A_CHUNK = 64
_ELEMENTS_A_CHUNK = 8192
_MOST_CHUNKS = 256


def channel_sums(x: Any, *, out: Any = None) -> Any:
    """The sums of x (N, C, *) over all dimensions but the second; of a contiguous float32 or float64 array by our kernels.

    Half precision is added in float32 and rounded once.
    """
    if x.dtype.char not in "fd" or not x.size or not x.flags.c_contiguous:
        recording.unrepeatable()
        total = (x.astype(np.float32) if launch.is_half(x) else x).sum((0, *range(2, x.ndim)))
        return launch.deliver(total.astype(x.dtype, copy=False), out)
    samples, channels, size = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    kind = launch.ctype(x.dtype)
    sums = launch.result(out, (channels,), x.dtype)
    count, least = samples * size, _ROWS_A_CHUNK if size == 1 else _ELEMENTS_A_CHUNK
    chunk = max(least, launch.ceil_div(count, _MOST_CHUNKS))
    chunks = launch.ceil_div(count, chunk)
    parts = sums if chunks == 1 else launch.empty((chunks, channels), x.dtype)
    if size == 1:
        launch.kernel("channel_sums", f"sum_columns<{kind}>")(
            (launch.ceil_div(channels, _TILE), chunks), (_TILE, _TURNS),
            (x, parts, np.int64(samples), np.int64(channels), np.int64(chunk)),
        )  # fmt: skip
    else:
        launch.kernel("channel_sums", f"sum_planes<{kind}>")(
            (channels, chunks), (launch.row_block(min(count, chunk)),),
            (x, parts, np.int64(samples), np.int64(channels), np.int64(size), np.int64(chunk)),
        )  # fmt: skip
    if chunks > 1:
        launch.kernel("channel_sums", f"add_chunks<{kind}>")(
            *launch.grid_1d(channels), (parts, sums, np.int64(chunks), np.int64(channels)))
    return launch.deliver(sums, out)
