"""Which implementation pools planes: lists by preference, of `why_not` and what computes it."""
from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..arrays.layout import Array
from ..runtime.implementations import Implementations, anything, unmet
from . import max_2x2
from .adaptive_max import max_ranges
from .avg import average_bands, average_grad_bands
from .global_avg import average_rows, average_rows_grad
from .max_planes import max_flat_rows, max_planes, max_rows
from .windows import Axis, ranges

Pair = tuple[int, int]


class Problem(NamedTuple):
    """Pooling of planes (H, W) to planes (OH, OW), over adaptive windows if there is no kernel."""

    plane: Pair
    pooled: Pair
    kernel: Pair = (0, 0)
    stride: Pair = (0, 0)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    count_include_pad: bool = False
    divisor_override: int | None = None

    @property
    def axes(self) -> tuple[Axis, Axis]:
        rows, columns = (Axis(*axis) for axis in zip(self.plane, self.pooled, self.kernel, self.stride, self.padding))
        return rows, columns

    @property
    def share(self) -> float:
        """That of an element of a 2x2 window, if it is exact; else 0."""
        divisor = self.divisor_override or 4
        return 1 / divisor if divisor > 0 and divisor & (divisor - 1) == 0 else 0


def _2x2_why_not(problem: Problem) -> str | None:
    windows = (*problem.kernel, *problem.stride, *problem.padding, *problem.dilation)
    return unmet(
        (windows == (2, 2, 2, 2, 0, 0, 1, 1), "no 2x2 windows side by side"),
        (all(2 * few <= many for few, many in zip(problem.pooled, problem.plane)), "windows that are partly outside"),
    )


# ---- maxima: ``run(x (P, H, W), problem, relu, y (P, OH, OW), indices (P, OH, OW))`` -----------------------------------


def _gaps(problem: Problem) -> str | None:
    """Why a window may have no pixel inside: those without gaps, and padding of half of them at most, have one."""
    half = all(2 * padding <= size for padding, size in zip(problem.padding, problem.kernel))
    return unmet(
        (problem.dilation == (1, 1), "dilated"),
        (half, "padding of more than half a window"),
        (problem.plane[0] * problem.plane[1] < 1 << 31, "positions of more than 32 bits"),
    )


def _max_rows_why_not(problem: Problem) -> str | None:
    return _gaps(problem) or unmet((problem.stride[1] <= 2, "windows more than 2 columns apart"))


def _max_flat_rows_why_not(problem: Problem) -> str | None:
    """A quarter of the time of `max_ranges`, which transposes."""
    flat = problem.plane[0] == problem.pooled[0] == problem.kernel[0] == 1
    near = problem.stride[1] <= 4
    return _gaps(problem) or unmet((flat, "planes of several rows"), (near, "windows more than 4 columns apart"))


def max_with_winners(x: Array, problem: Problem, relu: bool, y: Array, indices: Array) -> None:
    """Winners instead of positions, if `indices` are bytes."""
    run = max_2x2.max_2x2_winners if indices.dtype == np.uint8 else max_2x2.max_2x2
    run(x, relu, y, indices)


def _max_rows(x: Array, problem: Problem, relu: bool, y: Array, indices: Array) -> None:
    max_rows(x, *problem.kernel, *problem.stride, *problem.padding, *problem.dilation, relu, y, indices)


def _max_flat_rows(x: Array, problem: Problem, relu: bool, y: Array, indices: Array) -> None:
    max_flat_rows(x[:, 0], problem.kernel[1], problem.stride[1], problem.padding[1], relu, y[:, 0], indices[:, 0])


def _max_ranges(x: Array, problem: Problem, relu: bool, y: Array, indices: Array) -> None:
    rows, columns = map(ranges, problem.axes)
    max_ranges(x, rows, columns, relu, y, indices)


def _max_planes(x: Array, problem: Problem, relu: bool, y: Array, indices: Array) -> None:
    max_planes(x, *problem.kernel, *problem.stride, *problem.padding, *problem.dilation, relu, y, indices)


MAX = Implementations(
    max_2x2=(_2x2_why_not, max_with_winners),
    max_rows=(_max_rows_why_not, _max_rows),
    max_flat_rows=(_max_flat_rows_why_not, _max_flat_rows),
    max_ranges=(_gaps, _max_ranges),
    max_planes=(anything, _max_planes),
)


# ---- averages: ``run(x (P, H, W), problem, y (P, OH, OW))``, and ``run(g (P, OH, OW), problem, dx (P, H, W))`` ---------


@functools.lru_cache(maxsize=256)
def _window_sizes(axis: Axis, count_include_pad: bool) -> Array:
    """How many positions of the axis each window counts, as PyTorch does it: never those beyond the right padding."""
    if not count_include_pad:
        start, stop = ranges(axis)
        return np.maximum(stop - start, 0)
    start = np.arange(axis.pooled, dtype=np.int64) * axis.stride - axis.padding
    return np.minimum(start + axis.kernel, axis.length + axis.padding) - start


def _windowing(problem: Problem) -> tuple[Axis, Axis, tuple[Array, Array]]:
    """The axes, and the divisors of windows: products of a number for each row and one for each column."""
    rows, columns = problem.axes
    if problem.divisor_override:
        return rows, columns, (np.full(rows.pooled, problem.divisor_override), np.ones(columns.pooled, np.int64))
    return rows, columns, (_window_sizes(rows, problem.count_include_pad), _window_sizes(columns, problem.count_include_pad))


def _global_why_not(problem: Problem) -> str | None:
    return unmet((problem.kernel == (0, 0) and problem.pooled == (1, 1), "windows of less than the plane"))


def _average_2x2_why_not(problem: Problem) -> str | None:
    return _2x2_why_not(problem) or unmet((problem.share > 0, "the divisor is no power of two"))


def _average_2x2_grad_why_not(problem: Problem) -> str | None:
    covered = problem.plane == (2 * problem.pooled[0], 2 * problem.pooled[1])
    return _average_2x2_why_not(problem) or unmet((covered, "pixels in no window"))


def _rows(planes: Array) -> Array:
    """(P, H, W) as (P, H * W)."""
    return planes.reshape(len(planes), planes.shape[1] * planes.shape[2])


def _average_rows(x: Array, problem: Problem, y: Array) -> None:
    average_rows(_rows(x), y.reshape(-1))


def _average_2x2(x: Array, problem: Problem, y: Array) -> None:
    max_2x2.average_2x2(x, x.dtype.type(problem.share), y)


def _average_bands(x: Array, problem: Problem, y: Array) -> None:
    average_bands(x, *_windowing(problem), y)


def _average_rows_grad(g: Array, problem: Problem, dx: Array) -> None:
    average_rows_grad(g.reshape(-1), _rows(dx))


def _average_2x2_grad(g: Array, problem: Problem, dx: Array) -> None:
    max_2x2.average_2x2_grad(g, g.dtype.type(problem.share), dx)


def _average_grad_bands(g: Array, problem: Problem, dx: Array) -> None:
    average_grad_bands(g, *_windowing(problem), dx)


AVERAGE = Implementations(
    average_rows=(_global_why_not, _average_rows),
    average_2x2=(_average_2x2_why_not, _average_2x2),
    average_bands=(anything, _average_bands),
)
AVERAGE_GRAD = Implementations(
    average_rows=(_global_why_not, _average_rows_grad),
    average_2x2=(_average_2x2_grad_why_not, _average_2x2_grad),
    average_bands=(anything, _average_grad_bands),
)

