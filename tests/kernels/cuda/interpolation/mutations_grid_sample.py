"""Planted bugs for grid_sample: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels import grid_sample_reference as reference


def check() -> None:
    import cupy as cp
    from lucid_kernels.cuda.interpolation import grid_sample as kernels

    rng = np.random.default_rng(0)
    for mode, dims in (("bicubic", 2), ("bilinear", 3), ("nearest", 2)):
        x, grid = rng.normal(size=(2, 2, 3, 4, 3)[: 2 + dims]), rng.uniform(-1.7, 1.7, (*(2, 2, 3, 2)[: dims + 1], dims))
        g = rng.normal(size=(*x.shape[:2], *grid.shape[1:-1]))
        for padding_mode in ("zeros", "reflection"):
            how = {"mode": mode, "padding_mode": padding_mode, "align_corners": False}
            y = kernels.grid_sample(cp.asarray(x), cp.asarray(grid), **how)
            np.testing.assert_allclose(y.get(), reference.grid_sample(x, grid, mode, padding_mode, False), atol=1e-12)
            found = kernels.grid_sample_grad(*map(cp.asarray, (g, x, grid)), **how, with_input=True, with_grid=True)
            for ours, slope in zip(found, reference.slopes(x, grid, g, mode, padding_mode, False), strict=True):
                np.testing.assert_allclose(ours.get(), slope, atol=1e-7)


FILE = "grid_sample.cu"
MUTATIONS = [
    Mutation(FILE, "no high end", r" && position < T\(length\)", "", check),
    Mutation(FILE, "not mirrored", r"odd \? span - rest : rest", "rest", check),
    Mutation(FILE, "slopes of mirror images", r"if \(odd\) slope = -slope;", "", check),
    Mutation(FILE, "weights exchanged", r"t == 0 \? start \+", "t == 1 ? start +", check),
    Mutation(FILE, "one plane for all", r"plane \* height \+ ", "", check),
    Mutation(FILE, "the other coordinates", r"grid \+ e \* DIMS", "grid + p * DIMS", check),
    Mutation(FILE, "gradient written, not added", r"atomicAdd\(dx \+ c \* area \+ place, (.+)\);", r"dx[c * area + place] = \1;",
             check),
    Mutation(FILE, "the wrong neighbour's slope", r"across\.slope\[i\]", "across.slope[j]", check),
]
