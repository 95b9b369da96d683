"""Products of sparse matrices by rows with dense ones, and the gradient of what they keep."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

#: label -> (rows, columns, width of the other matrix, elements that are kept)
SIZES = {"graph 20000x20000, 200000 kept, by 128": (20000, 20000, 128, 200_000),
         "2000x2000, 40000 kept, by 64": (2000, 2000, 64, 40_000), "1000x1000, 20000 kept, by a vector": (1000, 1000, 1, 20_000)}


def cases(side: Side) -> Iterator[Case]:
    """A graph of ten neighbours, a matrix of one percent, and a vector."""
    for label, sizes in list(SIZES.items())[1:2] if side.quick else SIZES.items():
        yield from _cases(side, label, *sizes)


def _cases(side: Side, label: str, rows: int, columns: int, width: int, kept: int) -> Iterator[Case]:
    k, torch = side.kernels("matmul.csr_matmul"), side.torch
    places = np.unique(np.random.default_rng(0).integers(0, rows * columns, kept))
    starts = np.concatenate([[0], np.bincount(places // columns, minlength=rows).cumsum()])
    values, dense, other = normal(len(places)), normal(columns, width, seed=1), normal(rows, width, seed=2)
    v, s, p, d, a = map(side.array, (values, starts, places % columns, dense, other))
    matrix = None if torch is None else torch.sparse_csr_tensor(s, p, v, (rows, columns))

    def exact() -> np.ndarray:
        total = np.zeros((rows, width))
        np.add.at(total, places // columns, values.astype("f8")[:, None] * dense[places % columns])
        return total

    def exact_kept() -> np.ndarray:
        return np.einsum("ij,ij->i", other.astype("f8")[places // columns], dense[places % columns])

    moved = values.nbytes + places.nbytes + starts.nbytes + dense.nbytes + rows * width * 4
    yield side.case(f"product {label}", bytes=moved, ours=lambda: k.csr_matmul(v, s, p, d), torch=lambda: matrix @ d,
                    exact=exact)
    yield side.case(f"kept of a product {label}", bytes=moved, ours=lambda: k.csr_sampled(a, d, s, p),
                    torch=lambda: torch.sparse.sampled_addmm(matrix, a, d.T, beta=0.0).values(), exact=exact_kept)
