"""Operations that write into a tensor that is there, as optimizers, running averages and ``inplace=True`` do.

Rows without targets, of the whole library on a CPU: tiny tensors, whose calls are all that counts, to those larger than caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bench.case import Case, Side
from bench.library import Library, target

SIZES = {"8": 8, "1k": 1000, "100k": 100_000, "4M": 4_000_000}


class Write(NamedTuple):
    """A write to `x` with an operand `y` of its shape; how many arrays it has to move; the same in NumPy.

    The numbers stay as they are however often it is repeated.
    """

    call: Callable[[Library, Any, Any], Any]
    arrays: int
    numpy: Callable[[np.ndarray, np.ndarray], Any]


WRITES = {
    "add_": Write(lambda library, x, y: x.add_(y), 3, lambda x, y: np.add(x, y, out=x)),
    "sub_ alpha": Write(lambda library, x, y: x.sub_(y, alpha=0.1), 3, lambda x, y: np.subtract(x, 0.1 * y, out=x)),
    "mul_ number": Write(lambda library, x, y: x.mul_(1.0), 2, lambda x, y: np.multiply(x, np.float32(1), out=x)),
    "relu_": Write(lambda library, x, y: library.F.relu(x, inplace=True), 2, lambda x, y: np.maximum(x, 0, out=x)),
    "clamp_": Write(lambda library, x, y: x.clamp_(-1, 1), 2, lambda x, y: np.clip(x, -1, 1, out=x)),
    "lerp_": Write(lambda library, x, y: x.lerp_(y, 0.1), 3, lambda x, y: np.add(x, 0.1 * (y - x), out=x)),
    "zero_": Write(lambda library, x, y: x.zero_(), 1, lambda x, y: x.fill(0)),
    "copy_": Write(lambda library, x, y: x.copy_(y), 2, lambda x, y: np.copyto(x, y)),
    "add out": Write(lambda library, x, y: library.lib.add(y, y, out=x), 2, lambda x, y: np.add(y, y, out=x)),
}


def cases(side: Side) -> Iterator[Case]:
    """Each write, at each size."""
    for size, length in list(SIZES.items())[:2] if side.quick else SIZES.items():
        for name, write in WRITES.items():
            yield _case(side, f"{name} {size}", length, write)


def _case(side: Side, label: str, length: int, write: Write) -> Case:
    x, y = np.ones(length, np.float32), np.zeros(length, np.float32)

    def build(library: Library) -> Callable[[], Any]:
        ours, others = library.tensor(x), library.tensor(y)
        return lambda: write.call(library, ours, others)

    return target(side, label, None, build, numpy=lambda: lambda: write.numpy(x, y), bytes=write.arrays * x.nbytes)
