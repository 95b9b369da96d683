"""Cholesky and LU factors, triangular systems, determinants and inverses: values and errors against PyTorch, gradients by
finite differences, for stacks, complex, empty and singular matrices.
"""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import linalg
from tests.ops.linalg.matrices import definite, hermitian, raises_as_torch, random, regular, same, tupled
from tests.ops.table.derivatives import check_derivatives, close

KINDS = pytest.mark.parametrize("complex_", [False, True])


# ---- Cholesky and triangular systems -------------------------------------------------------------------------------------
@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (0, 3, 3), (2, 0, 0)])
def test_cholesky(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = definite(*shape, complex_=complex_)
    for upper in (False, True):
        same(lambda lib, upper=upper: lambda a: lib.linalg.cholesky(a, upper=upper), device, a)
        same(tupled(lambda lib, upper=upper: lambda a: lib.linalg.cholesky_ex(a, upper=upper)), device, a)
    same(lambda lib: lambda a: lib.linalg.cholesky(a.tril()), device, a)  # the upper triangle is not read
    same(lambda lib: lambda a: lib.linalg.cholesky(a.triu(), upper=True), device, a)


@KINDS
def test_derivatives_of_cholesky(complex_: bool, device: str) -> None:
    for upper in (False, True):
        def function(a: Any, upper: bool = upper) -> Any:
            return linalg.cholesky(hermitian(a) + 6 * lucid.eye(3, device=a.device), upper=upper)

        check_derivatives(function, device, random(2, 3, 3, complex_=complex_))


def test_cholesky_of_matrices_that_are_not_definite(device: str) -> None:
    good, bad = np.eye(3), np.diag([1.0, 1.0, -1.0])
    raises_as_torch(lambda lib, a: lib.linalg.cholesky(a), bad, device=device, match=True)
    raises_as_torch(lambda lib, a: lib.linalg.cholesky(a), np.stack([good, -good]), device=device, match=True)
    raises_as_torch(lambda lib, a: lib.linalg.cholesky_ex(a, check_errors=True), -good, device=device, match=True)
    raises_as_torch(lambda lib, a: lib.cholesky(a), -good, device=device, match=True)
    given = np.stack([good, bad, -good, good, np.array([[4.0, 2, 1], [2, 1, 3], [1, 3, 9]])]).reshape(5, 1, 3, 3)
    result = linalg.cholesky_ex(lucid.tensor(given, device=device))
    assert result.info.dtype == lucid.int32 and result.info.tolist() == [[0], [3], [1], [0], [2]]
    close(result.L[0, 0], good)
    close(result.L[3, 0], good)
    assert result.L[1].isnan().all()


@pytest.mark.parametrize("n", [3, 40])
def test_cholesky_of_nan(n: int, device: str) -> None:
    given = np.stack([np.eye(n)] * 5)
    given[1, 0, 0] = given[2, n // 2, n // 2] = given[3, n - 1, 0] = np.nan
    given[4, 0, n - 1] = np.nan  # above the diagonal nothing is read
    result = linalg.cholesky_ex(lucid.tensor(given, device=device))
    assert result.info.tolist() == [0, 1, n // 2 + 1, n, 0]
    assert result.L[1:4].isnan().all() and not result.L[[0, 4]].isnan().any()
    raises_as_torch(lambda lib, a: lib.linalg.cholesky(a), given[3], device=device, match=True)


@KINDS
@pytest.mark.parametrize("n", [3, 40])
def test_solve_triangular(n: int, complex_: bool, device: str) -> None:
    a = random(n, n, complex_=complex_) / n + 2 * np.eye(n)
    for upper in (False, True):
        for unit in (False, True):
            options = {"upper": upper, "unitriangular": unit}
            same(lambda lib, o=options: lambda a, b: lib.linalg.solve_triangular(a, b, **o), device, a,
                 random(2, n, 2, complex_=complex_))
            same(lambda lib, o=options: lambda a, b: lib.linalg.solve_triangular(a, b, **o), device, a,
                 random(n, 2, complex_=complex_))
            same(lambda lib, o=options: lambda a, b: lib.linalg.solve_triangular(a, b, left=False, **o), device, a,
                 random(3, 2, n, complex_=complex_))


@KINDS
@pytest.mark.parametrize("upper", [False, True])
def test_derivatives_of_solve_triangular(upper: bool, complex_: bool, device: str) -> None:
    a, b = regular(2, 3, 3, complex_=complex_), random(3, 2, complex_=complex_)
    for unit in (False, True):
        check_derivatives(lambda a, b, unit=unit: linalg.solve_triangular(a, b, upper=upper, unitriangular=unit), device, a, b)
    check_derivatives(lambda a, b: linalg.solve_triangular(a, b, upper=upper, left=False), device, a, b.T.copy())


def test_triangular_solve_and_zeros_on_the_diagonal(device: str) -> None:
    a, b = regular(2, 3, 3), random(3, 2)
    for options in ({}, {"upper": False}, {"transpose": True}, {"unitriangular": True, "upper": False, "transpose": True}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(tupled(lambda lib, o=options: lambda b, a: lib.triangular_solve(b, a, **o)), device, b, a)
    same(lambda lib: lambda a, b: lib.linalg.solve_triangular(a, b, upper=True), device, np.zeros((3, 3)), np.eye(3))


@KINDS
def test_cholesky_solve_and_inverse(complex_: bool, device: str) -> None:
    factor = np.linalg.cholesky(definite(3, 3, complex_=complex_))
    b = random(2, 3, 2, complex_=complex_)
    for upper in (False, True):
        given = factor.conj().T.copy() if upper else factor
        same(lambda lib, upper=upper: lambda b, f: lib.cholesky_solve(b, f, upper=upper), device, b, given)
        same(lambda lib, upper=upper: lambda f: lib.cholesky_inverse(f, upper=upper), device, given)
        check_derivatives(lambda b, f, upper=upper: lucid.cholesky_solve(b, f, upper=upper), device, b, given)
        check_derivatives(lambda f, upper=upper: lucid.cholesky_inverse(f, upper=upper), device, given)


# ---- LU -------------------------------------------------------------------------------------------------------------------
LU_SHAPES = [(3, 3), (4, 2), (2, 4), (2, 5, 3), (2, 2, 3, 3), (70, 70), (40, 75), (75, 40)]


@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("shape", [*LU_SHAPES, (2, 0, 3), (0, 3, 3), (3, 0)])
def test_lu(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = random(*shape, complex_=complex_)
    same(tupled(lambda lib: lib.linalg.lu), device, a)
    same(tupled(lambda lib: lib.linalg.lu_factor), device, a)
    same(tupled(lambda lib: lib.linalg.lu_factor_ex), device, a)


@KINDS
@pytest.mark.parametrize("shape", LU_SHAPES[:5])
def test_derivatives_of_lu(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = random(*shape, complex_=complex_, seed=3)
    check_derivatives(lambda a: linalg.lu(a)[1:], device, a)
    check_derivatives(lambda a: linalg.lu_factor(a).LU, device, a)
    check_derivatives(lambda a: linalg.lu_factor(a + 4 * lucid.eye(*shape[-2:], device=a.device), pivot=False).LU, device, a)


def test_lu_without_pivots_and_unpack(device: str) -> None:
    a = regular(2, 4, 4)
    P, L, U = linalg.lu(lucid.tensor(a, device=device), pivot=False)
    assert P.shape == (0,)
    close(L @ U, a, 1e-12)
    for data, pivots in ((True, True), (True, False), (False, True)):
        same(tupled(lambda lib, o=(data, pivots): lambda a: lib.lu_unpack(*lib.linalg.lu_factor(a), *o)), device, a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(lambda lib: lambda a: lib.lu(a), device, a)
        same(lambda lib: lambda a: a.lu(get_infos=True), device, a)


def test_singular_matrices_have_an_lu_factorization(device: str) -> None:
    a = np.stack([np.eye(3), np.zeros((3, 3)), np.diag([1.0, 0, 2])])
    same(tupled(lambda lib: lib.linalg.lu_factor_ex), device, a)
    raises_as_torch(lambda lib, a: lib.linalg.lu_factor(a), a, device=device, match=True)
    raises_as_torch(lambda lib, a: lib.linalg.lu_factor_ex(a, check_errors=True), a[2], device=device, match=True)


@pytest.mark.torch
@KINDS
@pytest.mark.parametrize(("left", "adjoint"), [(True, False), (True, True), (False, False), (False, True)])
def test_lu_solve(left: bool, adjoint: bool, complex_: bool, device: str) -> None:
    a, b = random(2, 3, 3, complex_=complex_), random(*((3, 2) if left else (2, 3)), complex_=complex_, seed=1)
    options = {"left": left, "adjoint": adjoint}
    same(lambda lib: lambda a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, **options), device, a, b)
    check_derivatives(lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, **options), device, a, b)


def test_old_lu_solve(device: str) -> None:
    same(lambda lib: lambda a, b: lib.lu_solve(b, *lib.linalg.lu_factor(a)), device, regular(3, 3), random(3, 2))


# ---- determinants and inverses -------------------------------------------------------------------------------------------
SQUARES = [(1, 1), (3, 3), (2, 2, 4, 4), (0, 3, 3), (2, 0, 0), (0, 0)]


@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("shape", SQUARES)
def test_determinants_and_inverses(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = random(*shape, complex_=complex_)
    for name in ("linalg.det", "linalg.inv", "det", "inverse", "logdet"):
        same(lambda lib, name=name: _find(lib, name), device, a)
    same(tupled(lambda lib: lib.linalg.slogdet), device, a)
    same(tupled(lambda lib: lib.slogdet), device, a)
    same(tupled(lambda lib: lib.linalg.inv_ex), device, a)


def _find(lib: Any, path: str) -> Any:
    for name in path.split("."):
        lib = getattr(lib, name)
    return lib


@KINDS
def test_derivatives_of_determinants_and_inverses(complex_: bool, device: str) -> None:
    a = random(2, 3, 3, complex_=complex_)
    check_derivatives(linalg.det, device, a)
    check_derivatives(linalg.inv, device, a)
    check_derivatives(lambda a: linalg.inv_ex(a).inverse, device, a)
    check_derivatives(lambda a: linalg.slogdet(a).logabsdet, device, a)
    if complex_:
        check_derivatives(lambda a: linalg.slogdet(a).sign, device, a)
        check_derivatives(lucid.logdet, device, regular(3, 3, complex_=True))
    else:
        check_derivatives(lucid.logdet, device, definite(3, 3))


@KINDS
def test_derivatives_of_the_determinant_of_singular_matrices(complex_: bool, device: str) -> None:
    a = np.stack([np.diag([2.0, 1.0, 0.0]), np.eye(3)]).astype("c16" if complex_ else "f8")
    assert linalg.det(lucid.tensor(a, device=device))[0] == 0
    check_derivatives(linalg.det, device, a)
    zero = lucid.zeros(3, 3, dtype=lucid.tensor(a).dtype, device=device, requires_grad=True)
    linalg.det(zero).real.backward()
    assert not zero.grad.any()


@KINDS
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_second_derivatives_of_the_determinant_at_every_rank(rank: int, complex_: bool, device: str) -> None:
    """Also where rounding leaves a determinant that is not 0 (products of factors) and where singular values coincide."""
    left, right = random(4, 4, complex_=complex_), random(4, 4, complex_=complex_, seed=1)
    for given in (left[:, :rank] @ right[:rank], np.diag((np.arange(4) < rank).astype(left.dtype))):
        check_derivatives(linalg.det, device, given)


def test_the_determinant_of_pivots(device: str) -> None:
    """On a CPU it is the product of the pivots with their sign, not the exponential of a logarithm."""
    assert linalg.det(lucid.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)).item() == pytest.approx(-2.0, rel=2e-7)
    if device == "cpu":
        same(lambda lib: lib.linalg.det, device, np.diag([3.0, 5.0, 7.0])[[1, 0, 2]])


def test_second_derivatives_of_eigenvalues_are_symmetric(device: str) -> None:
    x = lucid.tensor(random(4, 4) + random(4, 4).T, device=device, requires_grad=True)
    (first,) = lucid.autograd.grad((linalg.eigvalsh(x) ** 3).sum(), x, create_graph=True)
    (second,) = lucid.autograd.grad((first * lucid.tensor(random(4, 4, seed=2), device=device)).sum(), x)
    close(second.cpu(), second.mT.cpu().numpy())


def test_singular_matrices_and_their_number_are_named(device: str) -> None:
    eye, batch = np.eye(3), np.stack([np.eye(3), np.zeros((3, 3))])
    singular = np.array([[1.0, 2, 3], [2, 4, 6], [0, 0, 1]])
    raises_as_torch(lambda lib, a: lib.linalg.inv(a), singular, device=device)
    for given in (batch, batch[1]):
        raises_as_torch(lambda lib, a: lib.linalg.inv(a), given, device=device, match=True)
        raises_as_torch(lambda lib, a: lib.linalg.inv_ex(a, check_errors=True), given, device=device, match=True)
        raises_as_torch(lambda lib, a: lib.inverse(a), given, device=device, match=True)
        raises_as_torch(lambda lib, a, b: lib.linalg.solve(a, b), given, eye, device=device, match=True)
        raises_as_torch(lambda lib, a, b: lib.linalg.solve_ex(a, b, check_errors=True), given, eye, device=device, match=True)
    inverse, info = linalg.inv_ex(lucid.tensor(batch, device=device))
    assert info.tolist() == [0, 1] and info.dtype == lucid.int32
    close(inverse[0], eye)
    assert inverse[1].isnan().all()
    result, info = linalg.solve_ex(lucid.tensor(batch, device=device), lucid.tensor(random(3), device=device))
    assert info.tolist() == [0, 1] and result[1].isnan().all()
    close(result[0], random(3))


def test_solve_ex_and_its_derivatives(device: str) -> None:
    a, b = regular(2, 3, 3), random(3, 2)
    same(tupled(lambda lib: lib.linalg.solve_ex), device, a, b)
    check_derivatives(lambda a, b: linalg.solve_ex(a, b).result, device, a, b)


def test_logarithms_of_determinants_that_have_none(device: str) -> None:
    same(lambda lib: lib.logdet, device, np.stack([-np.eye(3), np.zeros((3, 3)), np.eye(3)]))
    same(tupled(lambda lib: lib.linalg.slogdet), device, np.stack([-np.eye(3), np.zeros((3, 3)), np.eye(3)]))


def test_tensorinv_and_tensorsolve(device: str) -> None:
    same(lambda lib: lib.linalg.tensorinv, device, random(2, 6, 4, 3))
    same(lambda lib: lambda a: lib.linalg.tensorinv(a, ind=1), device, random(6, 2, 3))
    same(lambda lib: lib.linalg.tensorsolve, device, random(2, 3, 6), random(2, 3))
    same(lambda lib: lambda a, b: lib.linalg.tensorsolve(a, b, dims=(0, 2)), device, random(3, 6, 2), random(6, 1)[:, 0])
    check_derivatives(linalg.tensorsolve, device, random(2, 2, 4), random(2, 2))
    check_derivatives(lambda a: linalg.tensorinv(a, 1), device, random(4, 2, 2))
