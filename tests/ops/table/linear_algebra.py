"""Rows of the op table for products, norms and powers of matrices."""
from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tests.ops.table.row import Inputs, Row, matrix, pair

CUBE = (2, 3, 4)

_row = functools.partial(Row, complex=True)


def _inputs(*shapes: tuple[int, ...]) -> Inputs:
    return lambda rng: [rng.uniform(-1.0, 1.0, shape) for shape in shapes]


def _exponential(x: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eig(x)
    found = (vectors * np.exp(values)[..., None, :]) @ np.linalg.inv(vectors)
    return found if x.dtype.kind == "c" else found.real


PRODUCTS = [
    *[_row("matmul", _inputs(a, b), np.matmul,
           variant=f"{a} {b}", out=a == (3, 4), dtypes_differ=("bool",) * (0 in a)) for a, b in (
        ((3, 4), (4, 2)), ((4,), (4,)), ((4,), (4, 2)), ((3, 4), (4,)), ((2, 3, 4), (4, 2)), ((2, 1, 3, 4), (2, 4, 2)),
        ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((4,), (2, 4, 3)))],
    _row("linalg.matmul", _inputs((2, 3, 4), (2, 4, 2)), np.matmul, out=True),
    _row("mm", _inputs((3, 4), (4, 2)), np.matmul, out=True), _row("mm", _inputs((3, 0), (0, 2)), np.matmul,
         variant="empty", dtypes_differ=("bool",)),
    _row("bmm", _inputs((2, 3, 4), (2, 4, 2)), np.matmul, out=True), _row("mv", _inputs((3, 4), (4,)), np.matmul, out=True),
    _row("dot", _inputs((4,), (4,)), np.dot, out=True), _row("dot", _inputs((0,), (0,)), np.dot, variant="empty"),
    _row("vdot", _inputs((4,), (4,)), np.vdot, out=True),
    _row("inner", pair(b=(2, 4)), np.inner, out=True), _row("inner", pair(b=()), np.inner, variant="0-d"),
    _row("outer", _inputs((3,), (4,)), np.outer, out=True), _row("outer", _inputs((0,), (4,)), np.outer, variant="empty"),
    _row("addmm", _inputs((3, 2), (3, 4), (4, 2)), lambda c, a, b: c + a @ b, out=True),
    _row("addmm", _inputs((2,), (3, 4), (4, 2)), lambda c, a, b: 2 * c + 3 * (a @ b),
         lambda lib, c, a, b: lib.addmm(c, a, b, beta=2, alpha=3), variant="scaled"),
    _row("addmv", _inputs((3,), (3, 4), (4,)), lambda c, a, b: c + 2 * a @ b,
         lambda lib, c, a, b, **out: lib.addmv(c, a, b, alpha=2, **out), out=True),
    _row("baddbmm", _inputs((3, 3), (2, 3, 4), (2, 4, 3)), lambda c, a, b: 2 * c + a @ b,
         lambda lib, c, a, b, **out: lib.baddbmm(c, a, b, beta=2, **out), out=True),
    _row("addbmm", _inputs((3, 3), (2, 3, 4), (2, 4, 3)), lambda c, a, b: c + 2 * (a @ b).sum(0),
         lambda lib, c, a, b, **out: lib.addbmm(c, a, b, alpha=2, **out), out=True),
    _row("addr", _inputs((3, 4), (3,), (4,)), lambda c, a, b: 2 * c + 3 * np.outer(a, b),
         lambda lib, c, a, b, **out: lib.addr(c, a, b, beta=2, alpha=3, **out), out=True),
    _row("chain_matmul", _inputs((2, 3), (3, 4), (4, 2)), lambda a, b, c: a @ b @ c),
    _row("linalg.multi_dot", _inputs((3,), (3, 4), (4, 2), (2,)), lambda a, b, c, d: a @ b @ c @ d,
         lambda lib, *t, **out: lib.linalg.multi_dot(list(t), **out), out=True),
    _row("einsum", pair(b=(2, 4)), lambda a, b: np.einsum("ij,kj,ij->ik", a, b, a),
         lambda lib, a, b: lib.einsum("ij,kj,ij->ik", a, b, a)),
    *[_row("einsum", _inputs(*shapes), functools.partial(lambda *t, equation: np.einsum(equation, *t), equation=equation),
           functools.partial(lambda lib, *t, equation: lib.einsum(equation, *t), equation=equation), variant=equation)
      for equation, shapes in (("ii->i", [(3, 3)]), ("...ij,...jk->...ik", [(2, 3, 4), (4, 2)]), ("ij->", [(3, 4)]),
                               ("i,j,k->kij", [(2,), (3,), (2,)]), ("bij,bjk", [(2, 3, 4), (2, 4, 2)]))],
    _row("tensordot", pair(b=(2, 3)), lambda a, b: np.tensordot(a, b, ([0], [1])),
         lambda lib, a, b, **out: lib.tensordot(a, b, ([0], [1]), **out), out=True),
    _row("tensordot", _inputs(CUBE, (3, 4, 2)), lambda a, b: np.tensordot(a, b, 2),
         lambda lib, a, b: lib.tensordot(a, b, dims=2),
         variant="number"),
    _row("tensordot", _inputs((2,), (3,)), lambda a, b: np.tensordot(a, b, 0),
         lambda lib, a, b: lib.tensordot(a, b, 0), variant="0"),
    _row("kron", pair(b=(2,)), np.kron, out=True), _row("kron", _inputs((2, 2), (2, 1, 3)), np.kron, variant="rank"),
    _row("cross", _inputs((2, 3), (2, 3)), np.cross, lambda lib, a, b, **out: lib.cross(a, b, dim=1, **out), out=True),
    _row("linalg.cross", _inputs((4, 3), (1, 3)), np.cross, out=True),
    _row("linalg.cross", _inputs((3, 2), (3, 2)), lambda a, b: np.cross(a, b, axis=0),
         lambda lib, a, b: lib.linalg.cross(a, b, dim=0), variant="dim"),
    _row("trace", matrix(), np.trace), _row("trace", matrix(shape=(0, 2)), np.trace, variant="empty"),
    _row("linalg.vecdot", pair(), lambda a, b: (a.conj() * b).sum(-1), out=True),
    _row("linalg.vecdot", pair(b=(3, 1)), lambda a, b: (a.conj() * b).sum(0), lambda lib, a, b: lib.linalg.vecdot(a, b, dim=0),
         variant="dim"),
    _row("vander", matrix(shape=(4,)), lambda a: np.vander(a, 3), lambda lib, a: lib.vander(a, 3)),
    _row("vander", matrix(shape=(4,)), lambda a: np.vander(a, increasing=True), lambda lib, a: lib.vander(a, increasing=True),
         variant="increasing"),
    _row("linalg.vander", matrix(shape=(2, 3)), lambda a: np.stack([np.vander(row, 4, True) for row in a]),
         lambda lib, a: lib.linalg.vander(a, N=4), dtypes_differ=("float16", "bfloat16")),
    _row("linalg.diagonal", matrix(shape=CUBE), lambda x: np.diagonal(x, 1, -2, -1),
         lambda lib, x: lib.linalg.diagonal(x, offset=1)),
]

POWERS = [
    *[_row(op, matrix(-1, 1, (2, 3, 3)), functools.partial(lambda a, n: np.linalg.matrix_power(a, n), n=n),
           functools.partial(lambda lib, a, op, n, **out: operator.attrgetter(op)(lib)(a, n, **out), op=op, n=n),
           variant=str(n), out=op != "matrix_power") for op in ("matrix_power", "linalg.matrix_power") for n in (3, 1, 0, 7)],
    _row("linalg.matrix_power", lambda rng: [rng.uniform(-1.0, 1.0, (3, 3)) + 3 * np.eye(3)],
         lambda a: np.linalg.matrix_power(a, -2),
         lambda lib, a: lib.linalg.matrix_power(a, -2), variant="-2"),
    *[_row(op, matrix(-0.5, 0.5, (2, 3, 3)), _exponential, dtypes_differ=("float16", "bfloat16"))
      for op in ("matrix_exp", "linalg.matrix_exp")],
    _row("matrix_exp", matrix(-3, 3, (2, 2)), _exponential, variant="large", dtypes_differ=("float16", "bfloat16")),
    _row("matrix_exp", matrix(shape=(0, 0)), lambda x: x, variant="empty"),
]


def _vector_norm(order: float, **keywords: Any) -> Row:
    dim, keepdim = keywords.get("dim"), keywords.get("keepdim", False)
    return _row("linalg.vector_norm", matrix(0.2),
        lambda x: np.linalg.norm(x.reshape(-1), order) if dim is None else np.linalg.norm(
        x, order, dim, keepdims=keepdim), lambda lib, x, **out: lib.linalg.vector_norm(x, order, **keywords, **out),
        variant=f"{order} {dim}", out=True, smooth=order != 0)


def _matrix_norm(order: Any, dim: tuple[int, int] = (-2, -1), keepdim: bool = False) -> Row:
    return _row("linalg.matrix_norm", matrix(shape=CUBE), lambda x: np.linalg.norm(x, order, dim, keepdims=keepdim),
                lambda lib, x, **out: lib.linalg.matrix_norm(x, order, dim, keepdim, **out), variant=f"{order} {dim}", out=True)


NORMS = [
    *[_vector_norm(order) for order in (2, 1, 0, 3, 0.5, -1, -2.5, np.inf, -np.inf)],
    *[_vector_norm(order, dim=1, keepdim=order > 2) for order in (2, 3, np.inf)],
    _row("linalg.vector_norm", matrix(shape=CUBE), lambda x: (np.abs(x) ** 2).sum((0, 2)) ** 0.5,
         lambda lib, x: lib.linalg.vector_norm(x, dim=(0, -1)), variant="dims"),
    _row("linalg.vector_norm", matrix(shape=(0, 3)), lambda x: np.zeros(3), lambda lib, x: lib.linalg.vector_norm(x, dim=0),
         variant="empty", smooth=False),
    _row("linalg.vector_norm", matrix(shape=()), np.abs, variant="0-d"),
    *[_matrix_norm(order) for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    *[_matrix_norm(order, (2, 0), True) for order in ("fro", "nuc", 1, 2)],
    _row("linalg.norm", matrix(), lambda x: np.linalg.norm(x), out=True),
    _row("linalg.norm", matrix(shape=CUBE), lambda x: np.linalg.norm(x, 1, (1, 2)),
         lambda lib, x: lib.linalg.norm(x, 1, (1, 2)),
         variant="matrices"),
    _row("linalg.norm", matrix(), lambda x: np.linalg.norm(x, 3, 0),
         lambda lib, x: lib.linalg.norm(x, 3, 0), variant="vectors"),
    _row("linalg.norm", matrix(shape=(4,)), lambda x: np.linalg.norm(x, np.inf),
         lambda lib, x: lib.linalg.norm(x, float("inf")),
         variant="vector"),
    *[_row("linalg.cond", lambda rng: [rng.uniform(-1.0, 1.0, (2, 3, 3)) + 3 * np.eye(3)],
           functools.partial(np.linalg.cond, p=p),
           functools.partial(lambda lib, a, p, **out: lib.linalg.cond(a, p, **out), p=p), variant=str(p), out=p != "nuc")
      for p in (None, 2, -2, 1, "fro", "nuc", np.inf)],
    _row("linalg.cond", matrix(shape=(4, 3)), np.linalg.cond, variant="not square"),
]

ROWS = PRODUCTS + POWERS + NORMS
