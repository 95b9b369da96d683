"""Operations that only move memory, on arrays of 64 MiB and more, in float32 and bfloat16: their share of a copy's bandwidth."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

ROWS, COLUMNS = 16384, 1024  # 64 MiB of float32
IMAGES = (32, 128, 64, 64)  # as many
HALF = "bfloat16"


class Operation(NamedTuple):
    """How an operation is prepared for an array on a library, and how many bytes an element of that array costs."""

    build: Callable[[Library, Any], Callable[[], Any]]
    arrays: float  # of the size and dtype of the input that are read and written
    shape: str = "rows"  # or "images", or those with "channels last" in memory
    backward: bool = False  # only the gradients, of what `build` returns


def _norm(name: str) -> Callable[[Library, Any], Callable[[], Any]]:
    def build(library: Library, x: Any) -> Callable[[], Any]:
        parameters = [library.lib.ones(x.shape[-1], dtype=x.dtype, device=x.device).requires_grad_()
                      for _ in range(2 if name == "layer_norm" else 1)]
        function = getattr(library.F, name)
        return lambda: function(x, [x.shape[-1]], *parameters, eps=1e-5)

    return build


def _batch_norm(library: Library, x: Any) -> Callable[[], Any]:
    mean, variance, weight, bias = (library.lib.ones(x.shape[1], device=x.device) for _ in range(4))
    parameters = weight.requires_grad_(), bias.requires_grad_()
    return lambda: library.F.batch_norm(x, mean, variance, *parameters, training=True)


def _max_pool(library: Library, x: Any) -> Callable[[], Any]:
    return lambda: library.F.max_pool2d(x, 3, 2, 1)


def _cross_entropy(library: Library, x: Any) -> Callable[[], Any]:
    goal = library.tensor(np.arange(x.shape[0]) % x.shape[1])
    return lambda: library.F.cross_entropy(x, goal)


def _binary(library: Library, x: Any) -> Callable[[], Any]:
    y = x.detach().clone()
    return lambda: x + y


def _embedding(library: Library, x: Any) -> Callable[[], Any]:
    indices = library.tensor(np.random.default_rng(0).integers(0, x.shape[0], x.shape[0]))
    return lambda: library.F.embedding(indices, x)


OPERATIONS = {
    "relu": Operation(lambda library, x: lambda: library.F.relu(x), 2),
    "gelu": Operation(lambda library, x: lambda: library.F.gelu(x), 2),
    "exp": Operation(lambda library, x: lambda: library.lib.exp(x), 2),
    "x * 2.0": Operation(lambda library, x: lambda: x * 2.0, 2),
    "x + y": Operation(_binary, 3),
    "dropout": Operation(lambda library, x: lambda: library.F.dropout(x, 0.5), 2),
    "gelu backward": Operation(lambda library, x: lambda: library.F.gelu(x), 3, backward=True),
    "copy of a transposed": Operation(lambda library, x: lambda: x.T.contiguous(), 2),
    "cat": Operation(lambda library, x: lambda: library.lib.cat([x, x], 1), 4),
    "sum": Operation(lambda library, x: lambda: x.sum(), 1),
    "sum over axis 0": Operation(lambda library, x: lambda: x.sum(0), 1),
    "sum over axis 1": Operation(lambda library, x: lambda: x.sum(1), 1),
    "mean over axis 1": Operation(lambda library, x: lambda: x.mean(1), 1),
    "var over axis 0": Operation(lambda library, x: lambda: x.var(0), 1),
    "var over axis 1": Operation(lambda library, x: lambda: x.var(1), 1),
    "max over axis 1": Operation(lambda library, x: lambda: x.amax(1), 1),
    "softmax": Operation(lambda library, x: lambda: library.F.softmax(x, -1), 2),
    "softmax backward": Operation(lambda library, x: lambda: library.F.softmax(x, -1), 3, backward=True),
    "cross entropy": Operation(_cross_entropy, 1),
    "cross entropy backward": Operation(_cross_entropy, 2, backward=True),
    "layer norm": Operation(_norm("layer_norm"), 2),
    "layer norm backward": Operation(_norm("layer_norm"), 3, backward=True),
    "RMS norm": Operation(_norm("rms_norm"), 2),
    "RMS norm backward": Operation(_norm("rms_norm"), 3, backward=True),
    "embedding": Operation(_embedding, 2),
    "batch norm": Operation(_batch_norm, 3, "images"),
    "batch norm backward": Operation(_batch_norm, 5, "images", backward=True),
    "batch norm channels_last": Operation(_batch_norm, 3, "channels last"),
    "batch norm channels_last backward": Operation(_batch_norm, 5, "channels last", backward=True),
    "max pool 3x3 s2 channels_last": Operation(_max_pool, 1.25, "channels last"),
    "max pool 3x3 s2 channels_last backward": Operation(_max_pool, 1.25, "channels last", backward=True),
    "max pool 2x2": Operation(lambda library, x: lambda: library.F.max_pool2d(x, 2), 1.25, "images"),
    "avg pool 2x2": Operation(lambda library, x: lambda: library.F.avg_pool2d(x, 2), 1.25, "images"),
}


@functools.cache
def values(*shape: int) -> np.ndarray:
    """Numbers that all rows share: to draw them anew would take longer than to measure."""
    return np.resize(normal(1 << 20), shape)


def shapes(kind: str, dtype: str, side: Side) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of 'rows' or of 'images' in a dtype, and the one that is computed, which is smaller where it has to be quick."""
    shape: tuple[int, ...] = (ROWS, COLUMNS) if kind == "rows" else IMAGES
    if dtype == HALF:  # as many bytes
        shape = (2 * shape[0], *shape[1:])
    return shape, ((8, 32) if kind == "rows" else (2, 3, 8, 8)) if side.quick else shape


def cases(side: Side) -> Iterator[Case]:
    """Each operation in both dtypes."""
    for name, operation in OPERATIONS.items():
        for dtype in ("float32", HALF):
            yield _case(side, name, operation, dtype)


def _case(side: Side, name: str, operation: Operation, dtype: str) -> Case:
    shape, small = shapes(operation.shape, dtype, side)

    def build(library: Library) -> Callable[[], Any]:
        x = library.tensor(values(*small)).to(getattr(library.lib, dtype))
        if operation.shape == "channels last":
            x = library.in_layout(x, "channels_last")
        if not operation.backward:
            return operation.build(library, x)
        y = operation.build(library, x.requires_grad_())()
        return library.backward(y, [x], library.lib.ones_like(y))

    itemsize = 2 if dtype == HALF else 4
    return target(side, f"{name} {'x'.join(map(str, shape))} {dtype}", None, build, traffic="triad",
                  bytes=int(operation.arrays * itemsize * int(np.prod(shape))))
