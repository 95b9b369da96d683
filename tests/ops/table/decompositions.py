"""Rows of the op table for factorizations, and for what is computed by them: systems, inverses, determinants, eigenvalues.

Vectors that are unique up to a phase are compared by their absolute values.
"""
from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tests.ops.table.row import Inputs, Row, matrix, pair

_row = functools.partial(Row, complex=True)


def _regular(n: int, *others: tuple[int, ...], batch: tuple[int, ...] = ()) -> Inputs:
    """Matrices far from singular ones, in which no rows are swapped, and `others`."""
    return lambda rng: [rng.uniform(-1.0, 1.0, (*batch, n, n)) + 4 * np.eye(n),
                        *[rng.uniform(-2.0, 2.0, shape) for shape in others]]


def _adjoint(a: np.ndarray) -> np.ndarray:
    return a.conj().swapaxes(-1, -2)


def _definite(a: Any) -> Any:
    """Hermitian matrices with positive eigenvalues, of either library."""
    return a @ (_adjoint(a) if isinstance(a, np.ndarray) else a.mH)


def _hermitian(a: Any) -> Any:
    return a + (_adjoint(a) if isinstance(a, np.ndarray) else a.mH)


def _factor(a: Any) -> Any:
    """A lower triangle with a positive diagonal, as a Cholesky factorization gives."""
    if isinstance(a, np.ndarray):
        return np.tril(a, -1) + np.diag(np.diagonal(a).real)
    return a.tril(-1) + a.diagonal().real.diag()


def _lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = np.eye(len(a), dtype=a.dtype), a.copy()
    for j in range(len(a)):
        lower[j + 1:, j] = upper[j + 1:, j] / upper[j, j]
        upper[j + 1:] -= np.outer(lower[j + 1:, j], upper[j])
    return lower, upper


def _reflectors(x: np.ndarray) -> np.ndarray:
    product = np.eye(len(x), dtype=x.dtype)
    for v in (np.tril(x, -1) + np.eye(*x.shape)).T:
        product = product @ (np.eye(len(x)) - 2 * np.outer(v, v.conj()) / (v.conj() @ v))
    return product[:, :x.shape[1]]


SYSTEMS = [
    _row("linalg.solve", _regular(3, (3, 2)), np.linalg.solve, out=True),
    _row("linalg.solve", _regular(3, (3,)), np.linalg.solve, variant="vector"),
    _row("linalg.solve", _regular(3, (2, 3, 2), batch=(2,)), np.linalg.solve, variant="batch"),
    _row("linalg.solve", _regular(3, (2, 3)), lambda a, b: np.linalg.solve(a.T, b.T).T,
         lambda lib, a, b: lib.linalg.solve(a, b, left=False), variant="from the right"),
    _row("linalg.solve", _regular(0, (0, 2)), lambda a, b: b, variant="empty", dtypes_differ=("float16", "bfloat16")),
    _row("linalg.solve_ex", _regular(3, (3, 2)), lambda a, b: (np.linalg.solve(a, b), np.zeros((), np.int32)), out=True),
    _row("linalg.inv", _regular(3), np.linalg.inv, out=True), _row("linalg.inv", _regular(2, batch=(2,)), np.linalg.inv,
         variant="batch"),
    _row("linalg.inv", _regular(0), np.linalg.inv, variant="empty"), _row("inverse", _regular(3), np.linalg.inv, out=True),
    _row("linalg.inv_ex", _regular(3), lambda a: (np.linalg.inv(a), np.zeros((), np.int32)), out=True),
    _row("linalg.tensorinv", _regular(4), lambda a: np.linalg.tensorinv(a.reshape(2, 2, 4)),
         lambda lib, a, **out: lib.linalg.tensorinv(a.reshape(2, 2, 4), **out), out=True),
    _row("linalg.tensorinv", _regular(4), lambda a: np.linalg.tensorinv(a.reshape(4, 2, 2), 1),
         lambda lib, a: lib.linalg.tensorinv(a.reshape(4, 2, 2), ind=1), variant="ind"),
    _row("linalg.tensorsolve", _regular(4, (2, 2)), lambda a, b: np.linalg.tensorsolve(a.reshape(2, 2, 4), b),
         lambda lib, a, b, **out: lib.linalg.tensorsolve(a.reshape(2, 2, 4), b, **out), out=True),
    _row("linalg.tensorsolve", _regular(4, (2, 2)), lambda a, b: np.linalg.tensorsolve(a.reshape(4, 2, 2), b, (0,)),
         lambda lib, a, b: lib.linalg.tensorsolve(a.reshape(4, 2, 2), b, dims=(0,)), variant="dims"),
    _row("linalg.solve_triangular", _regular(3, (3, 2)), lambda a, b: np.linalg.solve(np.triu(a), b),
         lambda lib, a, b, **out: lib.linalg.solve_triangular(a, b, upper=True, **out), out=True),
    _row("linalg.solve_triangular", _regular(3, (2, 3)), lambda a, b: np.linalg.solve(np.tril(a, -1).T + np.eye(3), b.T).T,
         lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
             variant="from the right"),
    _row("linalg.lstsq", pair(a=(4, 2), b=(4, 3)), lambda a, b: np.linalg.lstsq(a, b)[0],
         lambda lib, a, b: lib.linalg.lstsq(a, b).solution),
    _row("linalg.lstsq", pair(a=(2, 4), b=(2, 3)), lambda a, b: np.linalg.lstsq(a, b)[0],
         lambda lib, a, b: lib.linalg.lstsq(a, b).solution, variant="wide"),
    _row("linalg.pinv", matrix(shape=(4, 3)), np.linalg.pinv, out=True),
    _row("linalg.pinv", matrix(shape=(2, 2, 3)), np.linalg.pinv, variant="batch"),
    _row("linalg.pinv", matrix(shape=(3, 3)), lambda a: np.linalg.pinv(_definite(a)),
         lambda lib, a: lib.linalg.pinv(_definite(a), hermitian=True), variant="hermitian"),
    _row("pinverse", matrix(), np.linalg.pinv),
    _row("linalg.matrix_rank", matrix(), lambda a: np.linalg.matrix_rank(a), smooth=False, out=True),
    _row("linalg.matrix_rank", matrix(shape=(3, 3)), lambda a: np.linalg.matrix_rank(_definite(a), 2.0, hermitian=True),
         lambda lib, a: lib.linalg.matrix_rank(_definite(a), tol=2.0, hermitian=True), smooth=False, variant="hermitian"),
]

DETERMINANTS = [
    *[_row(op, _regular(3), np.linalg.det, out=op != "det") for op in ("det", "linalg.det")],
    _row("det", matrix(shape=(2, 2, 2)), np.linalg.det, variant="batch"),
    _row("det", _regular(0), np.linalg.det, variant="empty", dtypes_differ=("float16", "bfloat16")),
    _row("det", matrix(shape=(3,)), lambda v: np.zeros((), v.dtype),
         lambda lib, v: lib.det(lib.outer(v, v)), variant="rank 1", smooth=False),
    *[_row(op, matrix(shape=(3, 3)), np.linalg.slogdet, out=op != "slogdet") for op in ("slogdet", "linalg.slogdet")],
    Row("logdet", _regular(3), lambda a: np.log(np.linalg.det(a))),
]

FACTORS = [
    _row("cholesky", _regular(3), lambda a: np.linalg.cholesky(_definite(a)),
         lambda lib, a, **out: lib.cholesky(_definite(a), **out), out=True),
    _row("cholesky", _regular(3), lambda a: _adjoint(np.linalg.cholesky(_definite(a))),
         lambda lib, a: lib.cholesky(_definite(a), True),
         variant="upper"),
    _row("linalg.cholesky", _regular(2, batch=(2,)), lambda a: np.linalg.cholesky(_definite(a)),
         lambda lib, a, **out: lib.linalg.cholesky(_definite(a), **out), out=True),
    _row("linalg.cholesky_ex", _regular(3), lambda a: (_adjoint(np.linalg.cholesky(_definite(a))), np.zeros((), np.int32)),
         lambda lib, a, **out: lib.linalg.cholesky_ex(_definite(a), upper=True, **out), out=True),
    _row("cholesky_solve", _regular(3, (3, 2)), lambda a, b: np.linalg.solve(_definite(_factor(a)), b),
         lambda lib, a, b, **out: lib.cholesky_solve(b, _factor(a), **out), out=True),
    _row("cholesky_solve", _regular(3, (3, 2)), lambda a, b: np.linalg.solve(_definite(_factor(a)), b),
         lambda lib, a, b: lib.cholesky_solve(b, _factor(a).mH, upper=True), variant="upper"),
    _row("cholesky_inverse", _regular(3), lambda a: np.linalg.inv(_definite(_factor(a))),
         lambda lib, a, **out: lib.cholesky_inverse(_factor(a), **out), out=True),
    _row("linalg.lu", _regular(3), lambda a: (np.eye(3), *_lu(a)), out=True),
    _row("linalg.lu", matrix(shape=(2, 4, 3)), lambda a: a,
         lambda lib, a: functools.reduce(lib.matmul, lib.linalg.lu(a)), variant="product"),
    _row("linalg.lu_factor", _regular(3), lambda a: (sum(_lu(a)) - np.eye(3), np.arange(1, 4, dtype=np.int32)), out=True),
    *[_row(op, _regular(3, (3, 2)), np.linalg.solve,
           functools.partial(lambda lib, a, b, order, op: operator.attrgetter(op)(lib)(
        *((*lib.linalg.lu_factor(a), b) if order else (b, *lib.linalg.lu_factor(a)))), order=op != "lu_solve", op=op))
      for op in ("lu_solve", "linalg.lu_solve")],
    _row("linalg.lu_solve", _regular(3, (2, 3)), lambda a, b: b @ np.linalg.inv(a),
         lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, left=False), variant="from the right"),
    _row("linalg.lu_solve", _regular(3, (3, 2)), lambda a, b: np.linalg.solve(_adjoint(a), b),
         lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, adjoint=True), variant="adjoint"),
    *[_row(op, matrix(shape=(4, 3)), lambda a: tuple(map(np.abs, np.linalg.qr(a))), functools.partial(
        lambda lib, a, op: [t.abs() for t in operator.attrgetter(op)(lib)(a)], op=op)) for op in ("qr", "linalg.qr")],
    _row("linalg.qr", matrix(shape=(3, 3)), lambda a: a,
         lambda lib, a: lib.matmul(*lib.linalg.qr(a, mode="complete")), variant="product"),
    _row("linalg.qr", matrix(), lambda a: np.abs(np.linalg.qr(a, "r")), lambda lib, a: lib.linalg.qr(a, mode="r").R.abs(),
         variant="r", smooth=False),
    _row("linalg.householder_product", matrix(shape=(4, 3)), _reflectors, lambda lib, a: lib.linalg.householder_product(
        a, (2 / (1 + (a * a.conj()).real.tril(-1).sum(0))).to(a.dtype))),
]


def _values_and_vectors(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return s, np.abs(u)


def _magnitudes(found: Any) -> tuple[Any, Any]:
    return found[1], found[0].abs()


SPECTRA = [
    _row("svd", matrix(shape=(4, 3)), _values_and_vectors, lambda lib, a: _magnitudes(lib.svd(a))),
    _row("linalg.svd", matrix(shape=(4, 3)), _values_and_vectors,
         lambda lib, a: _magnitudes(lib.linalg.svd(a, full_matrices=False))),
    _row("linalg.svd", matrix(shape=(2, 3, 4)), lambda a: a,
         lambda lib, a: (lambda u, s, vh: (u * s.unsqueeze(-2)) @ vh)(*lib.linalg.svd(a, full_matrices=False)),
             variant="product"),
    _row("linalg.svdvals", matrix(shape=(4, 3)), lambda a: np.linalg.svd(a)[1], out=True),
    _row("linalg.eigvalsh", matrix(shape=(3, 3)), lambda a: np.linalg.eigvalsh(_hermitian(a)),
         lambda lib, a, **out: lib.linalg.eigvalsh(_hermitian(a), **out), out=True),
    _row("linalg.eigvalsh", matrix(shape=(2, 2, 2)), lambda a: np.linalg.eigvalsh(_hermitian(a), "U"),
         lambda lib, a: lib.linalg.eigvalsh(_hermitian(a), UPLO="U"), variant="upper"),
    _row("linalg.eigh", matrix(shape=(3, 3)), lambda a: tuple(map(np.abs, np.linalg.eigh(_hermitian(a)))),
         lambda lib, a: [t.abs() for t in lib.linalg.eigh(_hermitian(a))]),
    _row("linalg.eigh", matrix(shape=(3, 3)), lambda a: _hermitian(a), lambda lib, a: (lambda values, vectors: (
        vectors * values) @ vectors.mH)(*lib.linalg.eigh(_hermitian(a))), variant="product"),
    _row("linalg.eig", matrix(shape=(3, 3)), lambda a: (a @ a).astype(np.complex128), lambda lib, a: (lambda values, vectors: (
        vectors * values ** 2) @ lib.linalg.inv(vectors))(*lib.linalg.eig(a))),
    _row("linalg.eigvals", matrix(shape=(3, 3)), lambda a: np.trace(a @ a @ a).astype(np.complex128),
         lambda lib, a: (lib.linalg.eigvals(a) ** 3).sum()),
]

ROWS = SYSTEMS + DETERMINANTS + FACTORS + SPECTRA
