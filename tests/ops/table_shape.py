"""Rows of the op table for shapes, views, stacks, order and writing by index."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.row import Row, constant, matrix, pair

CUBE = (2, 3, 4)


def _scatter_row(reduce: str, ufunc: Any, include_self: bool) -> Row:
    """`scatter_reduce` of five numbers into three of four places along dimension 0."""
    places = np.array([[0, 2, 2, 0], [2, 2, 3, 0], [0, 2, 3, 3]])
    neutral = {"prod": 1.0, "amax": -np.inf, "amin": np.inf, "sum": 0.0, "mean": 0.0}[reduce]

    def reference(x: np.ndarray, source: np.ndarray) -> np.ndarray:
        result, count = x.copy(), np.full(x.shape, float(include_self))
        spot = (places, np.broadcast_to(np.arange(4), places.shape))
        if not include_self:
            result[spot] = neutral
        ufunc.at(result, spot, source)
        np.add.at(count, spot, 1.0)
        return result / np.maximum(count, 1) if reduce == "mean" else result

    return Row("scatter_reduce", pair(a=(4, 4), b=(3, 4)), reference, lambda lib, x, source: lib.scatter_reduce(
        x, 0, constant(lib, x, places), source, reduce, include_self=include_self), variant=f"{reduce} {include_self}")


def _windows(x: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2]


def _replaced(x: np.ndarray, index: Any, value: Any) -> np.ndarray:
    result = x.copy()
    result[index] = value
    return result


ROWS = [
    Row("reshape", matrix(), lambda x: x.reshape(4, -1), lambda lib, x: x.reshape(4, -1)),
    Row("flatten", matrix(shape=(2, 3, 4)), lambda x: x.reshape(2, -1), lambda lib, x: lib.flatten(x, 1)),
    Row("transpose", matrix(shape=(2, 3, 4)), lambda x: x.transpose(2, 1, 0), lambda lib, x: x.transpose(0, 2)),
    Row("permute", matrix(shape=(2, 3, 4)), lambda x: x.transpose(2, 0, 1), lambda lib, x: x.permute(2, 0, 1)),
    Row("movedim", matrix(shape=(2, 3, 4)), lambda x: np.moveaxis(x, 0, -1), lambda lib, x: lib.movedim(x, 0, -1)),
    Row("Tensor.T", matrix(), lambda x: x.T,
        lambda lib, x: x.T), Row("Tensor.mT", matrix(), lambda x: x.swapaxes(-1, -2), lambda lib, x: x.mT),
    Row("squeeze", matrix(shape=(3, 1, 2)), lambda x: x.squeeze(1), lambda lib, x: x.squeeze(1)),
    Row("unsqueeze", matrix(), lambda x: x[..., None], lambda lib, x: x.unsqueeze(-1)),
    Row("expand", matrix(shape=(3, 1)), lambda x: np.broadcast_to(x, (2, 3, 4)), lambda lib, x: x.expand(2, 3, 4)),
    Row("repeat", matrix(), lambda x: np.tile(x, (2, 1, 3)), lambda lib, x: x.repeat(2, 1, 3)),
    Row("tile", matrix(), lambda x: np.tile(x, 2), lambda lib, x: x.tile(2)),
    Row("repeat_interleave", matrix(), lambda x: np.repeat(x, 2, 1), lambda lib, x: x.repeat_interleave(2, 1)),
    Row("flip", matrix(), lambda x: np.flip(x, (0, 1)), lambda lib, x: x.flip(0, 1)),
    Row("roll", matrix(), lambda x: np.roll(x, (1, -1), (0, 1)), lambda lib, x: x.roll((1, -1), (0, 1))),
    Row("roll", matrix(), lambda x: np.roll(x, 2), lambda lib, x: x.roll(2), variant="flat"),
    Row("tril", matrix(), np.tril, lambda lib, x: x.tril()), Row("triu", matrix(), lambda x: np.triu(x, 1),
        lambda lib, x: x.triu(1)),
    Row("diagonal", matrix(), lambda x: np.diagonal(x, 1), lambda lib, x: x.diagonal(1)),
    Row("diag", matrix(shape=(3,)), lambda x: np.diag(x, -1), lambda lib, x: lib.diag(x, -1)),
    Row("narrow", matrix(), lambda x: x[:, 1:3], lambda lib, x: x.narrow(1, 1, 2)),
    Row("select", matrix(), lambda x: x[:, -1], lambda lib, x: x.select(1, -1)),
    Row("split", matrix(), lambda x: x[:, 3:], lambda lib, x: x.split(3, 1)[1]),
    Row("chunk", matrix(), lambda x: x[:, :2], lambda lib, x: x.chunk(2, 1)[0]),
    Row("unbind", matrix(), lambda x: x[:, 2], lambda lib, x: x.unbind(1)[2]),
    Row("cat", pair(b=(3, 2)), lambda a, b: np.concatenate([a, b, a], 1), lambda lib, a, b: lib.cat([a, b, a], 1)),
    Row("stack", pair(), lambda a, b: np.stack([a, b], 1), lambda lib, a, b: lib.stack([a, b], 1)),
    Row("hstack", pair(), lambda a, b: np.hstack([a, b]), lambda lib, a, b: lib.hstack([a, b])),
    Row("vstack", pair(), lambda a, b: np.vstack([a, b]), lambda lib, a, b: lib.vstack([a, b])),
    Row("as_strided", lambda rng: [rng.uniform(-2, 2, 12)],
        lambda x: np.lib.stride_tricks.as_strided(x.copy().reshape(-1)[1:], (3, 2, 2), (8, 16, 32)),
        lambda lib, x: x.as_strided((3, 2, 2), (1, 2, 4), 1)),
    Row("Tensor.unfold", matrix(shape=(3, 7)), _windows, lambda lib, x: x.unfold(1, 3, 2)),
    Row("diag_embed", matrix(), lambda x: np.stack([np.diag(row, 1) for row in x]), lambda lib, x: lib.diag_embed(x, 1)),
    Row("diagflat", matrix(), np.diagflat),
    Row("diagonal", matrix(shape=CUBE), lambda x: np.diagonal(x, 1, 2, 0), lambda lib, x: x.diagonal(1, 2, 0), variant="dims"),
    Row("diagonal_scatter", pair(a=(3, 3), b=(3,)), lambda a, b: _replaced(a, np.diag_indices(3), b),
        lambda lib, a, b: a.diagonal_scatter(b)),
    Row("select_scatter", pair(b=(4,)), lambda a, b: _replaced(a, -1, b), lambda lib, a, b: a.select_scatter(b, 0, -1)),
    Row("slice_scatter", pair(b=(3, 2)), lambda a, b: _replaced(a, np.s_[:, 0:4:2], b),
        lambda lib, a, b: a.slice_scatter(b, 1, 0, 4, 2)),
    Row("as_strided_scatter", pair(a=(12,), b=(3,)), lambda a, b: _replaced(a, np.s_[1:8:3], b),
        lambda lib, a, b: a.as_strided_scatter(b, (3,), (3,), 1)),
    Row("rot90", matrix(), lambda x: np.rot90(x, 3), lambda lib, x: lib.rot90(x, 3)),
    Row("dstack", pair(), lambda a, b: np.dstack([a, b]), lambda lib, a, b: lib.dstack([a, b])),
    Row("column_stack", pair(b=(3, 2)), lambda a, b: np.column_stack([a, b]), lambda lib, a, b: lib.column_stack([a, b])),
    Row("row_stack", pair(b=(4,)), lambda a, b: np.vstack([a, b]), lambda lib, a, b: lib.row_stack([a, b])),
    Row("block_diag", pair(b=(2, 2)), lambda a, b: np.block([[a, np.zeros((3, 2))], [np.zeros((2, 4)), b]]),
        lambda lib, a, b: lib.block_diag(a, b)),
    Row("hsplit", matrix(), lambda x: np.hsplit(x, 2)[1], lambda lib, x: x.hsplit(2)[1]),
    Row("vsplit", matrix(), lambda x: np.vsplit(x, (1, 2))[1], lambda lib, x: x.vsplit((1, 2))[1]),
    Row("dsplit", matrix(shape=CUBE), lambda x: np.dsplit(x, 2)[0], lambda lib, x: x.dsplit(2)[0]),
    Row("meshgrid", pair(a=(3,), b=(2,)), lambda a, b: np.stack(np.meshgrid(a, b)),
        lambda lib, a, b: lib.stack(lib.meshgrid(a, b, indexing="xy"))),
    Row("combinations", matrix(shape=(3,)), lambda a: np.array([[a[0], a[1]], [a[0], a[2]], [a[1], a[2]]]),
        lambda lib, a: lib.combinations(a)),
    _scatter_row("sum", np.add, True), _scatter_row("sum", np.add, False), _scatter_row("mean", np.add, True),
    _scatter_row("mean", np.add, False), _scatter_row("prod", np.multiply, True), _scatter_row("prod", np.multiply, False),
    _scatter_row("amax", np.maximum, True), _scatter_row("amax", np.maximum, False),
    _scatter_row("amin", np.minimum, True), _scatter_row("amin", np.minimum, False),
    Row("index_reduce", pair(b=(3, 4)), lambda a, b: np.stack([a[0] * b[0] * b[1], a[1], a[2] * b[2]]),
        lambda lib, a, b: a.index_reduce(0, constant(lib, a, [0, 0, 2]), b, "prod")),
    Row("kthvalue", matrix(), lambda x: np.sort(x, 1)[:, 1], lambda lib, x: x.kthvalue(2).values),
    Row("msort", matrix(), lambda x: np.sort(x, 0), lambda lib, x: x.msort()),
    Row("put", pair(b=(3,)), lambda a, b: _replaced(a.reshape(-1), [0, -1, 5], b).reshape(3, 4),
        lambda lib, a, b: a.put(constant(lib, a, [0, -1, 5]), b)),
    Row("masked_scatter", pair(b=(3, 2)), lambda a, b: _replaced(a, np.s_[:, [0, 2]], b),
        lambda lib, a, b: a.masked_scatter(constant(lib, a, [True, False, True, False]), b)),
    Row("isin", pair(b=(3,)), lambda a, b: np.isin(np.round(a), np.round(b)),
        lambda lib, a, b: lib.isin(a.round(), b.round()), smooth=False),
    Row("einops.rearrange", matrix(shape=CUBE), lambda x: x.transpose(2, 0, 1).reshape(8, 3, 1),
        lambda lib, x: lib.einops.rearrange(x, "a (b c) d -> (d a) c b", b=1)),
]
