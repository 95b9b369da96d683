"""Rows of the op table for tensors joined and split, grids of them, and `einops`."""
from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from tests.ops.table.outcomes import DTYPES
from tests.ops.table.row import Inputs, Row, matrix, pair

CUBE = (2, 3, 4)

_row = functools.partial(Row, complex=True)


def _three(*shapes: tuple[int, ...]) -> Inputs:
    return lambda rng: [rng.uniform(-2.0, 2.0, shape) for shape in shapes]


def _list(op: str, **keywords: Any) -> Any:
    """A call of `op` with its tensors in a list."""
    return lambda lib, *tensors, **out: getattr(lib, op)(list(tensors), **keywords, **out)


JOINED = [
    *[_row(op, _three((3, 4), (3, 2), (3, 1)), lambda *t: np.concatenate(t, 1), _list(op, dim=1), out=True)
      for op in ("cat", "concat", "concatenate")],
    _row("cat", pair(), lambda a, b: np.concatenate([a, b, a]), lambda lib, a, b: lib.cat((a, b, a), -2), variant="twice"),
    _row("cat", pair(a=(0,), b=(3, 4)), lambda a, b: b, _list("cat", dim=1), variant="empty vector"),
    _row("cat", pair(a=(0, 4), b=(3, 4)), lambda a, b: b, _list("cat"), variant="empty"),
    _row("cat", matrix(), lambda x: x, _list("cat", dim=1), variant="one"),
    _row("stack", pair(), lambda a, b: np.stack([a, b], 1), _list("stack", dim=1), out=True),
    _row("stack", pair(a=(), b=()), lambda a, b: np.stack([a, b]), _list("stack"), variant="0-d"),
    _row("stack", pair(a=(0, 2), b=(0, 2)), lambda a, b: np.stack([a, b], -1), _list("stack", dim=-1), variant="empty"),
    *[_row(op, _three(*[(3, n) if op == "hstack" else (n, 4) if op in ("vstack", "row_stack") else (3, 4) for n in (4, 2, 1)]),
           functools.partial(lambda *t, op: getattr(np, op)(t), op=op.replace("row_", "v")), _list(op), out=True)
      for op in ("hstack", "vstack", "row_stack", "dstack", "column_stack")],
    *[_row(op, pair(a=(), b=()), functools.partial(lambda a, b, op: getattr(np, op)([a, b]), op=op), _list(op), variant="0-d")
      for op in ("hstack", "vstack", "dstack", "column_stack")],
    *[_row(op, pair(a=(3,), b=(3,)), functools.partial(lambda a, b, op: getattr(np, op)([a, b]), op=op), _list(op),
           variant="vectors")
      for op in ("hstack", "vstack", "dstack", "column_stack")],
    _row("column_stack", pair(a=(3,), b=(3, 2)), lambda a, b: np.column_stack([a, b]), _list("column_stack"), variant="mixed"),
    _row("block_diag", _three((3, 4), (2,), ()), lambda a, b, c: np.block([
        [a, np.zeros((3, 3))], [np.zeros((1, 4)), b[None], np.zeros((1, 1))], [np.zeros((1, 6)), c[None, None]]])),
    _row("block_diag", pair(a=(0, 2), b=(2, 2)), lambda a, b: np.concatenate([np.zeros((2, 2)), b], 1), variant="empty"),
]

SPLIT = [
    _row("split", matrix(), lambda x: np.split(x, [3], 1), lambda lib, x: lib.split(x, 3, 1)),
    _row("split", matrix(), lambda x: np.split(x, [1, 1], 0), lambda lib, x: x.split([1, 0, 2]), variant="lengths"),
    _row("split", matrix(), lambda x: [x], lambda lib, x: x.split(9), variant="one part"),
    _row("split", matrix(shape=(0, 2)), lambda x: [x], lambda lib, x: x.split(2), variant="empty"),
    _row("chunk", matrix(shape=(5, 2)), lambda x: np.split(x, [2, 4]), lambda lib, x: lib.chunk(x, 3)),
    _row("chunk", matrix(), lambda x: np.split(x, [1, 2], 0), lambda lib, x: x.chunk(7, 0), variant="fewer"),
    _row("tensor_split", matrix(shape=(5, 2)), lambda x: np.array_split(x, 3), lambda lib, x: lib.tensor_split(x, 3)),
    _row("tensor_split", matrix(), lambda x: np.array_split(x, (1, 3), 1),
         lambda lib, x: x.tensor_split((1, 3), dim=1), variant="places"),
    _row("tensor_split", matrix(), lambda x: np.array_split(x, (2, 1, 9), 1),
         lambda lib, x: x.tensor_split(lib.tensor([2, 1, 9]), 1), variant="tensor of places"),
    _row("hsplit", matrix(), lambda x: np.hsplit(x, 2), lambda lib, x: lib.hsplit(x, 2)),
    _row("hsplit", matrix(shape=(4,)), lambda x: np.hsplit(x, (1, 2)), lambda lib, x: x.hsplit((1, 2)), variant="vector"),
    _row("vsplit", matrix(), lambda x: np.vsplit(x, (1, 2)), lambda lib, x: lib.vsplit(x, (1, 2))),
    _row("dsplit", matrix(shape=CUBE), lambda x: np.dsplit(x, 2), lambda lib, x: lib.dsplit(x, 2)),
    _row("unbind", matrix(), lambda x: list(x.T), lambda lib, x: lib.unbind(x, 1)),
    _row("unbind", matrix(shape=(2,)), lambda x: list(x), lambda lib, x: x.unbind(), variant="vector"),
    _row("unbind", matrix(shape=(0, 2)), lambda x: [], lambda lib, x: x.unbind(), variant="empty", smooth=False),
]

GRIDS = [
    _row("meshgrid", pair(a=(3,), b=(2,)), lambda a, b: np.meshgrid(a, b), lambda lib, a, b: lib.meshgrid(a, b, indexing="xy")),
    _row("meshgrid", _three((3,), (2,), ()), lambda *t: np.meshgrid(*t, indexing="ij"),
         lambda lib, *t: lib.meshgrid(list(t), indexing="ij"), variant="ij"),
    _row("cartesian_prod", matrix(shape=(3,)), lambda a: a, variant="one"),
    _row("combinations", matrix(shape=(4,)), lambda a: np.array(list(itertools.combinations(a, 2)))),
    _row("combinations", matrix(shape=(3,)), lambda a: np.array(list(itertools.combinations_with_replacement(a, 3))),
         lambda lib, a: lib.combinations(a, 3, with_replacement=True), variant="with replacement"),
    _row("combinations", matrix(shape=(2,)), lambda a: np.zeros((0, 3)), lambda lib, a: lib.combinations(a, 3), variant="none"),
]

EINOPS = [  # lucid 2.x has them; PyTorch has not
    _row("einops.rearrange", matrix(shape=CUBE), lambda x: x.transpose(2, 0, 1).reshape(8, 3, 1),
         lambda lib, x: lib.einops.rearrange(x, "a (b c) d -> (d a) c b", b=1)),
    _row("einops.rearrange", pair(), lambda a, b: np.stack([a, b], -1),
         lambda lib, a, b: lib.einops.rearrange([a, b], "n h w -> h w n"), variant="list"),
    _row("einops.reduce", matrix(shape=(4, 6)), lambda x: x.reshape(2, 2, 3, 2).mean((1, 3)),
         lambda lib, x: lib.einops.reduce(x, "(h p) (w q) -> h w", "mean", p=2, q=2)),
    *[Row("einops.reduce", matrix(shape=CUBE), functools.partial(lambda x, kind: getattr(x, kind)((0, 2)), kind=kind),
          functools.partial(lambda lib, x, kind: lib.einops.reduce(x, "a b c -> b", kind), kind=kind), variant=kind)
      for kind in ("sum", "prod", "max", "min")],
    _row("einops.repeat", matrix(), lambda x: np.repeat(x[:, None], 2, 1).repeat(3, 2),
         lambda lib, x: lib.einops.repeat(x, "h w -> h r (w s)", r=2, s=3)),
    _row("einops.einsum", pair(b=(2, 4)), lambda a, b: a @ b.T, lambda lib, a, b: lib.einops.einsum(a, b, "i d, j d -> i j")),
]

for _einops in EINOPS:
    _einops.dtypes_differ = DTYPES

ROWS = JOINED + SPLIT + GRIDS + EINOPS
