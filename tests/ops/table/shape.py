"""Rows of the op table for shape and movement: views of elements, and elements repeated, turned and kept in triangles."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.ops.table.row import Inputs, Row, constant, matrix, pair, replaced

CUBE = (2, 3, 4)

_row = functools.partial(Row, complex=True)


def _strided(x: np.ndarray, size: tuple[int, ...], strides: tuple[int, ...], first: int) -> np.ndarray:
    steps = tuple(step * x.itemsize for step in strides)
    return np.lib.stride_tricks.as_strided(x.copy().reshape(-1)[first:], size, steps)


def _windows(x: np.ndarray, size: int, axis: int, step: int) -> np.ndarray:
    found = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return np.moveaxis(np.moveaxis(found, axis, 0)[::step], 0, axis)


def _empty_and_0d(op: str, reference: Any, call: Any, empty: tuple[int, ...] = (0, 3)) -> list[Row]:
    return [_row(op, matrix(shape=empty), reference, call, variant="empty"),
            _row(op, matrix(shape=()), reference, call, variant="0-d")]


def _matrices_of(x: np.ndarray, offset: int) -> np.ndarray:
    return np.stack([np.diag(row, offset) for row in x])


VIEWS = [
    _row("reshape", matrix(), lambda x: x.reshape(4, -1), lambda lib, x: lib.reshape(x, (4, -1))),
    *_empty_and_0d("reshape", lambda x: x.reshape(1, -1, 1), lambda lib, x: x.reshape(1, x.numel(), 1)),
    _row("reshape", matrix(), lambda x: x.T.reshape(2, 6), lambda lib, x: x.t().reshape(2, 6), variant="copy"),
    _row("Tensor.reshape_as", pair(b=(6, 2)), lambda a, b: a.reshape(6, 2) * b, lambda lib, a, b: a.reshape_as(b) * b),
    _row("Tensor.view", matrix(), lambda x: x.reshape(2, 6), lambda lib, x: x.contiguous().view(2, -1)),
    _row("Tensor.view_as", pair(b=(6, 2)), lambda a, b: a.reshape(6, 2) * b, lambda lib, a, b: a.contiguous().view_as(b) * b),
    _row("flatten", matrix(shape=CUBE), lambda x: x.reshape(-1)),
    _row("flatten", matrix(shape=CUBE), lambda x: x.reshape(2, -1), lambda lib, x: x.flatten(1), variant="from"),
    _row("flatten", matrix(shape=(2, 1, 3, 2)), lambda x: x.reshape(2, 3, 2),
         lambda lib, x: lib.flatten(x, start_dim=-3, end_dim=2),
         variant="between"),
    *_empty_and_0d("flatten", lambda x: x.reshape(-1), None),
    _row("unflatten", matrix(shape=(2, 6)), lambda x: x.reshape(2, 3, 2), lambda lib, x: lib.unflatten(x, -1, (3, -1))),
    _row("ravel", matrix(), np.ravel), *_empty_and_0d("ravel", np.ravel, None),
    _row("squeeze", matrix(shape=(3, 1, 2, 1)), np.squeeze),
    _row("squeeze", matrix(shape=(3, 1, 2, 1)), lambda x: x.squeeze(1), lambda lib, x: lib.squeeze(x, -3), variant="dim"),
    _row("squeeze", matrix(shape=(1, 3, 1)), lambda x: x.squeeze(2), lambda lib, x: x.squeeze((1, 2)), variant="dims"),
    *_empty_and_0d("squeeze", lambda x: x.squeeze(), None, (0, 1)),
    _row("Tensor.squeeze_", matrix(shape=(3, 1, 2)), lambda x: x.squeeze(1), lambda lib, x: x.clone().squeeze_(1)),
    _row("unsqueeze", matrix(), lambda x: x[:, None], lambda lib, x: lib.unsqueeze(x, 1)),
    *_empty_and_0d("unsqueeze", lambda x: x[..., None], lambda lib, x: x.unsqueeze(-1)),
    _row("Tensor.unsqueeze_", matrix(), lambda x: x[None], lambda lib, x: x.clone().unsqueeze_(0)),
    _row("Tensor.expand", matrix(shape=(3, 1)), lambda x: np.broadcast_to(x, (2, 3, 4)), lambda lib, x: x.expand(2, -1, 4)),
    _row("Tensor.expand", matrix(shape=()), lambda x: np.broadcast_to(x, (2, 0)),
         lambda lib, x: x.expand((2, 0)), variant="to none"),
    _row("Tensor.expand_as", pair(a=(4,)), lambda a, b: a * b, lambda lib, a, b: a.expand_as(b) * b),
    _row("broadcast_to", matrix(shape=(3, 1)), lambda x: np.broadcast_to(x, (2, 3, 4)),
         lambda lib, x: lib.broadcast_to(x, (2, 3, 4))),
    _row("broadcast_tensors", pair(a=(3, 1), b=(2, 1, 4)), lambda a, b: np.broadcast_arrays(a, b)),
    _row("permute", matrix(shape=CUBE), lambda x: x.transpose(2, 0, 1), lambda lib, x: lib.permute(x, (-1, 0, 1))),
    _row("permute", matrix(shape=()), lambda x: x, lambda lib, x: x.permute(()), variant="0-d"),
    _row("transpose", matrix(shape=CUBE), lambda x: x.transpose(2, 1, 0), lambda lib, x: lib.transpose(x, 0, -1)),
    *_empty_and_0d("transpose", lambda x: x.T, lambda lib, x: x.transpose(0, -1)),
    *[_row(op, matrix(shape=CUBE), lambda x: x.swapaxes(0, 1), functools.partial(
        lambda lib, x, op: getattr(lib, op)(x, 0, 1), op=op)) for op in ("swapaxes", "swapdims")],
    *[_row(f"Tensor.{op}", matrix(shape=CUBE), lambda x: x.swapaxes(0, 1), functools.partial(
        lambda lib, x, op: getattr(x.clone(), op)(0, 1), op=op)) for op in ("transpose_", "swapaxes_", "swapdims_")],
    *[_row(op, matrix(shape=CUBE), lambda x: np.moveaxis(x, (0, 1), (-1, 0)), functools.partial(
        lambda lib, x, op: getattr(lib, op)(x, (0, 1), (-1, 0)), op=op)) for op in ("movedim", "moveaxis")],
    _row("movedim", matrix(shape=CUBE), lambda x: np.moveaxis(x, 0, 1), lambda lib, x: x.movedim(0, 1), variant="one"),
    _row("t", matrix(), lambda x: x.T), _row("t", matrix(shape=(3,)), lambda x: x, variant="vector"),
    _row("Tensor.t_", matrix(), lambda x: x.T, lambda lib, x: x.clone().t_()),
    _row("Tensor.T", matrix(), lambda x: x.T, lambda lib, x: x.T),
    _row("Tensor.mT", matrix(shape=CUBE), lambda x: x.swapaxes(-1, -2), lambda lib, x: x.mT),
    _row("Tensor.H", matrix(), lambda x: x.conj().T, lambda lib, x: x.H),
    _row("Tensor.mH", matrix(shape=CUBE), lambda x: x.conj().swapaxes(-1, -2), lambda lib, x: x.mH),
    _row("narrow", matrix(), lambda x: x[:, 1:3], lambda lib, x: lib.narrow(x, 1, 1, 2)),
    _row("narrow", matrix(), lambda x: x[-2:], lambda lib, x: x.narrow(0, -2, 2), variant="from the end"),
    _row("narrow", matrix(), lambda x: x[:, 4:], lambda lib, x: x.narrow(-1, 4, 0), variant="nothing"),
    _row("select", matrix(), lambda x: x[:, -1], lambda lib, x: lib.select(x, 1, -1)),
    _row("select", matrix(shape=(3,)), lambda x: x[1], lambda lib, x: x.select(0, 1), variant="vector"),
    _row("diagonal", matrix(), lambda x: np.diagonal(x)),
    _row("diagonal", matrix(shape=CUBE), lambda x: np.diagonal(x, 1, 2, 0),
         lambda lib, x: lib.diagonal(x, 1, 2, 0), variant="dims"),
    _row("diagonal", matrix(), lambda x: np.diagonal(x, -2), lambda lib, x: x.diagonal(offset=-2), variant="below"),
    _row("diagonal", matrix(), lambda x: np.zeros(0), lambda lib, x: x.diagonal(7), variant="nothing"),
    _row("as_strided", matrix(shape=(12,)), lambda x: _strided(x, (3, 2, 2), (1, 2, 4), 1),
         lambda lib, x: lib.as_strided(x.contiguous(), (3, 2, 2), (1, 2, 4), 1)),
    _row("as_strided", matrix(), lambda x: _strided(x, (2, 3), (0, 3), 0),
         lambda lib, x: x.contiguous().as_strided((2, 3), (0, 3)),
         variant="repeated"),
    _row("as_strided", matrix(), lambda x: x[1, 1], lambda lib, x: x.contiguous()[1:].as_strided((), (), 5), variant="0-d"),
    _row("Tensor.as_strided_", matrix(), lambda x: x.reshape(-1)[1::4],
         lambda lib, x: x.contiguous().clone().as_strided_((3,), (4,), 1)),
    _row("Tensor.unfold", matrix(shape=(3, 7)), lambda x: _windows(x, 3, 1, 2), lambda lib, x: x.unfold(1, 3, 2)),
    _row("Tensor.unfold", matrix(shape=CUBE), lambda x: _windows(x, 2, 0, 1), lambda lib, x: x.unfold(0, size=2, step=1),
         variant="first"),
    _row("Tensor.unfold", matrix(shape=(3, 7)), lambda x: _windows(x, 2, 1, 3), lambda lib, x: x.unfold(1, 2, 3), variant="apart"),
    _row("Tensor.unfold", matrix(), lambda x: x[..., None], lambda lib, x: x.unfold(-1, 1, 1), variant="of one"),
]

SCATTERED_VIEWS = [
    _row("diagonal_scatter", pair(a=(3, 3), b=(3,)), lambda a, b: replaced(a, np.diag_indices(3), b)),
    _row("diagonal_scatter", pair(b=(2,)), lambda a, b: replaced(a, ([1, 2], [0, 1]), b),
         lambda lib, a, b: a.diagonal_scatter(b, -1, 0, 1), variant="below"),
    _row("select_scatter", pair(b=(4,)), lambda a, b: replaced(a, -1, b), lambda lib, a, b: lib.select_scatter(a, b, 0, -1)),
    _row("slice_scatter", pair(b=(3, 2)), lambda a, b: replaced(a, np.s_[:, 0:4:2], b),
         lambda lib, a, b: lib.slice_scatter(a, b, 1, 0, 4, 2)),
    _row("slice_scatter", pair(b=(2, 4)), lambda a, b: replaced(a, np.s_[1:], b),
         lambda lib, a, b: a.slice_scatter(b, start=1),
         variant="to the end"),
    _row("as_strided_scatter", pair(a=(12,), b=(3,)), lambda a, b: replaced(a, np.s_[1:8:3], b),
         lambda lib, a, b: lib.as_strided_scatter(a, b, (3,), (3,), 1)),
]

REPEATED: Inputs = matrix(shape=(3, 2))
MOVED = [
    _row("Tensor.repeat", matrix(), lambda x: np.tile(x, (2, 1, 3)), lambda lib, x: x.repeat(2, 1, 3)),
    _row("Tensor.repeat", matrix(), lambda x: x[:0], lambda lib, x: x.repeat(0, 1), variant="never"),
    _row("tile", matrix(), lambda x: np.tile(x, (2, 1, 2)), lambda lib, x: lib.tile(x, (2, 1, 2))),
    _row("tile", matrix(), lambda x: np.tile(x, 2), lambda lib, x: x.tile(2), variant="last"),
    *_empty_and_0d("tile", lambda x: np.tile(x, (2, 2)), lambda lib, x: x.tile((2, 2))),
    _row("repeat_interleave", REPEATED, lambda x: np.repeat(x, 2, 1), lambda lib, x: lib.repeat_interleave(x, 2, 1)),
    _row("repeat_interleave", REPEATED, lambda x: np.repeat(x, 3), lambda lib, x: x.repeat_interleave(3), variant="flat"),
    _row("repeat_interleave", REPEATED, lambda x: np.repeat(x, [1, 0, 2], 0),
         lambda lib, x: x.repeat_interleave(constant(lib, x, [1, 0, 2]), dim=0), variant="each", data_dependent=True),
    _row("repeat_interleave", REPEATED, lambda x: np.repeat(x, [1, 0, 2], 0),
         lambda lib, x: x.repeat_interleave(constant(lib, x, [1, 0, 2]), 0, output_size=3), variant="each, with the size"),
    _row("flip", matrix(), lambda x: np.flip(x, (0, 1)), lambda lib, x: lib.flip(x, (0, 1))),
    _row("flip", matrix(shape=CUBE), lambda x: np.flip(x, 2), lambda lib, x: x.flip(-1), variant="one"),
    *_empty_and_0d("flip", lambda x: x, lambda lib, x: x.flip(())),
    _row("fliplr", matrix(), np.fliplr), _row("flipud", matrix(), np.flipud),
    _row("roll", matrix(), lambda x: np.roll(x, (1, -1), (0, 1)), lambda lib, x: lib.roll(x, (1, -1), (0, 1))),
    _row("roll", matrix(), lambda x: np.roll(x, 2), lambda lib, x: x.roll(2), variant="flat"),
    _row("roll", matrix(), lambda x: np.roll(x, -9, 1), lambda lib, x: x.roll(-9, -1), variant="beyond"),
    _row("roll", matrix(shape=(0, 3)), lambda x: x, lambda lib, x: x.roll(2, 1), variant="empty"),
    *[_row("rot90", matrix(shape=CUBE), functools.partial(lambda x, k: np.rot90(x, k, (0, 2)), k=k),
           functools.partial(lambda lib, x, k: lib.rot90(x, k, (0, 2)), k=k), variant=str(k)) for k in (1, 2, 3, 4, -1)],
    _row("tril", matrix(), np.tril, out=True), _row("triu", matrix(), np.triu, out=True),
    *[_row(op, matrix(shape=CUBE), functools.partial(lambda x, op, k: getattr(np, op)(x, k), op=op, k=k),
           functools.partial(lambda lib, x, op, k: getattr(lib, op)(x, diagonal=k), op=op, k=k), variant=str(k))
      for op in ("tril", "triu") for k in (1, -2, 9)],
    _row("tril", matrix(shape=(0, 3)), lambda x: x, variant="empty"),
    *[_row(f"Tensor.{op}_", matrix(), functools.partial(lambda x, op: getattr(np, op)(x, -1), op=op),
           functools.partial(lambda lib, x, op: getattr(x.clone(), op)(-1), op=f"{op}_")) for op in ("tril", "triu")],
    _row("diag", matrix(shape=(3,)), lambda x: np.diag(x, -1), lambda lib, x, **out: lib.diag(x, -1, **out), out=True),
    _row("diag", matrix(), lambda x: np.diag(x, 1), lambda lib, x: x.diag(1), variant="of a matrix"),
    _row("diag", matrix(shape=(0,)), np.diag, variant="empty"),
    _row("diag_embed", matrix(), lambda x: _matrices_of(x, 1), lambda lib, x: lib.diag_embed(x, 1)),
    _row("diag_embed", matrix(), lambda x: _matrices_of(x, -1).transpose(2, 0, 1),
         lambda lib, x: x.diag_embed(-1, 2, 0), variant="dims"),
    _row("diagflat", matrix(), np.diagflat), _row("diagflat", matrix(shape=(2,)), lambda x: np.diagflat(x, 1),
                                                  lambda lib, x: lib.diagflat(x, 1), variant="offset"),
    *_empty_and_0d("diagflat", np.diagflat, None),
    *[_row(f"atleast_{n}d", matrix(shape=shape), function, variant=str(shape)) for n, function in (
        (1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)) for shape in ((), (2,), (2, 3), CUBE, (0,))],
    _row("atleast_2d", pair(a=(), b=(2,)), lambda a, b: np.atleast_2d(a, b),
         lambda lib, a, b: lib.atleast_2d((a, b)), variant="several"),
]

COMPLEX_PARTS = [
    _row("view_as_real", matrix(), lambda x: np.stack([x.real, 2 * x.real], -1),
         lambda lib, x: lib.view_as_real(lib.complex(x.real.double(), 2 * x.real.double()))),
    _row("view_as_complex", matrix(shape=(3, 2)), lambda x: x.real[:, 0] + 1j * x.real[:, 1],
         lambda lib, x: lib.view_as_complex(x.real.double().contiguous())),
]

ROWS = VIEWS + SCATTERED_VIEWS + MOVED + COMPLEX_PARTS
