"""Products of large matrices: those of a linear layer and of its gradients in a transformer, and a square one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

#: label -> (rows, terms of a sum, columns), which operands are transposed
SIZES = {
    "linear 1024x256x1024": ((1024, 256, 1024), (False, True)),
    "input gradient 1024x1024x256": ((1024, 1024, 256), (False, False)),
    "weight gradient 1024x1024x256": ((1024, 1024, 256), (True, False)),
    "square 2048": ((2048, 2048, 2048), (False, False)),
}


def cases(side: Side) -> Iterator[Case]:
    """On a CPU: CuPy's products are cuBLAS's."""
    if side.device != "gpu":
        for label, (sizes, transposed) in list(SIZES.items())[:1] if side.quick else SIZES.items():
            yield _case(side, label, sizes, transposed)


def _case(side: Side, label: str, sizes: tuple[int, int, int], transposed: tuple[bool, bool]) -> Case:
    k, torch, (m, terms, n) = side.kernels("blas"), side.torch, sizes
    a, b = normal(m, terms), normal(terms, n, seed=1)
    x, y = (side.array(np.ascontiguousarray(one.T)).T if swapped else side.array(one)
            for one, swapped in zip((a, b), transposed, strict=True))  # fmt: skip
    return side.case(
        label, bytes=a.nbytes + b.nbytes + m * n * a.itemsize, flops=2 * m * terms * n,
        ours=lambda: k.matmul(x, y), torch=lambda: torch.matmul(x, y), numpy=lambda: a @ b,
        exact=lambda: a.astype(np.float64) @ b.astype(np.float64))
