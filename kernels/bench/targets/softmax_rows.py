"""Softmax and cross entropy of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.cases import cross_entropy, softmax
from bench.library import Library, target

FORWARD, BACKWARD, CROSS_ENTROPY = 0.75, 0.95, 0.35


def cases(side: Side) -> Iterator[Case]:
    """The rows of a classifier, of attention and of a language model."""
    for rows, columns in softmax.SHAPES[-1:] if side.quick else softmax.SHAPES:
        yield from _softmax(side, rows, columns)
    for rows, columns in cross_entropy.SHAPES[:1] if side.quick else cross_entropy.SHAPES:
        yield _cross_entropy(side, rows, columns)


def _softmax(side: Side, rows: int, columns: int) -> Iterator[Case]:
    values, upstream = normal(rows, columns), normal(rows, columns, seed=1)
    label = f"{rows}x{columns}"

    def forward(library: Library) -> Callable[[], Any]:
        x = library.tensor(values, grad=True)
        return lambda: library.F.softmax(x, dim=1)

    def backward(library: Library) -> Callable[[], Any]:
        x = library.tensor(values, grad=True)
        return library.backward(library.F.softmax(x, dim=1), [x], library.tensor(upstream))

    yield target(side, f"softmax {label} forward", FORWARD, forward, bytes=2 * values.nbytes,
                 exact=lambda: softmax.softmax(values.astype(np.float64)), numpy=lambda: lambda: softmax.softmax(values))
    yield target(side, f"softmax {label} backward", BACKWARD, backward, bytes=3 * values.nbytes,
                 exact=lambda: softmax.gradient(upstream.astype(np.float64), softmax.softmax(values.astype(np.float64))))


def _cross_entropy(side: Side, rows: int, columns: int) -> Case:
    values = normal(rows, columns)
    labels = np.random.default_rng(1).integers(0, columns, rows)

    def both(library: Library) -> Callable[[], Any]:
        x, goal = library.tensor(values, grad=True), library.tensor(labels)

        def call() -> Any:
            x.grad = None
            loss = library.F.cross_entropy(x, goal)
            loss.backward()
            return loss

        return call

    return target(side, f"cross entropy {rows}x{columns} forward + backward", CROSS_ENTROPY, both, bytes=2 * values.nbytes,
                  exact=lambda: cross_entropy.mean_loss(values.astype(np.float64), labels))
