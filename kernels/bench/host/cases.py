"""What is timed: calls of single operations, as a user writes them, training steps of the targets' networks, small and large, and
replays of functions that `lucid.compile` has recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from bench.gpu_targets import large_models
from bench.library import Library
from bench.targets.models import MODELS
from bench.targets.training import training_step


def operations(library: Library) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Operations by name. Their sizes do not matter, except where they choose a kernel."""
    lib, functional = library.lib, library.F

    def ones(*shape: int) -> Any:
        return lib.ones(*shape, device=library.device)

    x, y = ones(8), ones(8)
    yield "relu", lambda: functional.relu(x)
    yield "relu, out of a view", lambda: functional.relu(x[1:])
    yield "x + y", lambda: x + y
    yield "x * 2.0", lambda: x * 2.0
    yield "x.add_(y)", lambda: x.add_(y)
    rows, weight, bias, targets = ones(64, 256), ones(256, 256), ones(256), lib.zeros(64, dtype=lib.int64, device=library.device)
    yield "x + y, broadcast", lambda: rows + bias
    yield "x @ y", lambda: rows @ weight
    yield "linear with bias", lambda: functional.linear(rows, weight, bias)
    yield "layer norm", lambda: functional.layer_norm(rows, (256,), bias, bias)
    yield "softmax", lambda: functional.softmax(rows, -1)
    yield "gelu", lambda: functional.gelu(rows)
    yield "dropout", lambda: functional.dropout(rows, 0.5)
    yield "cross entropy", lambda: functional.cross_entropy(rows, targets)
    yield "embedding", lambda: functional.embedding(targets, weight)
    yield "sum", lambda: rows.sum()
    yield "mean of a dimension", lambda: rows.mean(0)
    yield "var of a dimension", lambda: rows.var(0)
    images, kernel, channels = ones(4, 16, 8, 8), ones(16, 16, 3, 3), ones(16)
    yield "conv2d", lambda: functional.conv2d(images, kernel, None, 1, 1)
    yield "batch norm", lambda: functional.batch_norm(images, channels, channels, channels, channels, True)
    yield "max_pool2d", lambda: functional.max_pool2d(images, 2)
    query = ones(2, 4, 16, 32)
    yield "attention, causal", lambda: functional.scaled_dot_product_attention(query, query, query, is_causal=True)
    yield "reshape", lambda: rows.reshape(128, 128)
    yield "x[1:]", lambda: rows[1:]
    yield "x.T", lambda: rows.T
    for mode in ("LSTM", "GRU"):
        network, sequence = getattr(library.nn, mode)(32, 32).to(library.device), ones(10, 8, 32)

        def steps_of(network: Any = network, sequence: Any = sequence) -> None:
            network(sequence)[0].sum().backward()

        yield f"{mode}, 10 steps and their gradients", steps_of
    leaf = ones(8).requires_grad_()
    yield "x * y, recorded", lambda: leaf * y

    def chain() -> None:
        leaf.grad = None
        z = leaf
        for _ in range(10):
            z = z * y + y
        z.sum().backward()

    yield "20 operations and their gradients", chain


def replays(library: Library) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Compiled functions of some inputs, to be replayed in 15 us and 2 us for each input; training steps, with the optimizer's,
    which is called as it is.
    """
    lib = library.lib

    def total(*inputs: Any) -> Any:
        y = inputs[0] * 2
        for x in inputs[1:]:
            y = y + x
        return y

    for count in (1, 2, 4, 8):
        inputs = [lib.ones(8, device=library.device) for _ in range(count)]
        yield f"replay, {count} inputs", functools.partial(_recorded(lib.compile(total, fullgraph=True), *inputs), *inputs)
    for name in ("MLP 784-256-10, batch 64", "digits CNN, batch 64"):
        yield f"replay, {name}", _recorded(lib.compile(training_step(library, MODELS[name]), fullgraph=True))


def _recorded(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """A compiled function that has its plan, and its graphs."""
    for _ in range(6):
        function(*arguments)
    return function


def steps(library: Library) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Training steps by the name of the network."""
    for name, model in {**MODELS, **large_models.MODELS}.items():
        yield name, training_step(library, model, "channels_last" if model.channels_last else "NCHW")
