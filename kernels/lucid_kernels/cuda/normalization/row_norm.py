"""Normalisation of rows and its gradients on a GPU, of which layer, group and RMS normalisation are made: see `row_norm.cu`.

Forward moves two elements for each, backward three, and two more for the gradients of parameters. Rows that fit into the
registers of a block, up to 32 KB (backward 16 KB), are read once, the rest of longer ones twice.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch, rows

_TILE, _TURNS = 32, 8  # the block of `column_sums` and `add_partials`
_ROWS_A_CHUNK = 64
_MOST_CHUNKS = 256


@dataclasses.dataclass(frozen=True)
class Layout:
    """`count` rows of `width` elements, whose parameters stand for `span` neighbours each, in turns of `groups` sets."""

    count: int
    width: int
    groups: int = 1
    span: int = 1
    centred: bool = True

    @property
    def parameters(self) -> int:
        return self.groups * (self.width // self.span) if self.width else 0

    def pack(self, *arrays: Any) -> int:
        """Elements that a thread moves at once: neighbours in a row, with one parameter or with neighbouring ones."""
        return rows.pack(self.width if self.span == 1 else self.span, *arrays)


def forward(x: Any, weight: Any, bias: Any, layout: Layout, eps: float, y: Any, mean: Any, rstd: Any) -> None:
    """Write `y` like x (contiguous), and `mean` (unless None) and `rstd` of the rows."""
    if not layout.width:
        if mean is not None:
            launch.fill(mean, 0)
        launch.fill(rstd, math.nan)
    elif layout.count:
        kind, (weight, bias) = rows.parameters(x, weight, bias)
        pack = layout.pack(x, y, weight, bias)
        launch.kernel("row_norm", f"row_norm<{launch.ctype(x.dtype)}, {launch.ctype(kind)}, {pack}>")(
            *rows.geometry(layout.count, layout.width, pack, x.dtype.itemsize),
            (
                x, *rows.optional(weight, kind, x), *rows.optional(bias, kind, x), y, rstd if mean is None else mean, rstd,
                np.int32(layout.centred), *_sizes(layout), rstd.dtype.type(eps),
            ),
        )  # fmt: skip


def backward(g: Any, x: Any, weight: Any, mean: Any, rstd: Any, layout: Layout, dx: Any, dweight: Any, dbias: Any) -> None:
    """Write `dx`, and `dweight` and `dbias` (unless None) of the parameters, added up in an order that the shape alone fixes."""
    wide = rows.accumulator(x.dtype)
    mean, rstd = (None if array is None else rows.optional(array, wide)[0] for array in (mean, rstd))
    mean = rstd if mean is None else mean
    if x.size:
        kind, (weight,) = rows.parameters(x, weight)
        pack = layout.pack(g, x, dx, weight)
        launch.kernel("row_norm", f"row_norm_grad<{launch.ctype(x.dtype)}, {launch.ctype(kind)}, {pack}>")(
            *rows.geometry(layout.count, layout.width, pack, x.dtype.itemsize, 2),
            (g, x, *rows.optional(weight, kind, x), mean, rstd, dx, np.int32(layout.centred), *_sizes(layout)),
        )
        _parameter_gradients(g, x, mean, rstd, layout, dweight, dbias)
    else:
        launch.fill(dweight, 0)
        if dbias is not None:
            launch.fill(dbias, 0)


def _sizes(layout: Layout) -> tuple[np.int64, ...]:
    return tuple(map(np.int64, (layout.count, layout.width, layout.groups, layout.span)))


def _parameter_gradients(g: Any, x: Any, mean: Any, rstd: Any, layout: Layout, dweight: Any, dbias: Any) -> None:
    kind, wide = launch.ctype(x.dtype), rstd.dtype
    pack = layout.pack(g, x)
    planes = layout.groups > 1 or layout.span > 1
    parameters = layout.parameters
    chunk = max(_ROWS_A_CHUNK, launch.ceil_div(layout.count, _MOST_CHUNKS))
    chunks = layout.count // layout.groups if planes else launch.ceil_div(layout.count, chunk)
    direct = chunks == 1 and dweight.dtype == wide and (dbias is None or dbias.dtype == wide)
    if direct:
        partials = dweight, dweight if dbias is None else dbias
    else:
        first = launch.empty((chunks, parameters), wide)
        partials = first, first if dbias is None else launch.empty((chunks, parameters), wide)
    if planes:
        each = layout.width // layout.span
        launch.kernel("row_norm", f"plane_sums<{kind}, {pack if layout.span > 1 else 1}>")(
            *rows.geometry(layout.count * each, layout.span, pack, x.dtype.itemsize),
            (g, x, mean, rstd, *partials, *map(np.int64, (layout.count * each, layout.span, each))),
        )
    else:
        launch.kernel("row_norm", f"column_sums<{kind}, {pack}>")(
            (launch.ceil_div(parameters, _TILE * pack), chunks), (_TILE, _TURNS),
            (g, x, mean, rstd, *partials, np.int32(layout.centred), *map(np.int64, (layout.count, layout.width, chunk))),
        )  # fmt: skip
    if not direct:
        launch.kernel("row_norm", f"add_partials<{launch.ctype(wide)}, {launch.ctype(dweight.dtype)}>")(
            (launch.ceil_div(parameters, _TILE),), (_TILE, _TURNS),
            (*partials, dweight, dweight if dbias is None else dbias, np.int32(layout.centred), np.int64(chunks),
             np.int64(parameters)),
        )  # fmt: skip
