"""Convolutions that are one product of matrices: of taps that cover the image, or 1x1 taps and a single image."""
from __future__ import annotations

from ..arrays.layout import Array
from ..arrays.window import Window
from ..matmul import matmul
from ..runtime import tuning
from ..runtime.implementations import unmet
from .im2row import subsampled
from .problem import Problem


def _covers(window: Window, height: int, width: int) -> bool:
    """Whether the taps cover the image, and each sample has one output."""
    return window[:2] == (height, width) and window[4:6] == (0, 0) and window[8:] == (1, 1)


def _flat(array: Array) -> Array:
    """A matrix whose rows are array[i]."""
    return array.reshape(array.shape[0], -1)


def why_not(problem: Problem) -> str | None:
    return unmet(
        (problem.groups == 1, "groups"),
        (_covers(problem.window, problem.height, problem.width), "taps that do not cover the image"),
    )


def grad_weight_why_not(problem: Problem) -> str | None:
    """Of a single image with 1x1 taps, if that is worth a call."""
    large = problem.outputs * problem.positions * problem.channels >= tuning.SHARED_FROM
    product = problem.images == 1 and problem.is_pointwise and large
    return None if product else why_not(problem)


def grad_input_why_not(problem: Problem) -> str | None:
    return grad_weight_why_not(problem) if problem.window[2:4] == (1, 1) else why_not(problem)


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int = 1) -> None:
    """Fill y (N, O, 1, 1) from x (N, C, H, W), weight (O, C, H, W) and bias (O,)."""
    matmul.matmul(_flat(x), _flat(weight).T, bias, out=_flat(y))


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C, KH, KW)."""
    if _covers(window, *dx.shape[2:]):
        matmul.matmul(_flat(g), _flat(weight), out=_flat(dx))
    else:
        matmul.matmul(_flat(weight).T, _flat(g[0]), out=_flat(dx[0]))


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, groups: int = 1) -> None:
    """Fill dweight (O, C, KH, KW) from g (N, O, OH, OW) and x (N, C, H, W)."""
    if _covers(window, *x.shape[2:]):
        matmul.matmul(_flat(g).T, _flat(x), out=_flat(dweight))
    else:
        x = x if g.shape[2:] == x.shape[2:] else subsampled(x, window)
        matmul.matmul(_flat(g[0]), _flat(x[0]).T, out=_flat(dweight))
