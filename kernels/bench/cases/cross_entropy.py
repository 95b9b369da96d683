"""Cross entropy of logits: the loss and its gradient, which ours computes in one pass, and the loss alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal
from bench.cases.softmax import log_softmax

SHAPES = ((4096, 1000), (1024, 50257))


def cases(side: Side) -> Iterator[Case]:
    """An image classifier and the vocabulary of a language model."""
    for rows, columns in SHAPES[:1] if side.quick else SHAPES:
        yield _case(side, rows, columns)
        yield _loss_alone(side, rows, columns)


def mean_loss(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean cross entropy of the rows of `x`."""
    return -log_softmax(x)[np.arange(len(x)), labels].mean()


def _case(side: Side, rows: int, columns: int) -> Case:
    k, torch = side.kernels("losses.cross_entropy"), side.torch
    values = normal(rows, columns)
    labels = np.random.default_rng(1).integers(0, columns, rows)
    x, target = side.array(values), side.array(labels)

    def ours() -> object:
        return k.cross_entropy(x, target, None, reduction="mean", ignore_index=-100, label_smoothing=0.0, with_grad=True)

    def theirs() -> object:
        x.grad = None
        loss = torch.nn.functional.cross_entropy(x, target)
        loss.backward()
        return loss

    def numpy() -> object:
        logarithms = log_softmax(x)
        gradient = np.exp(logarithms)
        gradient[np.arange(rows), target] -= 1
        gradient /= rows
        return -logarithms[np.arange(rows), target].mean(), gradient

    def exact() -> np.ndarray:
        return mean_loss(values.astype(np.float64), labels)

    if torch is not None:
        x.requires_grad_()
    return side.case(f"cross entropy + gradient {rows}x{columns}", ours=ours, torch=theirs,
                     numpy=None if side.device == "gpu" else numpy, bytes=8 * rows * columns, exact=exact)


def _loss_alone(side: Side, rows: int, columns: int) -> Case:
    k, torch = side.kernels("losses.cross_entropy"), side.torch
    values = normal(rows, columns)
    labels = np.random.default_rng(1).integers(0, columns, rows)
    x, target = side.array(values), side.array(labels)

    def ours() -> object:
        return k.cross_entropy(x, target, None, reduction="mean", ignore_index=-100, label_smoothing=0.0, with_grad=False)

    return side.case(f"cross entropy {rows}x{columns}", ours=ours, torch=lambda: torch.nn.functional.cross_entropy(x, target),
                     numpy=None if side.device == "gpu" else lambda: mean_loss(values, labels), bytes=4 * rows * columns,
                     exact=lambda: mean_loss(values.astype(np.float64), labels))
