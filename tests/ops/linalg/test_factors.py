"""Linear systems, factorizations, the exponential and norms of matrices: values and errors against PyTorch, gradients by
finite differences, for stacks, complex and empty matrices.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import linalg
from tests.ops.linalg.matrices import random, same
from tests.ops.table.derivatives import check_derivatives, close

INF = math.inf


# ---- solve ---------------------------------------------------------------------------------------------------------------
SYSTEMS = [((3, 3), (3, 2), True), ((3, 3), (3,), True), ((2, 3, 3), (2, 3), True), ((2, 3, 3), (3, 2), True),
           ((3, 3), (2, 3, 4), True), ((2, 1, 3, 3), (2, 3, 2), True), ((3, 3), (2, 3), False), ((2, 3, 3), (2, 4, 3), False)]


@pytest.mark.torch
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(("a", "b", "left"), SYSTEMS)
def test_solve(a: tuple[int, ...], b: tuple[int, ...], left: bool, complex_: bool, device: str) -> None:
    arrays = random(*a, complex_=complex_), random(*b, complex_=complex_, seed=1)
    same(lambda lib: lambda a, b: lib.linalg.solve(a, b, left=left), device, *arrays)
    check_derivatives(lambda a, b: linalg.solve(a, b, left=left), device, *arrays)


@pytest.mark.parametrize(("a", "b"), [((0, 0), (0, 2)), ((0, 3, 3), (0, 3, 2)), ((3, 3), (3, 0)), ((3, 3), (0, 3, 2))])
def test_solve_nothing(a: tuple[int, ...], b: tuple[int, ...], device: str) -> None:
    same(lambda lib: lib.linalg.solve, device, np.broadcast_to(np.eye(a[-1]), a), np.zeros(b))


def test_a_singular_matrix_is_reported(device: str) -> None:
    a = lucid.eye(3, device=device).expand(2, 3, 3) * lucid.tensor([1.0, 0.0], device=device)[:, None, None]
    with pytest.raises(linalg.LinAlgError, match="singular") as error:
        linalg.solve(a, lucid.ones(2, 3, device=device))
    assert isinstance(error.value, RuntimeError)


def test_solve_keeps_float32(device: str) -> None:
    same(lambda lib: lib.linalg.solve, device, random(4, 4).astype("f4"), random(4, 2).astype("f4"), rtol=1e-4)


# ---- exponential ---------------------------------------------------------------------------------------------------------
@pytest.mark.torch
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1e-9, 0.3, 3.0, 40.0])
def test_matrix_exp(scale: float, complex_: bool, device: str) -> None:
    for shape in ((1, 1), (3, 3), (2, 2, 4, 4)):
        same(lambda lib: lib.linalg.matrix_exp, device, random(*shape, complex_=complex_, scale=scale), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_matrix_exp_in_single_precision(dtype: str, device: str) -> None:
    same(lambda lib: lib.matrix_exp, device, random(5, 5, complex_=dtype == "c8").astype(dtype), rtol=1e-5)


def test_each_matrix_of_a_batch_has_its_own_scale(device: str) -> None:
    large, small = random(3, 3, scale=30.0), random(3, 3, seed=1, scale=1e-3)
    result = lucid.matrix_exp(lucid.tensor(np.stack([large, small]), device=device))
    close(result[1], lucid.matrix_exp(lucid.tensor(small)).numpy(), 1e-15)


@pytest.mark.parametrize("complex_", [False, True])
def test_derivatives_of_matrix_exp(complex_: bool, device: str) -> None:
    check_derivatives(lucid.matrix_exp, device, np.stack([random(3, 3, complex_=complex_, scale=s) for s in (0.1, 2.0)]))


def test_the_exponential_of_a_skew_matrix_is_orthogonal(device: str) -> None:
    x = lucid.tensor(random(20, 20), device=device)
    q = lucid.matrix_exp(x - x.mT)
    close(q.mT @ q, np.eye(20), 1e-12)


def test_matrix_exp_of_half_precision_empty_and_not_finite_matrices(device: str) -> None:
    for dtype in (lucid.float16, lucid.bfloat16):
        assert lucid.matrix_exp(lucid.zeros(2, 2, dtype=dtype, device=device)).dtype == dtype
    assert lucid.matrix_exp(lucid.zeros(0, 3, 3, device=device)).shape == (0, 3, 3)
    assert lucid.matrix_exp(lucid.full((2, 2), math.nan, device=device)).isnan().all()


# ---- QR and reflectors -----------------------------------------------------------------------------------------------------
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 4, 3)]


@pytest.mark.torch
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("shape", [*SHAPES, (3, 0), (0, 2), (0, 3, 2)])
def test_qr_and_geqrf(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = random(*shape, complex_=complex_)
    for mode in ("reduced", "complete", "r"):
        same(lambda lib, mode=mode: lambda a: tuple(lib.linalg.qr(a, mode)), device, a)
    same(lambda lib: lambda a: tuple(lib.geqrf(a)), device, a)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives_of_qr(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    check_derivatives(lambda a: tuple(linalg.qr(a)), device, random(*shape, complex_=complex_))


@pytest.mark.torch
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(("shape", "count"), [((3, 3), 3), ((4, 2), 2), ((4, 3), 2), ((2, 4, 3), 3), ((3, 1), 1), ((3, 2), 0)])
def test_householder_product(shape: tuple[int, ...], count: int, complex_: bool, device: str) -> None:
    a, tau = random(*shape, complex_=complex_), random(*shape[:-2], count, complex_=complex_, seed=1)
    tau.ravel()[:1] = 0  # a reflector that does nothing
    same(lambda lib: lib.linalg.householder_product, device, a, tau)
    if count:
        check_derivatives(linalg.householder_product, device, a, tau)


def test_reflectors_of_geqrf_make_q(device: str) -> None:
    a = lucid.tensor(random(2, 5, 3), device=device)
    packed, tau = lucid.geqrf(a)
    q, r = linalg.qr(a)
    close(linalg.householder_product(packed, tau), q.cpu().numpy(), 1e-12)
    close(packed.triu()[:, :3], r.cpu().numpy(), 1e-12)


@pytest.mark.parametrize(("shape", "mode", "match"), [((3, 2), "r", "depends on Q"), ((3, 2), "complete", "not differentiable")])
def test_qr_without_a_derivative(shape: tuple[int, ...], mode: str, match: str, device: str) -> None:
    a = lucid.tensor(random(*shape), device=device, requires_grad=True)
    with pytest.raises(RuntimeError, match=match):
        linalg.qr(a, mode).R.sum().backward()


# ---- singular values -------------------------------------------------------------------------------------------------------
@pytest.mark.torch
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape: tuple[int, ...], complex_: bool, device: str) -> None:
    a = random(*shape, complex_=complex_)
    same(lambda lib: lib.linalg.svdvals, device, a)
    for full in (False, True):
        u, s, vh = linalg.svd(lucid.tensor(a, device=device), full)
        assert (u.shape[-1], vh.shape[-2]) == ((shape[-2], shape[-1]) if full else (min(shape[-2:]),) * 2)
        k = s.shape[-1]
        np.testing.assert_allclose(((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]).cpu().numpy(), a, rtol=1e-12, atol=1e-12)

    def without_phases(a: lucid.Tensor) -> tuple[lucid.Tensor, ...]:
        u, s, vh = linalg.svd(a, full_matrices=False)
        return s, (u * s.exp().unsqueeze(-2)) @ vh, u.abs(), vh.abs()

    check_derivatives(without_phases, device, a)


def test_svd_of_nan(device: str) -> None:
    with pytest.raises(linalg.LinAlgError):
        linalg.svdvals(lucid.full((2, 2), math.nan, device=device))


# ---- norms -----------------------------------------------------------------------------------------------------------------
@pytest.mark.torch
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("dim", [None, 0, (0, 1), (-1,)])
@pytest.mark.parametrize("order", [0, 1, 2, 3, -1, 0.5, INF, -INF])
def test_vector_norm(order: float, dim: Any, complex_: bool, device: str) -> None:
    for keepdim in (False, True):
        same(lambda lib, keepdim=keepdim: lambda x: lib.linalg.vector_norm(x, order, dim, keepdim), device,
             random(2, 3, 4, complex_=complex_))


@pytest.mark.torch
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("dim", [(-2, -1), (0, 1), (2, 0)])
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, INF, -INF])
def test_matrix_norm(order: Any, dim: tuple[int, int], complex_: bool, device: str) -> None:
    for keepdim in (False, True):
        same(lambda lib, keepdim=keepdim: lambda x: lib.linalg.matrix_norm(x, order, dim, keepdim), device,
             random(2, 3, 4, complex_=complex_))


@pytest.mark.parametrize("order", ["fro", "nuc", 1, 2, -2, INF])
def test_derivatives_of_matrix_norm(order: Any, device: str) -> None:
    check_derivatives(lambda a: linalg.matrix_norm(a, order), device, random(2, 3, 2))


def test_norm_chooses_by_the_number_of_dimensions(device: str) -> None:
    for arguments in ((), (1,), ("nuc",), (2, 0), (None, (0, 1)), (INF, (1, 0), True)):
        same(lambda lib, arguments=arguments: lambda x: lib.linalg.norm(x, *arguments), device, random(3, 4))


@pytest.mark.parametrize("dim", [-1, 0, 1, 2, -2])
def test_norm_except_dim(dim: int, device: str) -> None:
    same(lambda lib: lambda v: lib.norm_except_dim(v, 2, dim), device, random(2, 3, 4))


@pytest.mark.parametrize("complex_", [False, True])
def test_conjugate_transposes(complex_: bool, device: str) -> None:
    same(lambda lib: lambda x: x.mH * 1, device, random(2, 3, 4, complex_=complex_))
    same(lambda lib: lambda x: x.H * 1, device, random(3, 4, complex_=complex_))
    same(lambda lib: lambda x: x.H * 1, device, random(complex_=complex_))
    with pytest.raises(RuntimeError):
        _ = lucid.ones(2, 3, 4, device=device).H


# ---- errors ----------------------------------------------------------------------------------------------------------------
def _ones(*shape: int, dtype: str = "float32") -> Callable[[Any], Any]:
    return lambda lib: lib.ones(shape, dtype=getattr(lib, dtype))


REFUSED: list[tuple[str, tuple[Any, ...]]] = [
    ("linalg.matrix_exp", (_ones(2, 3),)), ("linalg.matrix_exp", (_ones(2),)), ("linalg.matrix_exp", (_ones(2, 2, dtype="int64"),)),
    ("matrix_exp", ([[1.0]],)),
    ("linalg.solve", (_ones(3, 3), _ones(3, dtype="float64"))), ("linalg.solve", (_ones(3, 3), _ones(2))),
    ("linalg.solve", (_ones(2, 3), _ones(2))), ("linalg.solve", (_ones(2), _ones(2))), ("linalg.solve", (_ones(3, 3), _ones())),
    ("linalg.solve", (_ones(3, 3, dtype="int64"), _ones(3, dtype="int64"))),
    ("linalg.solve", (_ones(3, 3, dtype="float16"), _ones(3, dtype="float16"))),
    ("linalg.solve", (_ones(2, 3, 3), _ones(3, 3, 2))),
    ("geqrf", (_ones(3),)), ("geqrf", (_ones(3, 3, dtype="int64"),)),
    ("linalg.qr", (_ones(3),)), ("linalg.qr", (_ones(3, 2), "x")), ("linalg.qr", (_ones(3, 2, dtype="float16"),)),
    ("linalg.qr", (_ones(3, 2, dtype="int64"),)),
    ("linalg.householder_product", (_ones(3, 2), _ones(3))), ("linalg.householder_product", (_ones(2, 3), _ones(2))),
    ("linalg.householder_product", (_ones(4, 3, 2), _ones(2))), ("linalg.householder_product", (_ones(4, 3, 2), _ones(3, 2))),
    ("linalg.householder_product", (_ones(3, 2), _ones(2, dtype="float64"))), ("linalg.householder_product", (_ones(3), _ones(2))),
    ("linalg.svd", (_ones(3),)), ("linalg.svdvals", (_ones(3, 2, dtype="int64"),)),
    ("linalg.vector_norm", (_ones(2), "fro")), ("linalg.vector_norm", (_ones(2, dtype="int64"),)),
    ("linalg.vector_norm", (_ones(0), INF)), ("linalg.vector_norm", (_ones(2, 0), -2, 1)),
    ("linalg.matrix_norm", (_ones(2, 3), 3)), ("linalg.matrix_norm", (_ones(2, 3), "foo")), ("linalg.matrix_norm", (_ones(2),)),
    ("linalg.matrix_norm", (_ones(2, 3), 1, (0,))), ("linalg.matrix_norm", (_ones(2, 3), 1, (0, 0))),
    ("linalg.matrix_norm", (_ones(2, 3, dtype="float16"), 2)), ("linalg.matrix_norm", (_ones(2, 3, dtype="int64"), 1)),
    ("linalg.norm", (_ones(2, 2, 2), 1)), ("linalg.norm", (_ones(2, 2), "nuc", 0)), ("linalg.norm", (_ones(2, 2, 2), 1, (0, 1, 2))),
    ("linalg.norm", (_ones(2), "fro")),
]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "arguments"), REFUSED)
def test_errors_have_the_class_of_pytorch(name: str, arguments: tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch")

    def call(library: Any) -> Any:
        function = library
        for part in name.split("."):
            function = getattr(function, part)
        return function(*[argument(library) if callable(argument) else argument for argument in arguments])

    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(torch)
    with pytest.raises(theirs.type):
        call(lucid)


def test_dtype_of_a_norm_must_not_lose_digits() -> None:
    x = lucid.ones(2, dtype=lucid.float64)
    for dtype in (lucid.float32, lucid.complex128, lucid.int64):
        with pytest.raises(RuntimeError):
            linalg.vector_norm(x, dtype=dtype)
    assert linalg.vector_norm(x.float(), dtype=lucid.float64).dtype == lucid.float64
