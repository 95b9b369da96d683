"""Images and volumes read at any coordinates, and the gradients: see `grid_sample.cu`."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, rows

_TAPS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
_PADDING = ("zeros", "border", "reflection")


def _launch(name: str, x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool, arrays: tuple[Any, ...],
            flags: tuple[bool, ...] = ()) -> None:
    dims, points = x.ndim - 2, math.prod(grid.shape[1:-1])
    sizes = (*x.shape[:2], points, *(1, *x.shape[2:])[-3:])
    launch.kernel("grid_sample", f"{name}<{launch.ctype(x.dtype)}, {dims}, {_TAPS[mode]}>")(
        *launch.grid_1d(x.shape[0] * points),
        (*arrays, *map(np.int64, sizes), np.int32(_PADDING.index(padding_mode)), np.int32(align_corners), *map(np.int32, flags)),
    )  # fmt: skip


def grid_sample(x: Any, grid: Any, *, mode: str, padding_mode: str, align_corners: bool, out: Any = None) -> Any:
    """x (N, C, H, W) or (N, C, D, H, W) at the coordinates of grid (N, *S, 2 or 3), in the order x, y, z: (N, C, *S)."""
    y = launch.result(out, (*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    if y.size:
        arrays = copies.contiguous(x), copies.contiguous(grid), y
        _launch("grid_sample", x, grid, mode, padding_mode, align_corners, arrays)
    return launch.deliver(y, out)


def grid_sample_grad(g: Any, x: Any, grid: Any, *, mode: str, padding_mode: str, align_corners: bool, with_input: bool,
                     with_grid: bool, out: Any = None) -> tuple[Any, Any]:
    """The gradients (dx, dgrid) of `grid_sample`; None for one that is not wanted. That of halves x is added up in float32."""
    out_x, out_grid = (None, None) if out is None else out
    dx = launch.result(out_x, x.shape if with_input else (1,), rows.accumulator(x.dtype))
    dgrid = launch.result(out_grid, grid.shape if with_grid else (1,), grid.dtype)
    copies.fill(dx, 0)
    if g.size:
        arrays = *map(copies.contiguous, (g, x, grid)), dx, dgrid
        _launch("grid_sample_grad", x, grid, mode, padding_mode, align_corners, arrays, (with_input, with_grid))
    else:
        copies.fill(dgrid, 0)
    if with_input and out_x is None and dx.dtype != x.dtype:
        dx = copies.copied(dx, x.dtype)
    return launch.deliver(dx, out_x) if with_input else None, launch.deliver(dgrid, out_grid) if with_grid else None
