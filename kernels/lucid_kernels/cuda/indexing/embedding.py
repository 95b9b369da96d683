"""The gradient of a table whose rows were looked up by number: see `embedding.cu`."""
from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import launch

_BAD_INDEX = launch.error_code("embedding_grad: index {value} is outside the table of {limit} rows")


@launch.upcast_half
def embedding_grad(g: Any, indices: Any, *, rows: int, padding_idx: int | None, out: Any = None) -> Any:
    """Gradient (rows, D) of the table: the rows of g (n, D) added up by indices (n,), without those equal to `padding_idx`."""
    dx = launch.result(out, (rows, g.shape[1]), g.dtype)
    dx.fill(0)
    if g.size:
        order = cupy.argsort(indices, kind="stable")
        sorted_indices = indices.astype(np.int64)[order]
        launch.kernel("embedding", f"embedding_grad<{launch.ctype(g.dtype)}>")(
            *launch.grid_1d(g.size),
            (launch.contiguous(g), order, sorted_indices, dx, np.int64(g.shape[0]), np.int64(g.shape[1]), np.int64(rows),
             np.int64(-1 if padding_idx is None else padding_idx), launch.error_flag(), _BAD_INDEX),
        )  # fmt: skip
    return launch.deliver(dx, out)
