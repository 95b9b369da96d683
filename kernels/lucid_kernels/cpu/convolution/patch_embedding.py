"""Convolution of patches that do not overlap, as of the images of a vision transformer: their pixels as rows, and a product."""
from __future__ import annotations

from ..arrays.layout import Array, contiguous
from ..arrays.strided_copy import copy_into
from ..arrays.window import Window
from ..matmul import matmul
from ..runtime import tuning
from ..runtime.implementations import unmet
from .problem import Problem


def why_not(problem: Problem) -> str | None:
    window, columns = problem.window, tuning.PATCH_EMBEDDING_LEAST_COLUMNS
    return unmet(
        (problem.groups == 1, "groups"),
        (window[:2] == window[2:4] and window[4:8] == (0, 0, 1, 1), "no patches side by side"),
        (window.kw >= columns, f"patches of fewer than {columns} columns"),
    )


def _cut(x: Array, window: Window) -> Array:
    """The patches (N, OH, OW, C, KH, KW) of x (N, C, H, W), as a view; what is left at its edges is in none of them."""
    (kh, kw), (down, across) = window[:2], window[8:]
    whole = x[:, :, : down * kh, : across * kw].reshape(*x.shape[:2], down, kh, across, kw)
    return whole.transpose(0, 2, 4, 1, 3, 5)


def _rows(x: Array, window: Window) -> Array:
    """The rows (N * OH * OW, C * KH * KW) of the pixels of the patches."""
    return contiguous(_cut(x, window)).reshape(len(x) * window.out_height * window.out_width, -1)


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int = 1) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C, KH, KW) and bias (O,)."""
    rows = matmul.matmul(_rows(x, window), weight.reshape(len(weight), -1).T, bias)
    copy_into(y, rows.reshape(len(x), *window[8:], len(weight)).transpose(0, 3, 1, 2))


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C, KH, KW)."""
    by_position = contiguous(g.transpose(0, 2, 3, 1)).reshape(-1, g.shape[1])
    rows = matmul.matmul(by_position, weight.reshape(len(weight), -1))
    patches = _cut(dx, window)
    if patches.size < dx.size:
        dx.fill(0)
    copy_into(patches, rows.reshape(patches.shape))


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, groups: int = 1) -> None:
    """Fill dweight (O, C, KH, KW) from g (N, O, OH, OW) and x (N, C, H, W)."""
    by_output = contiguous(g.swapaxes(0, 1)).reshape(g.shape[1], -1)
    matmul.matmul(by_output, _rows(x, window), out=dweight.reshape(len(dweight), -1))
