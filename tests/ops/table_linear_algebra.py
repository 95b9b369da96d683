"""Rows of the op table for linear algebra and Fourier transforms, which give pairs of real numbers here."""
from __future__ import annotations

from typing import Any

import numpy as np

import lucid
from tests.ops.row import Row, matrix, pair


def _regular(n: int, columns: int | None = None):
    """A matrix far from singular ones, and with `columns` the right side of a system."""
    def inputs(rng):
        found = [rng.uniform(-1.0, 1.0, (n, n)) + 4 * np.eye(n)]
        return found if columns is None else [*found, rng.uniform(-2.0, 2.0, (n, columns))]

    return inputs


def _upper(a):
    """U of the LU factorization of a matrix in which no rows are swapped."""
    a = a.copy()
    for j in range(len(a)):
        a[j + 1:] -= np.outer(a[j + 1:, j] / a[j, j], a[j])
    return a


def _reflectors(x):
    product = np.eye(len(x))
    for v in (np.tril(x, -1) + np.eye(*x.shape)).T:
        product = product @ (np.eye(len(x)) - 2 * np.outer(v, v) / (v @ v))
    return product[:, :x.shape[1]]


def _exponential(x):
    values, vectors = np.linalg.eig(x)
    return ((vectors * np.exp(values)) @ np.linalg.inv(vectors)).real


ROWS = [
    Row("matrix_exp", lucid.matrix_exp, _exponential, matrix(-0.5, 0.5, (3, 3))),
    Row("solve", lucid.linalg.solve, np.linalg.solve, _regular(3, 2)),
    Row("qr", lambda a: lucid.linalg.qr(a).R, lambda a: np.linalg.qr(a)[1], matrix(shape=(4, 3))),
    Row("householder_product", lambda a: lucid.linalg.householder_product(a, 2 / (1 + a.tril(-1).square().sum(0))),
        _reflectors, matrix(shape=(4, 3))),
    Row("svdvals", lucid.linalg.svdvals, lambda a: np.linalg.svd(a)[1], matrix(shape=(4, 3))),
    Row("vector_norm 3", lambda x: lucid.linalg.vector_norm(x, 3, 1), lambda x: np.linalg.norm(x, 3, 1), matrix()),
    Row("matrix_norm nuc", lambda x: lucid.linalg.matrix_norm(x, "nuc"), lambda x: np.linalg.norm(x, "nuc"), matrix()),
    Row("matrix_norm 1", lambda x: lucid.linalg.matrix_norm(x, 1), lambda x: np.linalg.norm(x, 1), matrix()),
    Row("inv", lucid.linalg.inv, np.linalg.inv, _regular(3)), Row("det", lucid.det, np.linalg.det, _regular(3)),
    Row("slogdet", lambda a: lucid.slogdet(a).logabsdet, lambda a: np.linalg.slogdet(a)[1], _regular(3)),
    Row("cholesky", lambda a: lucid.linalg.cholesky(a @ a.mT), lambda a: np.linalg.cholesky(a @ a.T), _regular(3)),
    Row("cholesky_solve", lambda a, b: lucid.cholesky_solve(b, a), lambda a, b: np.linalg.solve(np.tril(a) @ np.tril(a).T, b),
        _regular(3, 2)),
    Row("cholesky_inverse", lucid.cholesky_inverse, lambda a: np.linalg.inv(np.tril(a) @ np.tril(a).T), _regular(3)),
    Row("solve_triangular", lambda a, b: lucid.linalg.solve_triangular(a, b, upper=True),
        lambda a, b: np.linalg.solve(np.triu(a), b),
        _regular(3, 2)),
    Row("lu", lambda a: lucid.linalg.lu(a).U, _upper, _regular(3)),
    Row("lu_solve", lambda a, b: lucid.linalg.lu_solve(*lucid.linalg.lu_factor(a), b), np.linalg.solve, _regular(3, 2)),
    Row("eigvalsh", lambda a: lucid.linalg.eigvalsh(a + a.mT), lambda a: np.linalg.eigvalsh(a + a.T), matrix(shape=(3, 3))),
    Row("eigh", lambda a: lucid.linalg.eigh(a + a.mT).eigenvectors.abs(), lambda a: np.abs(np.linalg.eigh(a + a.T)[1]),
        matrix(shape=(3, 3))),
    Row("eig", lambda a: (lucid.linalg.eig(a).eigenvalues ** 2).real.sum(), lambda a: np.trace(a @ a), matrix(shape=(3, 3))),
    Row("pinv", lucid.linalg.pinv, np.linalg.pinv, matrix(shape=(4, 3))),
    Row("lstsq", lambda a, b: lucid.linalg.lstsq(a, b).solution, lambda a, b: np.linalg.lstsq(a, b)[0], pair(a=(4, 2), b=(4, 3))),
    Row("cond", lucid.linalg.cond, np.linalg.cond, matrix(shape=(4, 3))),
    Row("matrix_rank", lambda a: lucid.linalg.matrix_rank(a) == 3, lambda a: np.linalg.matrix_rank(a) == 3, matrix(), False),
    Row("matrix_power", lambda a: lucid.matrix_power(a, 3), lambda a: np.linalg.matrix_power(a, 3), matrix(-1, 1, (3, 3))),
    Row("multi_dot", lambda a, b: lucid.linalg.multi_dot([a, b, a]), lambda a, b: a @ b @ a, pair(-1, 1, (2, 3), (3, 2))),
    Row("kron", lucid.kron, np.kron, pair(b=(2,))), Row("inner", lucid.inner, np.inner, pair(b=(2, 4))),
    Row("cross", lucid.linalg.cross, np.cross, pair(a=(4, 3), b=(4, 3))), Row("trace", lucid.trace, np.trace, matrix()),
    Row("vecdot", lucid.linalg.vecdot, lambda a, b: (a * b).sum(-1), pair()),
    Row("vander", lambda a: lucid.vander(a, 3), lambda a: np.vander(a, 3), matrix(shape=(4,))),
    Row("tensordot", lambda a, b: lucid.tensordot(a, b, ([0], [1])), lambda a, b: np.tensordot(a, b, ([0], [1])), pair(b=(2, 3))),
    Row("einsum", lambda a, b: lucid.einsum("ij,kj,ij->ik", a, b, a),
        lambda a, b: np.einsum("ij,kj,ij->ik", a, b, a), pair(b=(2, 4))),
    Row("addr", lambda a, b: lucid.addr(a, b, b, beta=2), lambda a, b: 2 * a + np.outer(b, b), pair(a=(4, 4), b=(4,))),
    Row("addmv", lambda a, b: lucid.addmv(b, a, b, alpha=2), lambda a, b: b + 2 * a @ b, pair(a=(4, 4), b=(4,))),
    Row("baddbmm", lambda a, b: lucid.baddbmm(a, b, b), lambda a, b: a + b @ b, pair(-1, 1, a=(3, 3), b=(2, 3, 3))),
    Row("addbmm", lambda a, b: lucid.addbmm(a, b, b), lambda a, b: a + (b @ b).sum(0), pair(-1, 1, a=(3, 3), b=(2, 3, 3))),
    Row("tensorinv", lambda a: lucid.linalg.tensorinv(a.reshape(2, 2, 4)),
        lambda a: np.linalg.tensorinv(a.reshape(2, 2, 4)), _regular(4)),
]


def _parts(function: Any) -> Any:
    """The real and imaginary parts of what `function` returns."""
    return lambda x: np.stack([function(x).real, function(x).imag], -1)


FOURIER = [
    Row("fft", lambda x: lucid.view_as_real(lucid.fft.fft(x, 6)), _parts(lambda x: np.fft.fft(x, 6)), matrix()),
    Row("ifft", lambda x: lucid.view_as_real(lucid.fft.ifft(x, 3)), _parts(lambda x: np.fft.ifft(x, 3)), matrix()),
    Row("rfft", lambda x: lucid.view_as_real(lucid.fft.rfft(x, norm="ortho")),
        _parts(lambda x: np.fft.rfft(x, norm="ortho")), matrix()),
    Row("ihfft", lambda x: lucid.view_as_real(lucid.fft.ihfft(x)), _parts(np.fft.ihfft), matrix()),
    Row("irfft", lambda x: lucid.fft.irfft(x, 5), lambda x: np.fft.irfft(x, 5), matrix()),
    Row("hfft", lucid.fft.hfft, np.fft.hfft, matrix()),
    Row("fft2", lambda x: lucid.view_as_real(lucid.fft.fft2(x)), _parts(np.fft.fft2), matrix(shape=(2, 3, 4))),
    Row("rfftn", lambda x: lucid.view_as_real(lucid.fft.rfftn(x)), _parts(np.fft.rfftn), matrix(shape=(2, 3, 4))),
    Row("irfftn", lucid.fft.irfftn, np.fft.irfftn, matrix(shape=(2, 3, 4))),
    Row("fftshift", lucid.fft.fftshift, np.fft.fftshift, matrix()),
]
ROWS += FOURIER
