"""einsum against PyTorch: every form of equation, several operands, gradients and errors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.derivatives import check_derivatives

RANDOM = np.random.default_rng(0)
EQUATIONS = [
    ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)), ("ii", (3, 3)), ("ii->i", (3, 3)),
    ("iij->ji", (3, 3, 2)), ("iii->i", (3, 3, 3)), ("ij->", (2, 3)), ("ij->ji", (2, 3)), ("ij", (2, 3)), ("ba", (2, 3)),
    ("i,j->ij", (2,), (3,)), ("i,i", (3,), (3,)), ("i,i->i", (3,), (3,)), (",ij", (), (2, 3)), ("", ()),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bjk->ik", (2, 3, 4), (2, 4, 5)), ("bAc,aBc->aBbA", (2, 3, 4), (5, 2, 4)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("...ij,...jk", (2, 3, 4), (4, 2)), ("...,...", (2, 3), (3,)),
    ("i...->...", (2, 3, 4)), ("i...,j...->ij...", (2, 3), (4, 3)), ("...i->...", (3,)), ("...->...", (2, 3)),
    ("...ii->...i", (2, 3, 3)),
    ("ij->...i", (2, 3)), ("ij,ij->j", (1, 3), (2, 3)), ("ij,ij", (1, 3), (2, 1)), ("ij,jk->ik", (2, 1), (3, 2)),
    ("i j , j k -> i k", (2, 3), (3, 4)), ("ijk,ijl,ijm->klm", (2, 3, 4), (2, 3, 5), (2, 3, 6)),
    ("ab,bc,cd,de->ae", (2, 9), (9, 3), (3, 8), (8, 2)), ("a,b,c->abc", (2,), (3,), (4,)), ("ij,kj,lj->ikl", (2, 3), (2, 3),
    (2, 3)),
    ("ij,jk,ki->", (2, 3), (3, 4), (4, 2)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("ij,jk", (2, 0), (0, 3)),
    ("ij,jk->ik", (0, 2), (2, 3)), ("zYx,Yx", (2, 3, 4), (3, 4)),
]


def arrays(shapes: Any, dtype: str = "f8") -> list[np.ndarray]:
    found = [RANDOM.standard_normal(shape) for shape in shapes]
    return [(a + 1j * RANDOM.standard_normal(a.shape) if dtype == "c16" else a).astype(dtype) for a in found]


def compare(call: Any, given: list[np.ndarray], device: str, rtol: float = 1e-12) -> None:
    torch = pytest.importorskip("torch")
    ours = call(lucid, *[lucid.tensor(a, device=device) for a in given])
    theirs = call(torch, *[torch.tensor(a) for a in given]).resolve_conj().numpy()
    assert (ours.dtype, tuple(ours.shape), ours.device) == (theirs.dtype, theirs.shape, device)
    np.testing.assert_allclose(ours.cpu().numpy(), theirs, rtol=rtol, atol=rtol)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("case", EQUATIONS, ids=lambda c: c[0])
def test_values(case: tuple[Any, ...], dtype: str, device: str) -> None:
    compare(lambda lib, *t: lib.einsum(case[0], *t), arrays(case[1:], dtype), device)


@pytest.mark.parametrize("case", [c for c in EQUATIONS if 0 not in sum(c[1:], ())], ids=lambda c: c[0])
def test_derivatives(case: tuple[Any, ...]) -> None:
    check_derivatives(lambda *t: lucid.einsum(case[0], *t), "cpu", *arrays(case[1:]))


@pytest.mark.parametrize("equation", ["bij,bjk->ik", "ii->i", "ij,ij->j", "ij,kj,lj->ikl"])
def test_derivatives_of_complex_numbers_on_both_devices(equation: str, device: str) -> None:
    shapes = next(case[1:] for case in EQUATIONS if case[0] == equation)
    check_derivatives(lambda *t: lucid.einsum(equation, *t), device, *arrays(shapes, "c16"))


def test_lists_of_subscripts_and_of_operands(device: str) -> None:
    given = arrays([(2, 3), (3, 4)])
    compare(lambda lib, a, b: lib.einsum(a, [0, 1], b, [1, 2], [2, 0]), given, device)
    compare(lambda lib, a, b: lib.einsum(a, [0, 1], b, [1, 2]), given, device)
    compare(lambda lib, a, b: lib.einsum(a, [Ellipsis, 51], b, [51, 2], [Ellipsis, 2]), given, device)
    compare(lambda lib, a, b: lib.einsum("ij,jk", [a, b]), given, device)


def test_dtypes(device: str) -> None:
    integers = [np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)]
    compare(lambda lib, a, b: lib.einsum("ij,jk", a, b), integers, device)
    compare(lambda lib, a, b: lib.einsum("ij->i", a), [a.astype("i4") for a in integers], device)
    compare(lambda lib, a, b: lib.einsum("ij,jk", a, b), [a.astype("f4") for a in integers], device)
    compare(lambda lib, a, b: lib.einsum("ij,jk", a, b), [a.astype("f2") for a in integers], device)


def test_operands_that_are_not_contiguous(device: str) -> None:
    compare(lambda lib, a, b: lib.einsum("ij,jk,lk->il", a.mT, b.mT, a), arrays([(3, 2),
    (4, 3)])[:1] + arrays([(2, 3)]), device)


def test_the_order_of_products_keeps_results_small() -> None:
    """From left to right this takes 10^8 elements in between."""
    a, b, c = (lucid.rand(10000), lucid.rand(10000), lucid.rand(10000))
    np.testing.assert_allclose(lucid.einsum("i,j,j->i", a, b, c).numpy(), (a * (b @ c)).numpy(), rtol=1e-4)


ERRORS = [("ij,jk->ik", (2, 3), (2, 3)), ("ij->ik", (2, 3)), ("ij,jk->ik", (2, 3)), ("i->i", (2, 3)),
          ("ijk->i", (2, 3)), ("i1->i", (2, 3)),
          ("ij->ii", (2, 3)), ("ii->i", (2, 3)), ("i.j->i", (2, 3)), ("ij-i", (2, 3)), ("ij", (2, 3), (2,)),
    ("......->", (2, 3)),
          ("ij->i->j", (2, 3)), ("ijk...->", (2, 3)), ("...ij,...jk", (2, 2, 3), (3, 3, 3)), ("ij->i.", (2, 3))]


@pytest.mark.torch
@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c[0])
def test_errors(case: tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch")
    given = arrays(case[1:])
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        torch.einsum(case[0], *map(torch.tensor, given))
    with pytest.raises(theirs.type, match=r"einsum\(\)"):
        lucid.einsum(case[0], *map(lucid.tensor, given))


def test_errors_of_arguments() -> None:
    with pytest.raises(ValueError, match="at least one operand"):
        lucid.einsum("ij")
    with pytest.raises(ValueError, match="valid range"):
        lucid.einsum(lucid.ones(2), [52])
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        lucid.einsum("i,i", lucid.ones(2), lucid.ones(2, dtype=lucid.float64))
