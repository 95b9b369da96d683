"""What the library itself costs: chains of operations on small arrays, where computing takes little time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

OPERATIONS = 20
TARGETS = {8: 0.55, 10_000: 0.70}


def chain(x: Any, y: Any) -> Any:
    """Multiplications and additions in turn."""
    for _ in range(OPERATIONS // 2):
        x = x * y
        x = x + y
    return x


def chain_and_gradients(x: np.ndarray, y: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chain and its gradients written by hand in NumPy: what an engine on top of NumPy can hope for."""
    factors, total = [], np.zeros_like(y)
    for _ in range(OPERATIONS // 2):
        factors.append(x)
        x = x * y
        x = x + y
    for factor in reversed(factors):
        total += g
        total += g * factor
        g = g * y
    return x, g, total


def cases(side: Side) -> Iterator[Case]:
    """Eight floats, which is all overhead, and ten thousand. The times are those of one operation."""
    for size, bound in TARGETS.items():
        start, factor = abs(normal(size)) * 0.1 + 1, abs(normal(size, seed=1)) * 0.1 + 1
        ones = np.ones(size, np.float32)

        def forward(library: Library, start: np.ndarray = start, factor: np.ndarray = factor) -> Callable[[], Any]:
            x, y = library.tensor(start), library.tensor(factor)
            return lambda: chain(x, y)

        def both(library: Library, start: np.ndarray = start, factor: np.ndarray = factor) -> Callable[[], Any]:
            leaves = [library.tensor(values, grad=True) for values in (start, factor)]
            g = library.tensor(np.ones_like(start))

            def call() -> Any:
                for leaf in leaves:
                    leaf.grad = None
                result = chain(*leaves)
                result.backward(g)
                return result

            return call

        exact = {"exact": lambda start=start, factor=factor: chain(start.astype(np.float64), factor.astype(np.float64)),
                 "operations": OPERATIONS}
        yield target(side, f"{OPERATIONS}-op chain, {size:,} floats, forward", None, forward, **exact,
                     numpy=lambda start=start, factor=factor: lambda: chain(start, factor))
        yield target(side, f"{OPERATIONS}-op chain, {size:,} floats, forward + backward", bound, both, **exact,
                     numpy=lambda start=start, factor=factor, ones=ones: lambda: chain_and_gradients(start, factor, ones))
