"""Rows of the op table for linear algebra and Fourier transforms, which give pairs of real numbers here."""
from __future__ import annotations

from typing import Any

import numpy as np

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
    Row("matrix_exp", matrix(-0.5, 0.5, (3, 3)), _exponential),
    Row("linalg.solve", _regular(3, 2), np.linalg.solve),
    Row("linalg.qr", matrix(shape=(4, 3)), lambda a: np.linalg.qr(a)[1], lambda lib, a: lib.linalg.qr(a).R),
    Row("linalg.householder_product", matrix(shape=(4, 3)), _reflectors,
        lambda lib, a: lib.linalg.householder_product(a, 2 / (1 + a.tril(-1).square().sum(0)))),
    Row("linalg.svdvals", matrix(shape=(4, 3)), lambda a: np.linalg.svd(a)[1]),
    Row("linalg.vector_norm", matrix(), lambda x: np.linalg.norm(x, 3, 1),
        lambda lib, x: lib.linalg.vector_norm(x, 3, 1), variant="3"),
    Row("linalg.matrix_norm", matrix(), lambda x: np.linalg.norm(x, "nuc"),
        lambda lib, x: lib.linalg.matrix_norm(x, "nuc"), variant="nuc"),
    Row("linalg.matrix_norm", matrix(), lambda x: np.linalg.norm(x, 1),
        lambda lib, x: lib.linalg.matrix_norm(x, 1), variant="1"),
    Row("linalg.inv", _regular(3), np.linalg.inv), Row("det", _regular(3), np.linalg.det),
    Row("slogdet", _regular(3), lambda a: np.linalg.slogdet(a)[1], lambda lib, a: lib.slogdet(a).logabsdet),
    Row("linalg.cholesky", _regular(3), lambda a: np.linalg.cholesky(a @ a.T), lambda lib, a: lib.linalg.cholesky(a @ a.mT)),
    Row("cholesky_solve", _regular(3, 2), lambda a, b: np.linalg.solve(np.tril(a) @ np.tril(a).T, b),
        lambda lib, a, b: lib.cholesky_solve(b, a)),
    Row("cholesky_inverse", _regular(3), lambda a: np.linalg.inv(np.tril(a) @ np.tril(a).T)),
    Row("linalg.solve_triangular", _regular(3, 2), lambda a, b: np.linalg.solve(np.triu(a), b),
        lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True)),
    Row("linalg.lu", _regular(3), _upper, lambda lib, a: lib.linalg.lu(a).U),
    Row("linalg.lu_solve", _regular(3, 2), np.linalg.solve, lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b)),
    Row("linalg.eigvalsh", matrix(shape=(3, 3)), lambda a: np.linalg.eigvalsh(a + a.T),
        lambda lib, a: lib.linalg.eigvalsh(a + a.mT)),
    Row("linalg.eigh", matrix(shape=(3, 3)), lambda a: np.abs(np.linalg.eigh(a + a.T)[1]),
        lambda lib, a: lib.linalg.eigh(a + a.mT).eigenvectors.abs()),
    Row("linalg.eig", matrix(shape=(3, 3)), lambda a: np.trace(a @ a),
        lambda lib, a: (lib.linalg.eig(a).eigenvalues ** 2).real.sum()),
    Row("linalg.pinv", matrix(shape=(4, 3)), np.linalg.pinv),
    Row("linalg.lstsq", pair(a=(4, 2), b=(4, 3)), lambda a, b: np.linalg.lstsq(a, b)[0],
        lambda lib, a, b: lib.linalg.lstsq(a, b).solution),
    Row("linalg.cond", matrix(shape=(4, 3)), np.linalg.cond),
    Row("linalg.matrix_rank", matrix(), lambda a: np.linalg.matrix_rank(a) == 3,
        lambda lib, a: lib.linalg.matrix_rank(a) == 3, smooth=False),
    Row("matrix_power", matrix(-1, 1, (3, 3)), lambda a: np.linalg.matrix_power(a, 3), lambda lib, a: lib.matrix_power(a, 3)),
    Row("linalg.multi_dot", pair(-1, 1, (2, 3), (3, 2)), lambda a, b: a @ b @ a,
        lambda lib, a, b: lib.linalg.multi_dot([a, b, a])),
    Row("kron", pair(b=(2,)), np.kron), Row("inner", pair(b=(2, 4)), np.inner),
    Row("linalg.cross", pair(a=(4, 3), b=(4, 3)), np.cross), Row("trace", matrix(), np.trace),
    Row("linalg.vecdot", pair(), lambda a, b: (a * b).sum(-1)),
    Row("vander", matrix(shape=(4,)), lambda a: np.vander(a, 3), lambda lib, a: lib.vander(a, 3)),
    Row("tensordot", pair(b=(2, 3)), lambda a, b: np.tensordot(a, b, ([0], [1])),
        lambda lib, a, b: lib.tensordot(a, b, ([0], [1]))),
    Row("einsum", pair(b=(2, 4)), lambda a, b: np.einsum("ij,kj,ij->ik", a, b, a),
        lambda lib, a, b: lib.einsum("ij,kj,ij->ik", a, b, a)),
    Row("addr", pair(a=(4, 4), b=(4,)), lambda a, b: 2 * a + np.outer(b, b), lambda lib, a, b: lib.addr(a, b, b, beta=2)),
    Row("addmv", pair(a=(4, 4), b=(4,)), lambda a, b: b + 2 * a @ b, lambda lib, a, b: lib.addmv(b, a, b, alpha=2)),
    Row("baddbmm", pair(-1, 1, a=(3, 3), b=(2, 3, 3)), lambda a, b: a + b @ b, lambda lib, a, b: lib.baddbmm(a, b, b)),
    Row("addbmm", pair(-1, 1, a=(3, 3), b=(2, 3, 3)), lambda a, b: a + (b @ b).sum(0), lambda lib, a, b: lib.addbmm(a, b, b)),
    Row("linalg.tensorinv", _regular(4), lambda a: np.linalg.tensorinv(a.reshape(2, 2, 4)),
        lambda lib, a: lib.linalg.tensorinv(a.reshape(2, 2, 4))),
]


def _parts(function: Any) -> Any:
    """The real and imaginary parts of what `function` returns."""
    return lambda x: np.stack([function(x).real, function(x).imag], -1)


FOURIER = [
    Row("fft.fft", matrix(), _parts(lambda x: np.fft.fft(x, 6)), lambda lib, x: lib.view_as_real(lib.fft.fft(x, 6))),
    Row("fft.ifft", matrix(), _parts(lambda x: np.fft.ifft(x, 3)), lambda lib, x: lib.view_as_real(lib.fft.ifft(x, 3))),
    Row("fft.rfft", matrix(), _parts(lambda x: np.fft.rfft(x, norm="ortho")),
        lambda lib, x: lib.view_as_real(lib.fft.rfft(x, norm="ortho"))),
    Row("fft.ihfft", matrix(), _parts(np.fft.ihfft), lambda lib, x: lib.view_as_real(lib.fft.ihfft(x))),
    Row("fft.irfft", matrix(), lambda x: np.fft.irfft(x, 5), lambda lib, x: lib.fft.irfft(x, 5)),
    Row("fft.hfft", matrix(), np.fft.hfft),
    Row("fft.fft2", matrix(shape=(2, 3, 4)), _parts(np.fft.fft2), lambda lib, x: lib.view_as_real(lib.fft.fft2(x))),
    Row("fft.rfftn", matrix(shape=(2, 3, 4)), _parts(np.fft.rfftn), lambda lib, x: lib.view_as_real(lib.fft.rfftn(x))),
    Row("fft.irfftn", matrix(shape=(2, 3, 4)), np.fft.irfftn),
    Row("fft.fftshift", matrix(), np.fft.fftshift),
]
ROWS += FOURIER
