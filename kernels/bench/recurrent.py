"""Recurrent layers over a batch of sequences, forward and backward. Rows without targets, of the whole library on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case, Side, normal
from bench.library import Library, target


def cases(side: Side) -> Iterator[Case]:
    """Sentences, with as many features in as out."""
    for steps, batch, features in ((16, 8, 64),) if side.quick else ((64, 32, 256), (128, 8, 256)):
        for name in ("LSTM", "GRU", "RNN"):
            yield _case(side, name, steps, batch, features)


def _case(side: Side, name: str, steps: int, batch: int, features: int) -> Case:
    values = normal(steps, batch, features)

    def build(library: Library) -> Callable[[], Any]:
        layer, x = getattr(library.nn, name)(features, features), library.tensor(values, grad=True)

        def step() -> Any:
            layer.zero_grad()
            output, _ = layer(x)
            output.sum().backward()

        return step

    return target(side, f"{name} step of {steps}x{batch}x{features}", None, build, bytes=2 * values.nbytes)
