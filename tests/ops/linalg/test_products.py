"""Sums of products, products of several matrices, Kronecker, cross and inner products, traces and powers: values, gradients,
dtypes and errors against PyTorch.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree
from tests.ops.table.derivatives import check_derivatives

RANDOM = np.random.default_rng(0)
NAN = np.full((2, 2), np.nan)


def r(*shape: int, complex_: bool = False) -> np.ndarray:
    array = RANDOM.standard_normal(shape)
    return array + 1j * RANDOM.standard_normal(shape) if complex_ else array


def i(*shape: int) -> np.ndarray:
    return RANDOM.integers(-4, 5, shape)


CASES: list[tuple[Any, list[np.ndarray]]] = [
    (lambda lib, a, b: lib.inner(a, b), [r(2, 3), r(4, 3)]),
    (lambda lib, a, b: lib.inner(a, b), [r(3), r(3)]),
    (lambda lib, a, b: lib.inner(a, b), [r(2, 3), r()]),
    (lambda lib, a, b: a.inner(b), [r(2, 2, 3), r(4, 5, 3)]),
    (lambda lib, x, a, b: lib.addmm(x, a, b), [r(2, 4), r(2, 3), r(3, 4)]),
    (lambda lib, x, a, b: lib.addmm(x, a, b, beta=0.5, alpha=2), [r(4), r(2, 3), r(3, 4)]),
    (lambda lib, x, a, b: lib.addmm(x, a, b, beta=0), [NAN, r(2, 3), r(3, 2)]),
    (lambda lib, x, a, b: lib.addmv(x, a, b, beta=0.5, alpha=2), [r(2), r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addmv(x, a, b), [r(1), r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addmv(x, a, b), [r(), r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addmv(x, a, b, beta=0), [NAN[0], r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addbmm(x, a, b, beta=0.5, alpha=2), [r(2, 5), r(4, 2, 3), r(4, 3, 5)]),
    (lambda lib, x, a, b: lib.addbmm(x, a, b), [r(5), r(4, 2, 3), r(4, 3, 5)]),
    (lambda lib, x, a, b: lib.addbmm(x, a, b), [r(2, 2), r(0, 2, 3), r(0, 3, 2)]),
    (lambda lib, x, a, b: lib.baddbmm(x, a, b, beta=0.5, alpha=2), [r(4, 2, 5), r(4, 2, 3), r(4, 3, 5)]),
    (lambda lib, x, a, b: lib.baddbmm(x, a, b), [r(2, 1), r(4, 2, 3), r(4, 3, 5)]),
    (lambda lib, x, a, b: lib.addr(x, a, b, beta=0.5, alpha=2), [r(2, 3), r(2), r(3)]),
    (lambda lib, x, a, b: lib.addr(x, a, b), [r(3), r(2), r(3)]),
    (lambda lib, x, a, b: lib.addr(x, a, b, beta=0), [NAN, r(2), r(2)]),
    (lambda lib, x, a, b: x.addr_(a, b), [i(2, 3), i(2), i(3)]),
    (lambda lib, x, a, b: x.addmm_(a, b, beta=2), [i(2, 2), i(2, 3), i(3, 2)]),
    (lambda lib, x, a, b: x.addmv_(a, b), [i(2), i(2, 3), i(3)]),
    (lambda lib, x, a, b: x.addbmm_(a, b), [i(2, 2), i(4, 2, 3), i(4, 3, 2)]),
    (lambda lib, x, a, b: x.baddbmm_(a, b), [i(4, 2, 2), i(4, 2, 3), i(4, 3, 2)]),
    (lambda lib, x, a, b: lib.addmm(x, a, b, alpha=1.5), [i(2, 2), i(2, 3), i(3, 2)]),
    (lambda lib, x, a, b: lib.addr(x, a, b), [i(2, 3) > 0, i(2) > 0, i(3) > 0]),
    (lambda lib, x, a, b: lib.addr(x, a, b), [r(2, 3).astype("f4"), r(2), r(3)]),
    (lambda lib, x, a, b: lib.addr(x, a, b, beta=False, alpha=False), [i(2, 3) > 0, i(2) > 0, i(3) > 0]),
    (lambda lib, a, b: lib.tensordot(a, b, dims=1), [r(2, 3, 4), r(4, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b, dims=([1, 2], [1, 0])), [r(2, 3, 4), r(4, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b), [r(2, 3), r(2, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b, dims=0), [r(2), r(3)]),
    (lambda lib, a, b: lib.tensordot(a, b, dims=lib.tensor([[0], [-1]])), [r(2, 3), r(4, 2)]),
    (lambda lib, a, b: lib.tensordot(a, b, ([0], [0])), [r(1, 3), r(4, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b, ([0], [0])), [i(2, 3), i(2, 4)]),
    (lambda lib, a, b: lib.tensordot(a, b, 1), [r(2, 0), r(0, 3)]),
    (lambda lib, a, b: lib.kron(a, b), [r(2, 3), r(3, 2)]),
    (lambda lib, a, b: lib.kron(a, b), [r(2, 3), r(2, 1, 2)]),
    (lambda lib, a, b: a.kron(b), [r(), r(2)]),
    (lambda lib, a, b: lib.kron(a, b), [i(2), r(2)]),
    (lambda lib, a, b: lib.kron(a, b), [r(0, 2), r(2, 2)]),
    (lambda lib, a, b: lib.cross(a, b), [r(2, 3), r(2, 3)]),
    (lambda lib, a, b: lib.cross(a, b), [r(3, 3), r(3, 3)]),
    (lambda lib, a, b: lib.linalg.cross(a, b), [r(3, 3), r(1, 3)]),
    (lambda lib, a, b: a.cross(b, dim=0), [r(3, 2), r(3, 1)]),
    (lambda lib, a, b: lib.linalg.cross(a, b), [i(3), i(3)]),
    (lambda lib, a: lib.trace(a), [r(2, 3)]),
    (lambda lib, a: a.trace(), [i(3, 2).astype("i4")]),
    (lambda lib, a: lib.trace(a), [r(0, 2)]),
    (lambda lib, a: lib.trace(a), [r(2, 2).astype("f2")]),
    (lambda lib, a, b: lib.linalg.vecdot(a, b), [r(2, 3), r(3)]),
    (lambda lib, a, b: lib.linalg.vecdot(a, b, dim=0), [r(3, 2), r(3, 2)]),
    (lambda lib, a, b: lib.linalg.vecdot(a, b), [r(2, 1), r(3)]),
    (lambda lib, a, b: lib.linalg.vecdot(a, b), [r(), r()]),
    (lambda lib, a: lib.linalg.vander(a), [r(2, 3)]),
    (lambda lib, a: lib.linalg.vander(a, N=5), [i(3).astype("i4")]),
    (lambda lib, a: lib.vander(a), [i(3).astype("i4")]),
    (lambda lib, a: lib.vander(a, 2, True), [i(3)]),
    (lambda lib, a: lib.vander(a, N=0), [r(3)]),
    (lambda lib, a: lib.vander(a, N=1), [r(3)]),
    (lambda lib, a: lib.linalg.matrix_power(a, 0), [r(2, 3, 3)]),
    (lambda lib, a: lib.linalg.matrix_power(a, 1), [r(3, 3)]),
    (lambda lib, a: a.matrix_power(7), [r(3, 3)]),
    (lambda lib, a: lib.matrix_power(a, -3), [r(3, 3)]),
    (lambda lib, a: lib.linalg.matrix_power(a, 3), [i(2, 2)]),
    (lambda lib, a: lib.linalg.matrix_power(a, 2), [r(2, 0, 0)]),
    (lambda lib, *t: lib.linalg.multi_dot(t), [r(2, 9), r(9, 3), r(3, 8), r(8, 2)]),
    (lambda lib, *t: lib.linalg.multi_dot(t), [r(3), r(3, 4), r(4, 2), r(2)]),
    (lambda lib, *t: lib.linalg.multi_dot(t), [r(3), r(3)]),
    (lambda lib, *t: lib.chain_matmul(*t), [r(2, 9), r(9, 3), r(3, 8)]),
    (lambda lib, *t: lib.chain_matmul(*t), [r(2, 3)]),
    (lambda lib, a: lib.linalg.diagonal(a, offset=1), [r(2, 3, 4)]),
    (lambda lib, a, b: lib.linalg.matmul(a, b), [r(2, 3), r(3, 2)]),
    # refused
    (lambda lib, a, b: lib.inner(a, b), [r(2, 3), r(2, 2)]),
    (lambda lib, a, b: lib.inner(a, b), [r(2, 3), r(2, 3).astype("f4")]),
    (lambda lib, x, a, b: lib.addmv(x, a, b), [r(4), r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addmv(x, a, b), [r(2), r(2, 3), r(2)]),
    (lambda lib, x, a, b: lib.addmv(x, a, b), [r(2, 2), r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addmv(x, a, b), [r(2).astype("f4"), r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addmm(x, a, b, alpha=2j), [r(2, 2), r(2, 3), r(3, 2)]),
    (lambda lib, x, a, b: lib.addbmm(x, a, b), [r(2, 3), r(4, 2, 3), r(4, 3, 2)]),
    (lambda lib, x, a, b: lib.addbmm(x, a, b), [r(2, 2), r(5, 2, 3), r(4, 3, 2)]),
    (lambda lib, x, a, b: lib.addbmm(x, a, b), [r(2, 2), r(4, 2, 3), r(4, 2, 2)]),
    (lambda lib, x, a, b: lib.baddbmm(x, a, b), [r(3, 2, 2), r(4, 2, 3), r(4, 3, 2)]),
    (lambda lib, x, a, b: lib.baddbmm(x, a, b), [r(2, 2).astype("f4"), r(4, 2, 3), r(4, 3, 2)]),
    (lambda lib, x, a, b: lib.addr(x, a, b), [r(2, 2), r(2), r(3)]),
    (lambda lib, x, a, b: lib.addr(x, a, b), [r(2, 3), r(2, 3), r(3)]),
    (lambda lib, x, a, b: lib.addr(x, a, b, beta=1.5), [i(2, 3), i(2), i(3)]),
    (lambda lib, a, b: lib.tensordot(a, b, dims=1), [r(2, 3), r(4, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b, dims=3), [r(2, 3), r(2, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b, -1), [r(2), r(2)]),
    (lambda lib, a, b: lib.tensordot(a, b, ([0], [0, 1])), [r(2, 3), r(2, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b, ([0, 0], [0, 0])), [r(2, 3), r(2, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b, ([5], [0])), [r(2, 3), r(2, 3)]),
    (lambda lib, a, b: lib.tensordot(a, b), [r(2, 3), r(2, 3).astype("f4")]),
    (lambda lib, a, b: lib.cross(a, b), [r(2, 2), r(2, 2)]),
    (lambda lib, a, b: lib.linalg.cross(a, b), [r(3, 2), r(3, 2)]),
    (lambda lib, a, b: lib.linalg.cross(a, b), [r(3), r(2, 3)]),
    (lambda lib, a, b: lib.linalg.cross(a, b), [r(3), r(3).astype("f4")]),
    (lambda lib, a, b: lib.linalg.cross(a, b), [r(2, 3), r(4, 3)]),
    (lambda lib, a, b: lib.linalg.cross(a, b), [i(3) > 0, i(3) > 0]),
    (lambda lib, a: lib.trace(a), [r(2, 2, 2)]),
    (lambda lib, a: lib.trace(a), [i(2, 2) > 0]),
    (lambda lib, a, b: lib.linalg.vecdot(a, b), [r(2, 3), r(2, 4)]),
    (lambda lib, a, b: lib.linalg.vecdot(a, b), [i(3), i(3)]),
    (lambda lib, a, b: lib.linalg.vecdot(a, b), [r(3), r(3).astype("f4")]),
    (lambda lib, a: lib.linalg.vander(a), [i(2) > 0]),
    (lambda lib, a: lib.linalg.vander(a, N=1), [r(3)]),
    (lambda lib, a: lib.vander(a), [r(2, 2)]),
    (lambda lib, a: lib.vander(a, N=-1), [r(2)]),
    (lambda lib, a: lib.linalg.matrix_power(a, 2), [r(2, 3)]),
    (lambda lib, a: lib.linalg.matrix_power(a, 1.5), [r(2, 2)]),
    (lambda lib, a: lib.linalg.matrix_power(a, -1), [i(2, 2)]),
    (lambda lib, a: lib.linalg.matrix_power(a, 2), [i(2, 2) > 0]),
    (lambda lib, *t: lib.linalg.multi_dot(t), [r(3)]),
    (lambda lib, *t: lib.linalg.multi_dot(t), [r(3, 2), r(3, 2)]),
    (lambda lib, *t: lib.linalg.multi_dot(t), [r(2, 2), r(2, 2, 2), r(2, 2)]),
    (lambda lib, *t: lib.linalg.multi_dot(t), [r(3, 2), r(2, 2).astype("f4")]),
    (lambda lib, *t: lib.chain_matmul(*t), [r(3), r(3)]),
    (lambda lib: lib.chain_matmul(), []),
]


@pytest.mark.torch
@pytest.mark.parametrize("number", range(len(CASES)))
def test_agrees_with_pytorch(number: int, device: str) -> None:
    function, given = CASES[number]
    agree(function, *given, device=device, rtol=1e-9)


@pytest.mark.parametrize("complex_", [False, True])
def test_derivatives(complex_: bool, device: str) -> None:
    def c(*shape: int) -> np.ndarray:
        return r(*shape, complex_=complex_)

    check_derivatives(lambda x, a, b: lucid.addbmm(x, a, b, beta=0.5, alpha=2), device, c(2, 2), c(2, 2, 3), c(2, 3, 2))
    check_derivatives(lambda x, a, b: lucid.baddbmm(x, a, b, beta=0.5, alpha=2), device, c(2, 2), c(2, 2, 3), c(2, 3, 2))
    check_derivatives(lambda x, a, b: lucid.addmv(x, a, b, beta=0.5, alpha=2), device, c(2), c(2, 3), c(3))
    check_derivatives(lambda x, a, b: lucid.addr(x, a, b, beta=0.5, alpha=2), device, c(3), c(2), c(3))
    check_derivatives(lambda a, b: lucid.tensordot(a, b, ([1, 2], [1, 0])), device, c(2, 3, 2), c(2, 3))
    check_derivatives(lucid.kron, device, c(2, 2), c(3))
    check_derivatives(lucid.linalg.cross, device, c(2, 3), c(1, 3))
    check_derivatives(lucid.linalg.vecdot, device, c(2, 3), c(3))
    check_derivatives(lambda *t: lucid.linalg.multi_dot(t), device, c(2), c(2, 3), c(3, 2))
    check_derivatives(lambda a: lucid.linalg.matrix_power(a, 5), device, c(2, 2))
    check_derivatives(lambda a: lucid.linalg.matrix_power(a, -2), device, c(2, 2))
    check_derivatives(lambda a: lucid.linalg.vander(a, N=4), device, c(3))
    check_derivatives(lucid.trace, device, c(2, 3))


def test_in_place_sums_are_part_of_the_graph(device: str) -> None:
    x, a, b = (lucid.tensor(t, device=device, requires_grad=True) for t in (r(2, 2), r(2, 3), r(3, 2)))
    y = x * 1
    assert y.addmm_(a, b, alpha=2) is y
    y.sum().backward()
    np.testing.assert_allclose(a.grad.cpu().numpy(), 2 * np.ones((2, 2)) @ b.detach().cpu().numpy().T)
    with pytest.raises(RuntimeError):
        lucid.zeros(1, 2, device=device).addmm_(a.detach(), b.detach())


def test_out(device: str) -> None:
    a, b = lucid.rand(2, 3, device=device), lucid.rand(3, 2, device=device)
    out = lucid.empty(2, 2, device=device)
    for function, given in ((lucid.matmul, (a, b)), (lucid.mm, (a, b)),
    (lucid.addmm, (lucid.zeros(2, 2, device=device), a, b)), (lucid.tensordot, (a, b, 1))):
        assert function(*given, out=out) is out
        np.testing.assert_allclose(out.cpu().numpy(), (a @ b).cpu().numpy(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="dtype"):
        lucid.mm(a, b, out=lucid.empty(2, 2, dtype=lucid.float64, device=device))


def test_the_chain_is_multiplied_in_the_cheapest_order() -> None:
    """From left to right this takes 10^8 elements in between."""
    column, row, other = lucid.rand(10000, 1), lucid.rand(1, 10000), lucid.rand(10000, 1)
    assert lucid.linalg.multi_dot([column, row, other]).shape == (10000, 1)
