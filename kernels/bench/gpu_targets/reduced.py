"""Reductions and their gradients on arrays of 64 MiB: extremes, norms, means, sums of planes, and the loss of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bench.case import Case, Side
from bench.gpu_targets.memory_bound import HALF, shapes, values
from bench.library import Library, target


class Operation(NamedTuple):
    """A function of a tensor, labels of its rows and the library, and how many arrays of the tensor's size are moved by it, and
    by its gradient.
    """

    call: Callable[[Any, Any, Library], Any]
    forward: float = 1
    backward: float = 2
    shape: str = "rows"


OPERATIONS = {
    "amax over axis 1": Operation(lambda x, labels, library: x.amax(1)),
    "max over axis 1 with indices": Operation(lambda x, labels, library: x.max(1)[0], backward=1),
    "max of all": Operation(lambda x, labels, library: x.max()),
    "norm over axis 1": Operation(lambda x, labels, library: library.lib.linalg.vector_norm(x, 2, 1)),
    "norm of all": Operation(lambda x, labels, library: library.lib.linalg.vector_norm(x)),
    "mean of all": Operation(lambda x, labels, library: x.mean(), backward=1),
    "sums of planes": Operation(lambda x, labels, library: x.sum((0, 2, 3)), backward=1, shape="images"),
    "logsumexp over axis 1": Operation(lambda x, labels, library: x.logsumexp(1)),
    "sort over axis 1": Operation(lambda x, labels, library: x.sort(1)[0], forward=6, backward=6),
    "nll loss": Operation(lambda x, labels, library: library.F.nll_loss(x, labels), forward=0, backward=1),
}


def cases(side: Side) -> Iterator[Case]:
    """Each operation and its gradient, in both dtypes."""
    for name, operation in OPERATIONS.items():
        for dtype in ("float32", HALF):
            for backward in (False, True):
                yield _case(side, name, operation, dtype, backward)


def _case(side: Side, name: str, operation: Operation, dtype: str, backward: bool) -> Case:
    shape, small = shapes(operation.shape, dtype, side)

    def build(library: Library) -> Callable[[], Any]:
        x = library.tensor(values(*small)).to(getattr(library.lib, dtype))
        labels = library.tensor(np.arange(x.shape[0]) % x.shape[1])
        if not backward:
            return lambda: operation.call(x, labels, library)
        y = operation.call(x.requires_grad_(), labels, library)
        return library.backward(y, [x], library.lib.ones_like(y))

    itemsize, moved = (2 if dtype == HALF else 4), operation.backward if backward else operation.forward
    return target(side, f"{name}{' backward' if backward else ''} {'x'.join(map(str, shape))} {dtype}", None, build,
                  bytes=int(moved * itemsize * int(np.prod(shape))))
