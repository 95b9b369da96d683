"""Gradients of factorizations as one operation: those that the rules compose, for all sizes, dtypes, devices and missing parts."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid

linalg: Any = lucid.linalg


def _tensor(shape: tuple[int, ...], dtype: Any, device: str, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.kind == "c" else 0)
    return lucid.tensor(x.astype(dtype), device=device)


def _same(function: Any, arguments: list[Any], parts: Any = None) -> None:
    """The gradients of some of the results for random upstream gradients, recorded and not."""
    arguments = [x.detach().requires_grad_() for x in arguments]
    results = function(*arguments)
    results = list(results) if isinstance(results, tuple) else [results]
    results = results if parts is None else [results[part] for part in parts]
    upstream = [_tensor(y.shape, y.dtype, y.device, seed=5) for y in results]
    recorded, alone = (lucid.autograd.grad(results, arguments, upstream, retain_graph=True, create_graph=create)
                       for create in (True, False))
    for one, other in zip(recorded, alone, strict=True):
        assert other.dtype == one.dtype and other.shape == one.shape and not other.requires_grad
        expected = one.detach().cpu().numpy()
        np.testing.assert_allclose(other.cpu().numpy(), expected, atol=1e-9 * np.abs(expected).max(initial=0))


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5, 5), (40, 40), (0, 3, 3), (2, 0, 0)])
@pytest.mark.parametrize("dtype", [lucid.float64, lucid.complex128])
def test_same_gradients(shape: tuple[int, ...], dtype: Any, device: str) -> None:
    one = lucid.eye(shape[-1], dtype=dtype, device=device)
    a = _tensor(shape, dtype, device) + 3 * one
    definite = a @ a.mH + one
    for function in (linalg.det, linalg.inv):
        _same(function, [a])
    for part in ([0], [1], [0, 1]):
        _same(linalg.slogdet, [a], part)
        _same(linalg.qr, [a], part)
        _same(linalg.eigh, [definite], part)
    _same(linalg.cholesky, [definite])
    for columns in (0, 1, 3):
        _same(linalg.solve, [a, _tensor((*shape[:-1], columns), dtype, device, seed=2)])
    _same(lambda b: linalg.solve(a, b), [_tensor((*shape[:-1], 2), dtype, device, seed=2)])


@pytest.mark.parametrize("shape", [(5, 3), (40, 12), (3, 5), (2, 50, 2)])
def test_qr_of_matrices_that_are_not_square(shape: tuple[int, ...], device: str) -> None:
    for parts in ([0], [1], [0, 1]):
        _same(linalg.qr, [_tensor(shape, lucid.float64, device)], parts)


@pytest.mark.parametrize("rows", [4, 34])
def test_singular_determinants(rows: int, device: str) -> None:
    for rank in (rows - 1, rows - 2):
        a = _tensor((rows, rank), lucid.float64, device) @ _tensor((rank, rows), lucid.float64, device, seed=1)
        _same(linalg.det, [lucid.stack([a / rows, lucid.eye(rows, dtype=lucid.float64, device=device)])])


def test_layouts_and_expanded_gradients(device: str) -> None:
    a = (_tensor((3, 4, 4), lucid.float64, device) + 3 * lucid.eye(4, dtype=lucid.float64, device=device)).requires_grad_()
    for function in (linalg.det, linalg.inv, lambda a: linalg.qr(a)[1], lambda a: linalg.cholesky(a @ a.mT)):
        results = [lucid.autograd.grad(function(x).sum(), a)[0] for x in (a, a.mT.contiguous().mT, a[:, :, ::1].mT.mT)]
        assert all(lucid.allclose(result, results[0]) for result in results)


def test_float32_stays_float32(device: str) -> None:
    for rows in (3, 40):
        a = (lucid.eye(rows, device=device) * 2).requires_grad_()
        for function in (linalg.det, linalg.inv, linalg.cholesky, lambda a: linalg.qr(a)[1], lambda a: linalg.eigh(a)[0]):
            assert lucid.autograd.grad(function(a).sum(), a)[0].dtype == lucid.float32
