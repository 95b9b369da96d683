"""Random numbers and dropout. PyTorch's CPU generator is serial; ours counts, so it is parallel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal


def cases(side: Side) -> Iterator[Case]:
    """Four million numbers."""
    size = 1 << (18 if side.quick else 22)
    k, torch = side.kernels("random.random"), side.torch
    x = side.array(normal(size))
    request = {"shape": (size,), "dtype": np.dtype(np.float32), "seed": 1, "offset": 0}
    device = "cuda" if side.device == "gpu" else "cpu"
    generator = np.random.default_rng(1)
    on_cpu = side.device == "cpu"
    yield side.case(
        "uniform", ours=lambda: k.random_uniform(**request), torch=lambda: torch.rand(size, device=device),
        numpy=(lambda: generator.random(size, np.float32)) if on_cpu else None, bytes=4 * size)
    yield side.case(
        "exponential", ours=lambda: k.random_exponential(**request),
        torch=lambda: torch.empty(size, device=device).exponential_(),
        numpy=(lambda: generator.standard_exponential(size, np.float32)) if on_cpu else None, bytes=4 * size)
    yield side.case(
        "normal", ours=lambda: k.random_normal(**request), torch=lambda: torch.randn(size, device=device),
        numpy=(lambda: generator.standard_normal(size, np.float32)) if on_cpu else None, bytes=4 * size)
    yield side.case(
        "dropout 0.25", ours=lambda: k.dropout(x, p=0.25, seed=1, offset=0), bytes=8 * size,
        torch=lambda: torch.nn.functional.dropout(x, 0.25),
        numpy=(lambda: x * (generator.random(size, np.float32) >= 0.25) / np.float32(0.75)) if on_cpu else None)
