"""Products of a matrix of which only some elements are kept: see `csr_matmul.cu`."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch


def csr_matmul(values: Any, compressed: Any, plain: Any, dense: Any, *, out: Any = None) -> Any:
    """The product (rows, width) with `dense` (columns, width), of one dtype with `values` (n,); `compressed` is (rows + 1,)."""
    y = launch.result(out, (compressed.shape[0] - 1, dense.shape[1]), dense.dtype)
    if y.size:
        values, compressed, plain, dense = map(copies.contiguous, (values, compressed, plain, dense))
        launch.kernel("csr_matmul", f"csr_matmul<{launch.ctype(dense.dtype)}>")(
            *launch.grid_1d(y.size), (values, compressed, plain, dense, y, *map(np.int64, (y.shape[0], *dense.shape))))
    return launch.deliver(y, out)


def csr_sampled(a: Any, b: Any, compressed: Any, plain: Any, *, out: Any = None) -> Any:
    """The elements (n,) of ``a @ b.T`` that are kept, for `a` (rows, width) and `b` (columns, width) of one dtype."""
    y = launch.result(out, plain.shape, a.dtype)
    if y.size:
        a, b, compressed, plain = map(copies.contiguous, (a, b, compressed, plain))
        launch.kernel("csr_matmul", f"csr_sampled<{launch.ctype(a.dtype)}>")(
            *launch.grid_1d(y.size), (a, b, compressed, plain, y, *map(np.int64, (y.size, a.shape[0], *b.shape))))
    return launch.deliver(y, out)
