"""Recurrent layers over a batch of sequences and the loss of unaligned ones, forward and backward.

Rows without targets, of the whole library on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target


def cases(side: Side) -> Iterator[Case]:
    """Sentences, with as many features in as out."""
    for steps, batch, features in ((16, 8, 64),) if side.quick else ((64, 32, 256), (128, 8, 256)):
        for name in ("LSTM", "GRU", "RNN"):
            yield _case(side, name, steps, batch, features)
    for steps, batch, features in ((16, 1, 64),) if side.quick else ((100, 1, 256), (50, 4, 256)):
        for name in ("LSTM", "GRU"):
            yield _forward(side, name, normal(steps, batch, features))
    for name in ("LSTM", "GRU", "RNN"):
        yield _forward(side, name, normal(1, 64))
    for shape in ((50, 4, 20, 10),) if side.quick else ((50, 4, 20, 10), (400, 8, 50, 60), (150, 16, 1000, 30)):
        yield _ctc_loss(side, *shape)


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


def _forward(side: Side, name: str, values: np.ndarray) -> Case:
    features = values.shape[-1]

    def build(library: Library) -> Callable[[], Any]:
        layer, x = getattr(library.nn, name)(features, features).requires_grad_(False), library.tensor(values)
        return lambda: layer(x)[0]

    return target(side, f"{name} forward of {'x'.join(map(str, values.shape))}", None, build, bytes=2 * values.nbytes)


def _ctc_loss(side: Side, frames: int, batch: int, classes: int, length: int) -> Case:
    values, targets = normal(frames, batch, classes), np.random.default_rng(0).integers(1, classes, (batch, length))

    def build(library: Library) -> Callable[[], Any]:
        x = library.tensor(values).log_softmax(2).requires_grad_()
        labels, inputs, lengths = map(library.tensor, (targets, np.full(batch, frames), np.full(batch, length)))
        return lambda: library.lib.autograd.grad(library.F.ctc_loss(x, labels, inputs, lengths), x)[0]

    return target(side, f"ctc_loss f+b of {length} labels in {frames}x{batch}x{classes}", None, build, bytes=3 * values.nbytes)
