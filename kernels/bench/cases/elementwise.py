"""Activations and arithmetic, and their gradients, at memory speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from bench.case import Case, Side, normal

_erf = np.vectorize(math.erf, otypes=[float])
SAMPLE = slice(10_000)  # elements compared with float64


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    """The Gaussian error linear unit; slow."""
    return x * 0.5 * (1 + _erf(x / math.sqrt(2)))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """The approximation of GELU by tanh."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


#: name -> the function in NumPy, in any precision
FORWARD: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "silu": lambda x: x * _sigmoid(x),
}


def cases(side: Side) -> Iterator[Case]:
    """Four million floats, as a large activation has."""
    size = 1 << (18 if side.quick else 22)
    values = normal(size)
    exact = values[SAMPLE].astype(np.float64)
    x, g = side.array(values), side.array(normal(size, seed=1))
    k, torch = side.kernels("elementwise.elementwise"), side.torch
    for name, function in FORWARD.items():
        yield _forward(side, name, function, x, exact)
    yield side.case(
        "gelu", ours=lambda: k.gelu(x, approximate="none"), torch=lambda: torch.nn.functional.gelu(x), bytes=8 * size,
        exact=lambda: gelu(exact), part=SAMPLE)
    yield side.case(
        "gelu, tanh", ours=lambda: k.gelu(x, approximate="tanh"),
        torch=lambda: torch.nn.functional.gelu(x, approximate="tanh"), numpy=lambda: gelu_tanh(x), bytes=8 * size,
        exact=lambda: gelu_tanh(exact), part=SAMPLE)

    y = side.array(np.tanh(values))
    slope = values[SAMPLE].astype(np.float64)
    upstream = normal(size, seed=1)[SAMPLE].astype(np.float64)
    aten = torch.ops.aten if torch is not None else None
    yield side.case(
        "relu gradient", ours=lambda: k.relu_grad(g, y), torch=lambda: aten.threshold_backward(g, y, 0), bytes=12 * size,
        numpy=lambda: g * (y > 0), exact=lambda: upstream * (slope > 0), part=SAMPLE)
    yield side.case(
        "tanh gradient", ours=lambda: k.tanh_grad(g, y), torch=lambda: aten.tanh_backward(g, y), bytes=12 * size,
        numpy=lambda: g * (1 - y * y), exact=lambda: upstream * (1 - np.tanh(values)[SAMPLE].astype(np.float64) ** 2),
        part=SAMPLE)
    yield side.case(
        "silu gradient", ours=lambda: k.silu_grad(g, x), torch=lambda: aten.silu_backward(g, x), bytes=12 * size,
        exact=lambda: upstream * _sigmoid(slope) * (1 + slope * (1 - _sigmoid(slope))), part=SAMPLE)
    yield side.case(
        "gelu gradient", ours=lambda: k.gelu_grad(g, x, approximate="none"), torch=lambda: aten.gelu_backward(g, x),
        bytes=12 * size, part=SAMPLE,
        exact=lambda: upstream * (0.5 * (1 + _erf(slope / math.sqrt(2)))
                                  + slope * np.exp(-slope * slope / 2) / math.sqrt(2 * math.pi)))
    for name, ufunc in {"add": np.add, "mul": np.multiply, "div": np.divide}.items():
        yield _arithmetic(side, name, ufunc, x, g, exact, upstream)
    rows = x.reshape(-1, 1 << 10)
    row, column = rows[0], side.array(normal(len(rows), 1, seed=1))
    for name, a, b in (("a row", rows, row), ("a column", rows, column), ("an outer product", column, row)):
        yield side.case(f"mul, {name}", ours=lambda a=a, b=b: k.mul(a, b), torch=lambda a=a, b=b: torch.mul(a, b),
                        numpy=lambda a=a, b=b: a * b, bytes=4 * size * (1 if a is column else 2))
    yield side.case("mul, a number", ours=lambda: k.mul(x, 0.3), torch=lambda: torch.mul(x, 0.3), numpy=lambda: x * 0.3,
                    bytes=8 * size)


def _forward(side: Side, name: str, function: Callable, x: object, exact: np.ndarray) -> Case:
    k, torch = side.kernels("elementwise.elementwise"), side.torch
    numpy = None if side.device == "gpu" else lambda: function(x)
    return side.case(name, ours=lambda: getattr(k, name)(x), torch=lambda: getattr(torch.nn.functional, name)(x),
                     numpy=numpy, bytes=8 * len(x), exact=lambda: function(exact), part=SAMPLE)


def _arithmetic(side: Side, name: str, ufunc: Callable, a: object, b: object, exact_a: np.ndarray, exact_b: np.ndarray
                ) -> Case:
    k, torch = side.kernels("elementwise.elementwise"), side.torch
    return side.case(name, ours=lambda: getattr(k, name)(a, b), torch=lambda: getattr(torch, name)(a, b),
                     numpy=lambda: getattr(side.xp, ufunc.__name__)(a, b), bytes=12 * len(a),
                     exact=lambda: ufunc(exact_a, exact_b), part=SAMPLE)
