"""Elementwise functions of four million floats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.cases import elementwise
from bench.cases.elementwise import SAMPLE
from bench.library import Library, target

BOUND = 0.55
#: name -> (the function of a library, the same in NumPy, what lucid needs)
FUNCTIONS: dict[str, tuple[Callable[[Library, Any], Any], Callable[[np.ndarray], np.ndarray], str]] = {
    "exp": (lambda library, x: library.lib.exp(x), np.exp, "exp"),
    "tanh": (lambda library, x: library.lib.tanh(x), np.tanh, "tanh"),
    "gelu": (lambda library, x: library.F.gelu(x), elementwise.gelu, "nn.functional.gelu"),
    "gelu, tanh": (lambda library, x: library.F.gelu(x, approximate="tanh"), elementwise.gelu_tanh, "nn.functional.gelu"),
    "silu": (lambda library, x: library.F.silu(x), elementwise.FORWARD["silu"], "nn.functional.silu"),
    "relu": (lambda library, x: library.F.relu(x), elementwise.FORWARD["relu"], "nn.functional.relu"),
}


def cases(side: Side) -> Iterator[Case]:
    """Without recording a graph."""
    size = 1 << (18 if side.quick else 22)
    values, exact = normal(size), normal(size)[SAMPLE].astype(np.float64)
    for name, (function, numpy, need) in FUNCTIONS.items():

        def build(library: Library, function: Callable[[Library, Any], Any] = function) -> Callable[[], Any]:
            x = library.tensor(values)
            return lambda: function(library, x)

        plain = None if name.startswith("gelu") else lambda numpy=numpy: lambda: numpy(values)
        yield target(side, f"{name} 4M floats", 1.0 if name == "relu" else BOUND, build, needs=(need,), bytes=8 * size,
                     exact=lambda numpy=numpy: numpy(exact), part=SAMPLE, numpy=plain)
    yield target(side, "dropout 4M floats", BOUND, lambda library: _dropout(library, values), bytes=8 * size,
                 needs=("nn.functional.dropout",))
    others = [normal(size, seed=seed) for seed in (1, 2, 3)]
    for fused in (False, True):
        suffix = ", fused" if fused else ""

        def formula(library: Library, fused: bool = fused) -> Callable[[], Any]:
            return _formula(library, fused, values, *others)

        def gradients(library: Library, fused: bool = fused) -> Callable[[], Any]:
            return _gradients(library, fused, values, *others)

        yield target(side, f"a*b + c*tanh(d) 4M floats{suffix}", BOUND, formula, needs=("tanh",), bytes=20 * size, part=SAMPLE,
                     numpy=lambda: lambda: values * others[0] + others[1] * np.tanh(others[2]),
                     exact=lambda: _exact_formula(values, *others))
        # Reads four arrays forward, five backward, and writes one and four.
        yield target(side, f"a*b + c*tanh(d) 4M floats{suffix} forward + backward", None, gradients, needs=("tanh",),
                     bytes=56 * size)


def _dropout(library: Library, values: np.ndarray) -> Callable[[], Any]:
    x = library.tensor(values)
    return lambda: library.F.dropout(x, 0.5)


def _function(library: Library, fused: bool) -> Callable[..., Any]:
    """The formula; what fuses it is a decorator of lucid that PyTorch's eager mode does not have."""
    tanh = library.lib.tanh

    def formula(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a * b + c * tanh(d)

    return formula if library.is_torch or not fused else library.lib.fuse(formula)


def _formula(library: Library, fused: bool, *values: np.ndarray) -> Callable[[], Any]:
    inputs, function = [library.tensor(array) for array in values], _function(library, fused)
    return lambda: function(*inputs)


def _gradients(library: Library, fused: bool, *values: np.ndarray) -> Callable[[], Any]:
    inputs, function = [library.tensor(array, grad=True) for array in values], _function(library, fused)
    g, grad = library.tensor(values[0]), library.lib.autograd.grad
    return lambda: grad(function(*inputs), inputs, g)


def _exact_formula(*values: np.ndarray) -> np.ndarray:
    a, b, c, d = (array[SAMPLE].astype(np.float64) for array in values)
    return a * b + c * np.tanh(d)
