"""Steps of Adam on 11.5 million parameters, against PyTorch's fused one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

BOUND = 0.95
SIZE = 11_500_000
TENSORS = 62  # as ResNet-18 has


def cases(side: Side) -> Iterator[Case]:
    """One large parameter, and as many of mixed sizes as ResNet-18 has, also as views of one vector (ours)."""
    size = 500_000 if side.quick else SIZE
    for label, sizes in {"1 tensor": [size], f"{TENSORS} tensors": mixed_sizes(size)}.items():
        yield target(side, f"Adam 11.5M parameters, {label}", BOUND, lambda library, sizes=sizes: _step(library, sizes),
                     needs=("optim.Adam",), bytes=7 * 4 * size, traffic="update")
    yield target(side, f"Adam 11.5M parameters, {TENSORS} tensors in flat storage", BOUND,
                 lambda library: _step(library, mixed_sizes(size), flat=True), needs=("optim.Adam",), bytes=7 * 4 * size,
                 traffic="update")


def mixed_sizes(total: int) -> list[int]:
    """Sizes of parameters with the given total: two thirds small ones (norms and biases), the others growing."""
    small = [64 << (i % 4) for i in range(TENSORS * 2 // 3)]
    weights = np.arange(1, TENSORS - len(small) + 1) ** 2
    large = ((total - sum(small)) * weights // weights.sum()).tolist()
    large[-1] += total - sum(small) - sum(large)
    return small + large


def _step(library: Library, sizes: list[int], flat: bool = False) -> Callable[[], Any]:
    parameters = []
    for index, size in enumerate(sizes):
        parameter = library.nn.Parameter(library.tensor(normal(size, seed=2 * index)))
        parameter.grad = library.tensor(normal(size, seed=2 * index + 1))
        parameters.append(parameter)
    if flat and not library.is_torch:
        parameters = library.nn.utils.flatten_parameters(parameters)
    return library.optim.Adam(parameters, lr=1e-6, fused=True).step
