"""`grid_sample` in float64, a point at a time, for the kernels' tests."""
from __future__ import annotations

import itertools
import math

import numpy as np

#: mode, dimensions
KINDS = [("nearest", 2), ("bilinear", 2), ("bicubic", 2), ("nearest", 3), ("bilinear", 3)]


def _padded(position: float, length: int, padding: str, align: bool) -> float:
    if padding == "reflection":
        low, high = (0.0, length - 1.0) if align else (-0.5, length - 0.5)
        span = high - low
        turned = (position - low) % (2 * span) if span else 0.0
        position = low + min(turned, 2 * span - turned)
    return position if padding == "zeros" else min(max(position, 0.0), length - 1.0)


def _weight(distance: float) -> float:
    """Keys' cubic with a = -0.75."""
    d = abs(distance)
    return 1.25 * d**3 - 2.25 * d**2 + 1 if d <= 1 else -0.75 * (d**3 - 5 * d**2 + 8 * d - 4)


def _neighbours(coordinate: float, length: int, mode: str, padding: str, align: bool) -> list[tuple[int, float]]:
    position = (coordinate + 1) / 2 * (length - 1) if align else ((coordinate + 1) * length - 1) / 2
    if mode == "bicubic":
        first = math.floor(position)
        found = [(int(_padded(p, length, padding, align)), _weight(position - p)) for p in range(first - 1, first + 3)]
    else:
        position = _padded(position, length, padding, align)
        first = math.floor(position)
        found = [(first, 1 + first - position), (first + 1, position - first)]
        found = [(round(position), 1.0)] if mode == "nearest" else found
    return [(place, weight) for place, weight in found if 0 <= place < length]


def grid_sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align: bool) -> np.ndarray:
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *point in np.ndindex(*grid.shape[:-1]):
        axes = [_neighbours(c, length, mode, padding, align) for c, length in zip(grid[n, *point][::-1], x.shape[2:], strict=True)]
        for neighbours in itertools.product(*axes):
            y[(n, slice(None), *point)] += math.prod(w for _, w in neighbours) * x[(n, slice(None), *(p for p, _ in neighbours))]
    return y


def slopes(x: np.ndarray, grid: np.ndarray, g: np.ndarray, *how: object) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of sum(g * y), by differences: exact in x, where y is linear."""
    found = []
    for which, step in ((0, 1.0), (1, 1e-6)):
        arrays = [x.astype(np.float64), grid.astype(np.float64)]
        slope = np.zeros(arrays[which].shape)
        for place in np.ndindex(*slope.shape):
            sums = []
            for sign in (1, -1):
                moved = [array.copy() for array in arrays]
                moved[which][place] += sign * step
                sums.append((g * grid_sample(*moved, *how)).sum())  # type: ignore[arg-type]
            slope[place] = (sums[0] - sums[1]) / (2 * step)
        found.append(slope)
    return found[0], found[1]
