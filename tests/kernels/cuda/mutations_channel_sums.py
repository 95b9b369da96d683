"""Planted bugs for the sums of channels: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation


def check() -> None:
    import cupy as cp
    from lucid_kernels.cuda.reduction.channel_sums import channel_sums

    rng = np.random.default_rng(0)
    for shape in ((1, 3), (70, 33), (1000, 70), (2, 3, 7), (3, 2, 130, 97)):
        x = rng.integers(-4, 5, shape).astype(np.float32)  # sums that float32 has exactly
        np.testing.assert_array_equal(channel_sums(cp.asarray(x)).get(), x.sum((0, *range(2, x.ndim))))


FILE = "channel_sums.cu"
MUTATIONS = [
    Mutation(FILE, "a row of each chunk left out", r"r = first \+ threadIdx.y;", "r = first + threadIdx.y + 1;", check),
    Mutation(FILE, "rows of the next chunk", r"first \+ chunk < rows \? first \+ chunk : rows", "rows", check),
    Mutation(FILE, "the first turn alone", r"k < TURNS", "k < 1", check),
    Mutation(FILE, "a chunk of another place", r"blockIdx.y \* width \+ column", "column", check),
    Mutation(FILE, "elements of the next chunk", r"first \+ chunk < count \? first \+ chunk : count", "count", check),
    Mutation(FILE, "channels of one sample", r"i / size \* channels \+ channel", "channel", check),
    Mutation(FILE, "places of one row", r"\+ i % size", "+ 0", check),
    Mutation(FILE, "the last chunk left out", r"k < chunks", "k < chunks - 1", check),
    Mutation(FILE, "chunks of one channel", r"parts\[k \* width \+ i\]", "parts[k * width]", check),
]
