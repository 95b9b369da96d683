"""Planted bugs for embedding: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation


def check() -> None:
    import cupy as cp
    from lucid_kernels.cuda.indexing import embedding
    from lucid_kernels.cuda.runtime import launch

    rng = np.random.default_rng(0)
    indices = np.append(rng.integers(0, 6, 60), [8, 3, 8, 0])
    g = rng.normal(size=(64, 37)).astype("f4")
    for padding_idx in (None, 3):
        expected = np.zeros((9, 37), "f4")
        for row, index in zip(g, indices, strict=True):
            if index != padding_idx:
                expected[index] += row
        found = embedding.embedding_grad(cp.asarray(g), cp.asarray(indices), rows=9, padding_idx=padding_idx)
        np.testing.assert_array_equal(found.get(), expected)
    for wrong in (-1, 9):
        indices[7] = wrong
        embedding.embedding_grad(cp.asarray(g), cp.asarray(indices), rows=9, padding_idx=None)
        try:
            launch.raise_pending()
        except IndexError as error:
            assert f"index {wrong} is outside the table of 9 rows" in str(error)
        else:
            raise AssertionError("no error")


EMBEDDING = "embedding.cu"
MUTATIONS = [
    Mutation(EMBEDDING, "every thread of a run sums", r"if \(first > 0 && sorted\[first - 1\] == row\) continue;", "", check),
    Mutation(EMBEDDING, "before the first", r"first > 0 && ", "", check),
    Mutation(EMBEDDING, "padding is summed", r"if \(row == padding_idx\) continue;", "", check),
    Mutation(EMBEDDING, "no lower bound", r"row < 0 \|\| ", "", check),
    Mutation(EMBEDDING, "one row too many", r"row >= rows", "row > rows", check),
    Mutation(EMBEDDING, "past the end", r"q < count && ", "", check),
    Mutation(EMBEDDING, "the sorted row of g", r"\+= g\[order\[q\]", "+= g[q", check),
    Mutation(EMBEDDING, "only the first of a run", r"q\+\+\) sum", "q++) if (q == first) sum", check),
]
