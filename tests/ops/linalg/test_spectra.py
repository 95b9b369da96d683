"""Eigenvalues, ranks, condition numbers, pseudoinverses and least squares; and of all decompositions the errors of wrong
arguments, names of results, `out` and the device meta.
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import linalg
from tests.ops.linalg.matrices import definite, hermitian, raises_as_torch, random, regular, same, tupled
from tests.ops.table.derivatives import check_derivatives, close

INF = math.inf
KINDS = pytest.mark.parametrize("complex_", [False, True])


# ---- eigenvalues -----------------------------------------------------------------------------------------------------------
@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (0, 3, 3), (2, 0, 0)])
def test_eigenvalues(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = random(*shape, complex_=complex_)
    for side in ("L", "u"):
        same(lambda lib, side=side: lambda a: lib.linalg.eigvalsh(a, UPLO=side), device, a)
        values, vectors = linalg.eigh(lucid.tensor(a, device=device), side)
        lower = np.tril(a) if side == "L" else np.triu(a).conj().swapaxes(-1, -2)
        given = lower + np.tril(lower, -1).conj().swapaxes(-1, -2)
        given[..., range(shape[-1]), range(shape[-1])] = given[..., range(shape[-1]), range(shape[-1])].real
        product = (vectors * values.unsqueeze(-2)) @ vectors.mH
        np.testing.assert_allclose(product.cpu().numpy(), given, atol=1e-12)
    values, vectors = linalg.eig(lucid.tensor(a, device=device))
    assert values.dtype == vectors.dtype == lucid.complex128
    np.testing.assert_allclose((lucid.tensor(a, device=device).to(values.dtype) @ vectors).cpu().numpy(),
                               (vectors * values.unsqueeze(-2)).cpu().numpy(), atol=1e-12)
    expected = np.sort_complex(np.linalg.eigvals(a))
    np.testing.assert_allclose(np.sort_complex(linalg.eigvals(lucid.tensor(a, device=device)).cpu().numpy()), expected, atol=1e-12)


def test_eigenvalues_keep_single_precision(device: str) -> None:
    a = random(3, 3).astype("f4")
    x = lucid.tensor(a, device=device)
    assert linalg.eigh(x).eigenvalues.dtype == lucid.float32 and linalg.eig(x).eigenvalues.dtype == lucid.complex64
    assert linalg.eigvals(lucid.eye(3, device=device)).dtype == lucid.complex64


@KINDS
def test_derivatives_of_eigenvalues(complex_: bool, device: str) -> None:
    a = random(2, 3, 3, complex_=complex_)
    for side in ("L", "U"):
        check_derivatives(lambda a, side=side: linalg.eigvalsh(hermitian(a), side), device, a)
        check_derivatives(lambda a, side=side: linalg.eigh(hermitian(a), side).eigenvectors.abs(), device, a)
    check_derivatives(lambda a: linalg.eigvals(a), device, a)
    check_derivatives(lambda a: linalg.eig(a).eigenvectors.abs(), device, a)

    def both(a: Any) -> Any:
        values, vectors = linalg.eig(a)
        return (vectors * values.exp().unsqueeze(-2)) @ linalg.inv(vectors)

    check_derivatives(both, device, a)


def test_gradients_of_eigenvalues_match_pytorch() -> None:
    torch = pytest.importorskip("torch")
    array = random(4, 4)
    grads = []
    for lib in (lucid, torch):
        x = lib.tensor(array, requires_grad=True)
        values, vectors = lib.linalg.eig(x)
        (values.abs().sum() + (vectors.abs() ** 3).sum()).backward()
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(*grads, rtol=1e-9, atol=1e-9)


def test_matrices_without_eigenvalues(device: str) -> None:
    nan = np.full((3, 3), np.nan)
    raises_as_torch(lambda lib, a: lib.linalg.eig(a), nan, device=device)
    with pytest.raises(RuntimeError, match="infs or NaNs"):
        linalg.eigvals(lucid.full((2, 2), INF, device=device))
    raises_as_torch(lambda lib, a: lib.linalg.eigh(a), nan, device=device)
    raises_as_torch(lambda lib, a: lib.linalg.eigh(a, UPLO="Q"), np.eye(2), device=device, match=True)


# ---- ranks, condition numbers, pseudoinverses ----------------------------------------------------------------------------
def deficient(*shape: int, rank: int, complex_: bool = False) -> np.ndarray:
    return random(*shape[:-1], rank, complex_=complex_) @ random(*shape[:-2], rank, shape[-1], complex_=complex_, seed=1)


def test_matrix_rank(device: str) -> None:
    a = np.concatenate([deficient(1, 4, 3, rank=2), random(1, 4, 3)])
    same(lambda lib: lib.linalg.matrix_rank, device, a)
    for options in ({"tol": 0.5}, {"atol": 1.0}, {"rtol": 0.5}, {"atol": 0.3, "rtol": 0.4}, {"atol": 0.0}):
        same(lambda lib, o=options: lambda a: lib.linalg.matrix_rank(a, **o), device, a)
    same(lambda lib: lambda a, t: lib.linalg.matrix_rank(a, atol=t), device, a, np.array([0.1, 5.0]))
    same(lambda lib: lambda a, t: lib.linalg.matrix_rank(a, t), device, a, np.array([0.1, 5.0]))
    same(lambda lib: lambda a: lib.linalg.matrix_rank(a, hermitian=True), device, definite(3, 3) - 2 * np.eye(3))
    same(lambda lib: lib.linalg.matrix_rank, device, np.zeros((2, 0, 3)))


@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, INF, -INF, "fro", "nuc"])
def test_cond(p: Any, complex_: bool, device: str) -> None:
    a = regular(2, 3, 3, complex_=complex_)
    same(lambda lib: lambda a: lib.linalg.cond(a, p), device, a)
    same(lambda lib: lambda a: lib.linalg.cond(a, p), device, np.zeros((0, 3, 3)))
    same(lambda lib: lambda a: lib.linalg.cond(a, p), device, np.zeros((2, 0, 0)))
    if p not in (None, 2, -2):
        same(lambda lib: lambda a: lib.linalg.cond(a, p), device, np.stack([np.eye(3), np.zeros((3, 3))]))
    else:
        same(lambda lib: lambda a: lib.linalg.cond(a, p), device, random(3, 4))
    check_derivatives(lambda a: linalg.cond(a, p), device, a)


@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3), (0, 3, 2), (2, 0, 3)])
def test_pinv(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = random(*shape, complex_=complex_)
    same(lambda lib: lib.linalg.pinv, device, a)
    same(lambda lib: lambda a: lib.linalg.pinv(a, rcond=0.5), device, a)
    same(lambda lib: lambda a: lib.linalg.pinv(a, atol=1.0, rtol=0.1), device, a)
    same(lambda lib: lib.pinverse, device, a)
    if a.size:
        check_derivatives(linalg.pinv, device, a)


@KINDS
def test_pinv_of_deficient_and_hermitian_matrices(complex_: bool, device: str) -> None:
    a, h = deficient(4, 3, rank=2, complex_=complex_), definite(3, 3, complex_=complex_)
    same(lambda lib: lib.linalg.pinv, device, a)
    same(lambda lib: lambda a: lib.linalg.pinv(a, hermitian=True), device, h)
    check_derivatives(lambda a: linalg.pinv(hermitian(a), hermitian=True), device, h)
    b, c = random(4, 2, complex_=complex_), random(2, 3, complex_=complex_)
    check_derivatives(lambda b, c: linalg.pinv(b @ c, rtol=1e-6), device, b, c)


# ---- least squares -----------------------------------------------------------------------------------------------------------
@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(("a", "b"), [((4, 2), (4, 3)), ((2, 4), (2, 3)), ((3, 3), (3, 1)), ((2, 4, 2), (2, 4, 3)), ((4, 2), (4,)),
                                      ((5, 4, 2), (5, 4)), ((1, 4, 2), (3, 4, 2)), ((0, 2), (0, 1))])
def test_lstsq(a: tuple[int, ...], b: tuple[int, ...], driver: str, complex_: bool) -> None:
    given = random(*a, complex_=complex_), random(*b, complex_=complex_, seed=1)
    same(tupled(lambda lib: lambda a, b: lib.linalg.lstsq(a, b, driver=driver)), "cpu", *given)


@KINDS
@pytest.mark.parametrize(("a", "b"), [((4, 2), (4, 3)), ((2, 4), (2, 3)), ((2, 4, 2), (2, 4, 3)), ((4, 2), (4,))])
def test_derivatives_of_lstsq(a: tuple[int, ...], b: tuple[int, ...], complex_: bool, device: str) -> None:
    given = random(*a, complex_=complex_), random(*b, complex_=complex_, seed=1)
    check_derivatives(lambda a, b: linalg.lstsq(a, b).solution, device, *given)
    if a[-2] > a[-1]:
        check_derivatives(lambda a, b: linalg.lstsq(a, b, driver="gels").residuals, device, *given)


def test_lstsq_of_deficient_matrices_and_on_a_gpu(device: str) -> None:
    a, b = deficient(4, 3, rank=2), random(4, 2)
    x = [lucid.tensor(t, device=device) for t in (a, b)]
    if device == "cpu":
        for driver in ("gelsy", "gelsd", "gelss"):
            solution, _, rank, _ = linalg.lstsq(*x, rcond=1e-10, driver=driver)
            close(solution, np.linalg.lstsq(a, b, rcond=1e-10)[0], 1e-10)
            assert rank == 2
    else:
        with pytest.raises(RuntimeError, match="should be one of"):
            linalg.lstsq(*x, driver="gelsd")
    with pytest.raises(linalg.LinAlgError, match=r"full rank \(error code: 3\)"):
        linalg.lstsq(*x, driver="gels")


# ---- arguments ---------------------------------------------------------------------------------------------------------------
SQUARE_ONLY = ["cholesky", "cholesky_ex", "det", "slogdet", "eig", "eigh", "eigvals", "eigvalsh", "inv", "inv_ex", "matrix_exp"]


@pytest.mark.torch
@pytest.mark.parametrize("name", [*SQUARE_ONLY, "lu", "lu_factor", "pinv", "matrix_rank", "svdvals", "qr"])
def test_wrong_shapes_and_dtypes(name: str) -> None:
    def call(lib: Any, a: Any) -> Any:
        return getattr(lib.linalg, name)(a)

    raises_as_torch(call, np.ones(3))
    raises_as_torch(call, np.eye(3, dtype="i4"))
    if name not in ("matrix_exp",):
        raises_as_torch(call, np.eye(3, dtype="f2"))
    if name in SQUARE_ONLY:
        raises_as_torch(call, np.ones((2, 3)))


@pytest.mark.torch
@pytest.mark.parametrize("call", [
    lambda lib, a, b: lib.linalg.solve_triangular(a, b[0], upper=True),
    lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True),
    lambda lib, a, b: lib.cholesky_solve(b, a), lambda lib, a, b: lib.cholesky_solve(b[0], a),
    lambda lib, a, b: lib.triangular_solve(b, a), lambda lib, a, b: lib.linalg.lu_solve(a, lib.ones(3, dtype=lib.int32), b),
    lambda lib, a, b: lib.linalg.lu_solve(a, lib.ones(3), b),
    lambda lib, a, b: lib.linalg.lu_solve(a, lib.ones(2, dtype=lib.int32), b),
    lambda lib, a, b: lib.lu_unpack(a, lib.ones(3)), lambda lib, a, b: lib.linalg.tensorinv(b),
    lambda lib, a, b: lib.linalg.tensorinv(a, 0),
    lambda lib, a, b: lib.linalg.tensorsolve(a, b), lambda lib, a, b: lib.linalg.cond(a, 3),
    lambda lib, a, b: lib.linalg.cond(a, "x"),
    lambda lib, a, b: lib.linalg.cond(b, 1), lambda lib, a, b: lib.linalg.pinv(b, hermitian=True),
    lambda lib, a, b: lib.linalg.matrix_rank(a, tol=0.1, rtol=0.1), lambda lib, a, b: lib.linalg.lstsq(a, b),
    lambda lib, a, b: lib.linalg.lstsq(a, a, driver="x"), lambda lib, a, b: lib.linalg.lstsq(a, a.float()),
    lambda lib, a, b: lib.linalg.svd(a, driver="gesvd"), lambda lib, a, b: lib.linalg.solve_triangular(a, a),
])
def test_wrong_arguments(call: Callable[..., Any]) -> None:
    raises_as_torch(call, np.eye(3), np.ones((2, 4)))


def test_svd_and_qr_of_old(device: str) -> None:
    a = random(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("U", "S", "V"):  # the signs of singular vectors are free
            same(lambda lib, name=name: lambda a: getattr(lib.svd(a), name).abs(), device, a)
        same(tupled(lambda lib: lambda a: lib.svd(a, compute_uv=False)), device, a)
        same(tupled(lambda lib: lib.qr), device, a)
        same(tupled(lambda lib: lambda a: a.qr(some=False)), device, a)
    same(tupled(lambda lib: lambda a: lib.geqrf(a)), device, a)


def test_field_names_match_pytorch() -> None:
    torch = pytest.importorskip("torch")
    a, b = definite(3, 3), random(3, 2)
    for call in (lambda lib, a, b: lib.linalg.cholesky_ex(a), lambda lib, a, b: lib.linalg.slogdet(a),
    lambda lib, a, b: lib.slogdet(a),
                 lambda lib, a, b: lib.linalg.eig(a), lambda lib, a, b: lib.linalg.eigh(a),
    lambda lib, a, b: lib.linalg.inv_ex(a),
                 lambda lib, a, b: lib.linalg.lstsq(a, b), lambda lib, a, b: lib.linalg.lu(a),
    lambda lib, a, b: lib.linalg.lu_factor(a),
                 lambda lib, a, b: lib.linalg.lu_factor_ex(a), lambda lib, a, b: lib.linalg.solve_ex(a, b),
                 lambda lib, a, b: lib.triangular_solve(b, a), lambda lib, a, b: lib.svd(a), lambda lib, a, b: lib.qr(a),
                 lambda lib, a, b: lib.linalg.svd(a), lambda lib, a, b: lib.linalg.qr(a)):
        ours, theirs = call(lucid, lucid.tensor(a), lucid.tensor(b)), call(torch, torch.tensor(a), torch.tensor(b))
        for name in ours._fields:
            assert getattr(theirs, name).shape == getattr(ours, name).shape
        assert len(ours) == len(theirs)


def test_out_and_meta(device: str) -> None:
    a = lucid.tensor(definite(3, 3), device=device)
    out = lucid.empty(3, 3, dtype=lucid.float64, device=device)
    assert linalg.inv(a, out=out) is out
    close(out @ a, np.eye(3), 1e-12)
    factors = lucid.empty_like(a), lucid.empty(3, dtype=lucid.int32, device=device)
    assert linalg.lu_factor(a, out=factors).LU is factors[0]
    ghost = lucid.empty(2, 4, 4, device="meta")
    tall = lucid.empty(2, 5, 4, device="meta")
    assert linalg.inv(ghost).shape == linalg.cholesky(ghost).shape == (2, 4, 4) and linalg.det(ghost).shape == (2,)
    assert linalg.lu(tall).L.shape == (2, 5, 4) and linalg.pinv(tall).shape == (2, 4, 5)
    assert linalg.lstsq(tall, tall).solution.shape == (2, 4, 4) and linalg.eig(ghost).eigenvectors.dtype == lucid.complex64
    assert linalg.eigvalsh(ghost).shape == (2, 4) and linalg.solve(ghost, ghost).shape == (2, 4, 4)


@pytest.mark.parametrize("size", [4, 40])
@pytest.mark.parametrize(("entry", "sign", "logarithm"), [(np.inf, 1, np.inf), (-np.inf, -1, np.inf), (0, 0, -np.inf)])
def test_slogdet_of_infinite_and_singular_matrices(size: int, entry: float, sign: float, logarithm: float) -> None:
    """Small matrices are NumPy's, larger ones go through our calls of LAPACK."""
    found = linalg.slogdet(lucid.diag(lucid.tensor([entry, *[2.0] * (size - 1)])))
    assert (found.sign.item(), found.logabsdet.item()) == (sign, logarithm)
