"""Layer, RMS and batch normalisation, and batch normalisation with ReLU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.cases import batch_norm, layer_norm
from bench.library import Calls, Library, target

BATCH = (32, 64, 56, 56)
#: What lucid's fused function of batch norm and ReLU is called, if it has one; it takes the arguments of `batch_norm`.
FUSED = "batch_norm_relu"
PART = np.s_[:, :4]  # channels are independent: a few tell the error


def cases(side: Side) -> Iterator[Case]:
    """Rows of transformers and images of ResNet, in training."""
    for rows, width in layer_norm.SHAPES[-1:] if side.quick else layer_norm.SHAPES:
        yield from _rows(side, "layer norm", "layer_norm", rows, width)
        yield from _rows(side, "RMS norm", "rms_norm", rows, width)
    shape = (4, *BATCH[1:]) if side.quick else BATCH
    yield from _batch_norm(side, shape, 0.25, 0.75, relu=False)
    yield from _batch_norm(side, shape, 0.2, 0.6, relu=True)


def _rows(side: Side, name: str, function: str, rows: int, width: int) -> Iterator[Case]:
    values, upstream = normal(rows, width), normal(rows, width, seed=1)
    centred = function == "layer_norm"
    label = f"{name} {rows}x{width}"

    def prepare(library: Library) -> tuple[list[Any], Callable[[], Any]]:
        leaves = [library.tensor(values, grad=True), library.tensor(np.ones(width, np.float32), grad=True)]
        if centred:
            leaves.append(library.tensor(np.zeros(width, np.float32), grad=True))
        x, *parameters = leaves
        call = getattr(library.F, function)
        return leaves, lambda: call(x, [width], *parameters, eps=layer_norm.EPS)

    def backward(library: Library) -> Callable[[], Any]:
        leaves, forward = prepare(library)
        return library.backward(forward(), leaves, library.tensor(upstream))

    facts = {"needs": (f"nn.functional.{function}",)}
    yield target(side, f"{label} forward", 0.9, lambda library: prepare(library)[1], bytes=2 * values.nbytes, **facts,
                 exact=lambda: layer_norm.normalised(values.astype(np.float64), centred))
    yield target(side, f"{label} backward", 0.95, backward, bytes=3 * values.nbytes, **facts,
                 exact=lambda: layer_norm.gradient(upstream.astype(np.float64), values.astype(np.float64), centred))


def _batch_norm(side: Side, shape: tuple[int, ...], bound: float, bound_backward: float, *, relu: bool) -> Iterator[Case]:
    values, upstream = normal(*shape), normal(*shape, seed=1)
    label = f"batch norm{' + ReLU' if relu else ''} {'x'.join(map(str, BATCH))}"
    channels = shape[1]

    def prepare(library: Library) -> tuple[list[Any], dict[str, Callable[[], Any]]]:
        x = library.tensor(values, grad=True)
        weight, mean, variance = (np.ones(channels, np.float32), np.zeros(channels, np.float32), np.ones(channels, np.float32))
        parameters = [library.tensor(weight, grad=True), library.tensor(mean, grad=True)]
        statistics = [library.tensor(mean), library.tensor(variance)]
        function, activation, fused = library.F.batch_norm, library.F.relu, getattr(library.F, FUSED, None)

        def plain() -> Any:
            return function(x, *statistics, *parameters, training=True)

        calls = {"": plain}
        if relu:
            calls = {"composed": lambda: activation(plain())}
            if fused is not None:
                calls["fused"] = lambda: fused(x, *statistics, *parameters, training=True)
        return [x, *parameters], calls

    def forward(library: Library) -> Calls:
        return prepare(library)[1]

    def backward(library: Library) -> Calls:
        leaves, calls = prepare(library)
        g = library.tensor(upstream)
        return {name: library.backward(call(), leaves, g) for name, call in calls.items()}

    def exact() -> np.ndarray:
        y = batch_norm.normalised(values[PART].astype(np.float64))
        return np.maximum(y, 0) if relu else y

    def exact_backward() -> np.ndarray:
        x, g = values[PART].astype(np.float64), upstream[PART].astype(np.float64)
        return batch_norm.gradient(g * (batch_norm.normalised(x) > 0) if relu else g, x)

    yield target(side, f"{label} forward", bound, forward, bytes=3 * values.nbytes, exact=exact, part=PART)
    yield target(side, f"{label} backward", bound_backward, backward, bytes=5 * values.nbytes, exact=exact_backward, part=PART)
