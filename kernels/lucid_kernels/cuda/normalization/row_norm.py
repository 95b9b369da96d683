"""Normalisation of rows and its gradients on a GPU, of which layer, group and RMS normalisation are made: see `row_norm.cu`.

Forward moves two elements for each, backward three, and two more for the gradients of parameters where rows are longer or share
parameters. Rows that fit into the registers of a block, up to 16384 elements (backward 8192 of float, 4096 of double), are read
once, the rest of longer ones twice. All gradients take two launches; three where more than some rows are longer, whose columns
no block has whole.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch, rows

_WARP = 32
_TILE, _TURNS = 32, 8  # the block of `column_sums`
_PARTIAL_TURNS = 32  # of `add_partials`, whose threads are a column's
_ROWS_A_CHUNK = 64
_MOST_CHUNKS = 256
#: `row_norm_gradients`: packs of a row in a thread, threads of a block, and the most elements of a row.
_PACKS, _THREADS, _LARGEST = (1, 2, 4), 256, 512
#: Blocks, with partial sums of each, that occupy a device when a thread has so many packs, and the fewest rows of their slots.
_MOST_BLOCKS, _ROWS_A_SLOT = {1: 396, 2: 264, 4: 264}, 2
_FEW_ELEMENTS, _MANY_PARAMETERS = 8192, 512  # of a parameter, and parameters, from which one kernel adds up all planes


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

    @property
    def has_planes(self) -> bool:
        """Whether rows share parameters, or neighbours do."""
        return self.groups > 1 or self.span > 1

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
        kept = rows.packs(layout.width, pack)
        launch.kernel("row_norm", f"row_norm<{launch.ctype(x.dtype)}, {launch.ctype(kind)}, {pack}, {kept}>")(
            *rows.geometry(layout.count, layout.width, pack),
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
        if layout.parameters == layout.width and layout.count > _ROWS_A_CHUNK and layout.width <= most_kept(pack):
            _all_gradients(g, x, kind, weight, mean, rstd, layout, pack, dx, dweight, dbias)
            return
        if layout.has_planes and not _are_totals(layout, dweight, x) and dweight.dtype == kind:
            _gradients_of_planes(g, x, kind, weight, mean, rstd, layout, pack, dx, dweight, dbias)
            return
        launch.kernel("row_norm", f"row_norm_grad<{launch.ctype(x.dtype)}, {launch.ctype(kind)}, {pack}>")(
            *rows.geometry(layout.count, layout.width, pack, 2),
            (g, x, *rows.optional(weight, kind, x), mean, rstd, dx, np.int32(layout.centred), *_sizes(layout)),
        )
        _parameter_gradients(g, x, mean, rstd, layout, dweight, dbias)
    else:
        launch.fill(dweight, 0)
        if dbias is not None:
            launch.fill(dbias, 0)


def most_kept(pack: int) -> int:
    """Elements of the longest row that stays in the registers of the threads of `row_norm_gradients`."""
    return _LARGEST * _PACKS[-1] * pack


def _all_gradients(g: Any, x: Any, kind: Any, weight: Any, mean: Any, rstd: Any, layout: Layout, pack: int, dx: Any, dweight: Any,
                   dbias: Any) -> None:
    """In two launches, the first of which reads g and x once, where rows fit into registers and each element has a parameter."""
    packs = next((packs for packs in _PACKS if pack > 1 and packs * pack * _WARP >= layout.width), _PACKS[-1])
    threads = _WARP
    while threads * packs * pack < layout.width:
        threads *= 2
    together = max(1, _THREADS // threads)
    blocks = max(1, min(_MOST_BLOCKS[packs], layout.count // (_ROWS_A_SLOT * together)))
    partial = launch.empty((blocks, layout.width), rstd.dtype)
    other = partial if dbias is None else launch.empty(partial.shape, rstd.dtype)
    launch.kernel("row_norm", f"row_norm_gradients<{launch.ctype(x.dtype)}, {launch.ctype(kind)}, {pack}, {packs}>")(
        (blocks,), (threads, together),
        (g, x, *rows.optional(weight, kind, x), mean, rstd, dx, partial, other, np.int32(layout.centred),
         np.int64(layout.count), np.int64(layout.width)))  # fmt: skip
    _add_partials(partial, other, layout, dweight, dbias)


def _gradients_of_planes(g: Any, x: Any, kind: Any, weight: Any, mean: Any, rstd: Any, layout: Layout, pack: int, dx: Any,
                         dweight: Any, dbias: Any) -> None:
    """In two launches that read g and x: the sums of planes, and all that follows of them."""
    each, span = layout.width // layout.span, layout.span
    planes, pack = layout.count * each, pack if span > 1 else 1
    sums = launch.empty((planes,), rstd.dtype), launch.empty((planes,), rstd.dtype)
    (blocks,), (threads, together) = rows.geometry(planes, span, pack)
    launch.kernel("row_norm", f"plane_sums<{launch.ctype(x.dtype)}, {pack}>")(
        (blocks,), (threads, together), (g, x, mean, rstd, *sums, *map(np.int64, (planes, span, each))))
    launch.kernel("row_norm", f"plane_gradients<{launch.ctype(x.dtype)}, {launch.ctype(kind)}, {pack}>")(
        (blocks + launch.ceil_div(layout.parameters, together),), (threads, together),
        (g, x, *rows.optional(weight, kind, x, dweight), mean, rstd, *sums, dx, dweight, dbias,
         *map(np.int64, (planes, span, each, layout.parameters, blocks))))  # fmt: skip


def _are_totals(layout: Layout, dweight: Any, x: Any) -> bool:
    """Whether one kernel adds up all planes of each parameter: of few elements, or where there are many parameters."""
    planes = layout.count // layout.groups
    written = dweight.dtype in (rows.accumulator(x.dtype), x.dtype)
    return written and (planes * layout.span <= _FEW_ELEMENTS or layout.parameters >= _MANY_PARAMETERS)


def _add_partials(partial: Any, other: Any, layout: Layout, dweight: Any, dbias: Any) -> None:
    chunks, parameters = partial.shape
    launch.kernel("row_norm", f"add_partials<{launch.ctype(partial.dtype)}, {launch.ctype(dweight.dtype)}>")(
        (launch.ceil_div(parameters, _TILE),), (_TILE, _PARTIAL_TURNS),
        (partial, other, dweight, dweight if dbias is None else dbias, np.int32(layout.centred), np.int64(chunks),
         np.int64(parameters)))  # fmt: skip


def _sizes(layout: Layout) -> tuple[np.int64, ...]:
    return tuple(map(np.int64, (layout.count, layout.width, layout.groups, layout.span)))


def _parameter_gradients(g: Any, x: Any, mean: Any, rstd: Any, layout: Layout, dweight: Any, dbias: Any) -> None:
    kind, wide = launch.ctype(x.dtype), rstd.dtype
    pack = layout.pack(g, x)
    planes = layout.has_planes
    parameters = layout.parameters
    chunk = max(_ROWS_A_CHUNK, launch.ceil_div(layout.count, _MOST_CHUNKS))
    chunks = layout.count // layout.groups if planes else launch.ceil_div(layout.count, chunk)
    written = launch.ctype(dweight.dtype)
    at_once = dweight.dtype in (wide, x.dtype)  # as which the sums are written
    if planes and _are_totals(layout, dweight, x):
        each = layout.width // layout.span
        launch.kernel("row_norm", f"plane_totals<{kind}, {written}, {pack if layout.span > 1 else 1}>")(
            *rows.geometry(parameters, chunks * layout.span, pack),
            (g, x, mean, rstd, dweight, dbias, *map(np.int64, (chunks, parameters, layout.span, each))),
        )
        return
    direct = chunks == 1 and at_once and not planes and (dbias is None or dbias.dtype == dweight.dtype)
    if direct:
        partials = dweight, dweight if dbias is None else dbias
    else:
        first = launch.empty((chunks, parameters), wide)
        partials = first, first if dbias is None else launch.empty((chunks, parameters), wide)
    if planes:
        each = layout.width // layout.span
        launch.kernel("row_norm", f"plane_sums<{kind}, {pack if layout.span > 1 else 1}>")(
            *rows.geometry(layout.count * each, layout.span, pack),
            (g, x, mean, rstd, *partials, *map(np.int64, (layout.count * each, layout.span, each))),
        )
    else:
        launch.kernel("row_norm", f"column_sums<{kind}, {written if direct else launch.ctype(wide)}, {pack}>")(
            (launch.ceil_div(parameters, _TILE * pack), chunks), (_TILE, _TURNS),
            (g, x, mean, rstd, *partials, np.int32(layout.centred), *map(np.int64, (layout.count, layout.width, chunk))),
        )  # fmt: skip
    if not direct:
        _add_partials(*partials, layout, dweight, dbias)
