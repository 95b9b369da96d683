"""Sums that several special functions share, for use inside kernels."""
from __future__ import annotations

from typing import Any

from ..runtime.jit import jit_exact


@jit_exact
def polynomial(coefficients: Any, x: float) -> float:
    """The polynomial with `coefficients`, the one of the highest power first, at `x` (Horner)."""
    total = 0.0
    for i in range(coefficients.shape[0]):
        total = total * x + coefficients[i]
    return total


@jit_exact
def chebyshev(coefficients: Any, x: float) -> float:
    """The sum of Chebyshev polynomials with `coefficients`, the highest order first, at `x` in [-1, 1] (Clenshaw, 1955)."""
    b, previous = 0.0, 0.0
    last = coefficients.shape[0] - 1
    for i in range(last):
        b, previous = 2.0 * x * b - previous + coefficients[i], b
    return x * b - previous + coefficients[last]
