"""Gradients of factorizations against differences of NumPy's results; determinants at every rank; float32 against float64."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.linalg import small_gradients

SHAPES = [(1, 1), (4, 4), (2, 3, 5, 5), (40, 3, 3), (20, 20)]
Function = Callable[..., Any]


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def regular(shape: tuple[int, ...]) -> Any:
    return normal(*shape) + 3 * np.eye(*shape[-2:])


def definite(shape: tuple[int, ...]) -> Any:
    a = normal(*shape)
    return a @ a.swapaxes(-1, -2) / shape[-1] + np.diag(np.arange(1.0, shape[-1] + 1))


def check(function: Function, arguments: list[Any], upstream: list[Any], gradients: list[Any], symmetric: bool = False) -> None:
    """The derivative in some direction by central differences."""
    directions = [normal(*x.shape, seed=7 + place) for place, x in enumerate(arguments)]
    if symmetric:
        directions = [d + d.swapaxes(-1, -2) for d in directions]
    step = 1e-6
    ends = [function(*[x + sign * step * d for x, d in zip(arguments, directions, strict=True)]) for sign in (1, -1)]
    change = sum(((after - before) / (2 * step) * g).sum() for after, before, g in zip(*ends, upstream, strict=True))
    found = sum((gradient * d).sum() for gradient, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(found, change, rtol=2e-6, atol=1e-7 * max(np.abs(g).max() for g in gradients))


@pytest.mark.parametrize("shape", SHAPES)
def test_determinants(shape: tuple[int, ...]) -> None:
    a, g = regular(shape), normal(*shape[:-2])
    check(lambda a: [np.linalg.det(a)], [a], [g], [small_gradients.det_grad(a, g)])
    check(lambda a: [np.linalg.slogdet(a)[1]], [a], [g], [small_gradients.slogdet_grad(a, g)])


def test_cofactors_at_every_rank() -> None:
    def cofactors(a: Any) -> Any:
        y = np.empty_like(a)
        for i, j in np.ndindex(a.shape):
            y[i, j] = (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
        return y

    a = np.stack([normal(5, rank, seed=rank) @ normal(rank, 5, seed=9) for rank in range(6)])
    g = normal(6)
    expected = g[:, None, None] * np.stack([cofactors(x) for x in a])
    np.testing.assert_allclose(small_gradients.det_grad(a, g), expected, atol=1e-12)
    found = small_gradients.det_grad(a.astype(np.float32), g.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("columns", [1, 3])
def test_systems_and_inverses(shape: tuple[int, ...], columns: int) -> None:
    a, b, g = regular(shape), normal(*shape[:-1], columns, seed=1), normal(*shape[:-1], columns, seed=2)
    gradients = small_gradients.solve_grad(a, np.linalg.solve(a, b), g)
    check(lambda a, b: [np.linalg.solve(a, b)], [a, b], [g], list(gradients))
    upstream = normal(*shape, seed=3)
    check(lambda a: [np.linalg.inv(a)], [a], [upstream], [small_gradients.inv_grad(np.linalg.inv(a), upstream)])


@pytest.mark.parametrize("shape", SHAPES)
def test_symmetric_matrices(shape: tuple[int, ...]) -> None:
    a, g = definite(shape), normal(*shape, seed=1)
    gradient = small_gradients.cholesky_grad(np.linalg.cholesky(a), g)
    np.testing.assert_allclose(gradient, gradient.swapaxes(-1, -2), atol=1e-10)
    check(lambda a: [np.linalg.cholesky(a)], [a], [g], [gradient], symmetric=True)
    values, vectors = np.linalg.eigh(a)
    to_values, to_products = normal(*values.shape, seed=2), normal(*shape, seed=3)  # squares do not depend on the signs

    def function(a: Any) -> Any:
        values, vectors = np.linalg.eigh(a)
        return [values, vectors**2]

    gradient = small_gradients.eigh_grad(values, vectors, to_values, 2 * vectors * to_products)
    check(function, [a], [to_values, to_products], [gradient], symmetric=True)
    of_values = small_gradients.eigh_grad(values, vectors, to_values, None)
    check(lambda a: function(a)[:1], [a], [to_values], [of_values], symmetric=True)


def test_equal_eigenvalues() -> None:
    np.testing.assert_array_equal(small_gradients.eigh_grad(np.ones(2), np.eye(2), np.array([2.0, 3]), None), np.diag([2.0, 3]))


@pytest.mark.parametrize("shape", [*SHAPES, (7, 3), (4, 5, 2), (6, 1)])
def test_qr(shape: tuple[int, ...]) -> None:
    a = regular(shape)
    q, r = np.linalg.qr(a)
    to_q, to_r = normal(*q.shape, seed=1), normal(*r.shape, seed=2)
    check(np.linalg.qr, [a], [to_q, to_r], [small_gradients.qr_grad(q, r, to_q, to_r)])


def test_singular_systems_have_no_gradient() -> None:
    a = np.stack([np.eye(3), np.zeros((3, 3))])
    for found in (*small_gradients.solve_grad(a, a, a), small_gradients.slogdet_grad(a, np.ones(2))):
        assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()


def test_float32_and_strides() -> None:
    """As float64, and in any layout."""
    a, g = definite((6, 4, 4)), normal(6, 4, 4)
    values, vectors = np.linalg.eigh(a)
    (q, r), factor, inverse = np.linalg.qr(a), np.linalg.cholesky(a), np.linalg.inv(a)
    calls: list[tuple[Function, tuple[Any, ...]]] = [
        (small_gradients.det_grad, (a, g[:, 0, 0])), (small_gradients.slogdet_grad, (a, g[:, 0, 0])),
        (small_gradients.solve_grad, (a, g, g)), (small_gradients.inv_grad, (inverse, g)),
        (small_gradients.cholesky_grad, (factor, g)), (small_gradients.qr_grad, (q, r, g, g)),
        (small_gradients.eigh_grad, (values, vectors, values, g))]
    for function, arguments in calls:
        exact = function(*arguments)
        strided = [np.asfortranarray(x) for x in arguments]
        narrow = [x.astype(np.float32) for x in arguments]
        for given, tolerance in ((strided, 1e-12), (narrow, 2e-5)):
            kept = [x.copy() for x in given]
            found = function(*given)
            for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, exact)), strict=True):
                assert one.dtype == given[0].dtype
                np.testing.assert_allclose(one, other, atol=tolerance * np.abs(other).max())
            for x, before in zip(given, kept, strict=True):
                np.testing.assert_array_equal(x, before)
