"""Products of matrices: those of linear layers and of their gradients, in a transformer, of 64 and of a few samples, and a square
one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

#: label -> (rows, terms of a sum, columns), which operands are transposed
SIZES = {
    "linear 1024x256x1024": ((1024, 256, 1024), (False, True)),
    "input gradient 1024x1024x256": ((1024, 1024, 256), (False, False)),
    "weight gradient 1024x1024x256": ((1024, 1024, 256), (True, False)),
    "weight gradient 256x1024x1024": ((256, 1024, 1024), (True, False)),
    "linear 64x784x256": ((64, 784, 256), (False, True)),
    "weight gradient 256x64x784": ((256, 64, 784), (True, False)),
    "linear 64x3136x128": ((64, 3136, 128), (False, True)),
    "input gradient 64x128x3136": ((64, 128, 3136), (False, False)),
    "linear 64x512x64": ((64, 512, 64), (False, True)),
    "linear 16x1024x1024": ((16, 1024, 1024), (False, True)),
    "linear 1x4096x4096": ((1, 4096, 4096), (False, True)),
    "linear 4x1024x1024": ((4, 1024, 1024), (False, True)),
    "input gradient 4x1024x1024": ((4, 1024, 1024), (False, False)),
    "square 2048": ((2048, 2048, 2048), (False, False)),
}


def cases(side: Side) -> Iterator[Case]:
    """In float32; on a GPU, where cuBLAS computes them, a large one in float16 too."""
    for label, (sizes, transposed) in list(SIZES.items())[:1] if side.quick else SIZES.items():
        yield _case(side, label, sizes, transposed)
    if side.device == "gpu":
        yield _case(side, "square 4096, float16", (4096, 4096, 4096), (False, False), np.float16)


def _case(side: Side, label: str, sizes: tuple[int, int, int], transposed: tuple[bool, bool], dtype: type = np.float32) -> Case:
    k, torch, (m, terms, n) = side.kernels("matmul.products" if side.device == "gpu" else "matmul.matmul"), side.torch, sizes
    a, b = normal(m, terms).astype(dtype), normal(terms, n, seed=1).astype(dtype)
    x, y = (side.array(np.ascontiguousarray(one.T)).T if swapped else side.array(one)
            for one, swapped in zip((a, b), transposed, strict=True))  # fmt: skip
    return side.case(
        label, bytes=a.nbytes + b.nbytes + m * n * a.itemsize, flops=2 * m * terms * n,
        ours=lambda: k.matmul(x, y), torch=lambda: torch.matmul(x, y), numpy=lambda: x @ y,
        exact=lambda: a.astype(np.float64) @ b.astype(np.float64))
