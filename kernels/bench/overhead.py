"""What the library itself costs: chains of operations on tiny arrays, where computing takes no time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.case import Case, Side, normal

OPERATIONS = 20
BOUND = 0.75


def _chain(x: Any, y: Any) -> Any:
    for _ in range(OPERATIONS // 2):
        x = x * y
        x = x + y
    return x


def cases(side: Side) -> Iterator[Case]:
    """Multiplications and additions in turn, forward alone and forward with backward."""
    for size in (8, 10_000):
        yield from _cases(side, size)


def _cases(side: Side, size: int) -> Iterator[Case]:
    library = side.library()
    start, factor = abs(normal(size)) * 0.1 + 1, abs(normal(size, seed=1)) * 0.1 + 1
    if library is None:
        x, y = start, factor
        yield side.case(f"forward, {size} floats, per op", ours=_nothing, numpy=lambda: _chain(x, y), operations=OPERATIONS)
        yield side.case(f"forward + backward, {size} floats, per op", ours=_nothing)
        return
    a, b = (library.tensor(values) for values in (start, factor))
    leaves = [library.tensor(values, requires_grad=True) for values in (start, factor)]
    ones = library.ones(size)

    def both() -> None:
        for leaf in leaves:
            leaf.grad = None
        _chain(*leaves).backward(ones)

    yield side.case(f"forward, {size} floats, per op", operations=OPERATIONS, ours=lambda: _chain(a, b),
                    torch=lambda: _chain(a, b))
    yield side.case(f"forward + backward, {size} floats, per op", operations=OPERATIONS, ours=both, torch=both,
                    limit=BOUND if size == 8 else None, title="tiny arrays, forward+backward")


def _nothing() -> None:
    """The side of NumPy has no backward."""
