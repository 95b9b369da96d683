"""The gradient of a table of rows that were looked up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

#: label -> (look-ups, rows of the table, columns)
SIZES = {"tokens 8192x768 of 50257": (8192, 50257, 768), "tokens 1024x256 of 65": (1024, 65, 256),
         "entities 65536x64 of 100000": (65536, 100000, 64)}


def cases(side: Side) -> Iterator[Case]:
    """A large vocabulary, characters, and many narrow rows; the frequencies fall off as those of words do."""
    for label, sizes in list(SIZES.items())[1:2] if side.quick else SIZES.items():
        yield _case(side, label, *sizes)


def _case(side: Side, label: str, count: int, rows: int, width: int) -> Case:
    k, torch = side.kernels("indexing.embedding"), side.torch
    numbers = np.random.default_rng(0).zipf(1.3, count) % rows
    values = normal(count, width, seed=1)
    g, indices = side.array(values), side.array(numbers)

    def exact() -> np.ndarray:
        total = np.zeros((rows, width))
        np.add.at(total, numbers, values)
        return total

    return side.case(
        f"gradient {label}", bytes=values.nbytes + rows * width * values.itemsize,
        ours=lambda: k.embedding_grad(g, indices, rows=rows, padding_idx=None),
        torch=lambda: torch.ops.aten.embedding_dense_backward(g, indices, rows, -1, False),
        numpy=None if side.device == "gpu" else exact, exact=exact)
