"""Distances of all pairs and their gradients against differences in float64, and through the library against its own formula."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.linalg import cdist as kernels

import lucid as _lucid

lucid: Any = _lucid  # its names are re-exports


def expected(x, y, p):
    x, y = x.astype(np.float64), y.astype(np.float64)
    size = x[:, :, None] - y[:, None]
    return (np.abs(size) ** p).sum(-1) ** (1 / p), size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(("batch", "rows", "others", "length"),
                         [(1, 7, 5, 11), (3, 1, 30, 8), (2, 40, 3, 1), (1, 90, 90, 67), (0, 3, 3, 3)])
def test_distances_and_gradient(dtype, p, batch, rows, others, length):
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((batch, n, length)).astype(dtype) for n in (rows, others))
    x[..., :1, :] = y[..., :1, :]  # a distance of zero
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    distances, size = expected(x, y, p)
    found = kernels.distances(x, y, p=p)
    assert found.dtype == dtype and found.shape == (batch, rows * others)
    np.testing.assert_allclose(found, distances.reshape(found.shape), rtol=tolerance)
    g = rng.standard_normal(found.shape).astype(dtype)
    slope = g.reshape(distances.shape)[..., None] * 1.0
    if p == 2:
        slope = np.where(distances[..., None] == 0, 0, slope / np.where(distances == 0, 1, distances)[..., None])
    exact = (slope * (np.sign(size) if p == 1 else size)).sum(2)
    np.testing.assert_allclose(kernels.distances_grad(g, found, x, y, p=p), exact, atol=50 * tolerance)

    first, second = np.triu_indices(rows, 1)
    packed = kernels.distances(x, None, p=p)
    np.testing.assert_allclose(packed, expected(x, x, p)[0][:, first, second], rtol=tolerance)
    g = rng.standard_normal(packed.shape).astype(dtype)
    full, both = np.zeros((batch, rows, rows), dtype), np.zeros((batch, rows, rows), dtype)
    full[:, first, second] = full[:, second, first] = g
    both[:, first, second] = both[:, second, first] = packed
    pulled = kernels.distances_grad(full.reshape(batch, rows * rows), both.reshape(batch, rows * rows), x, x, p=p)
    np.testing.assert_allclose(kernels.distances_grad(g, packed, x, None, p=p), pulled, atol=50 * tolerance)


def test_nan_and_infinity():
    x = np.array([[[0.0, np.nan], [1, 2], [np.inf, 0]]], np.float32)
    for p in (1, 2):
        np.testing.assert_array_equal(kernels.distances(x, None, p=p), np.array([[np.nan, np.nan, np.inf]], np.float32))


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("name", ["pdist", "cdist"])
@pytest.mark.parametrize(("rows", "length"), [(4, 3), (24, 40)])
def test_through_the_library(name, p, rows, length):
    """Small arrays, which NumPy serves, large ones, and second gradients."""
    values = np.random.default_rng(1).standard_normal((rows, length))
    g = lucid.tensor(np.random.default_rng(2).standard_normal(rows * (rows - 1) // 2 if name == "pdist" else (rows, rows)))
    first, second = np.triu_indices(rows, 1)

    def plain(x):
        size = x[first] - x[second] if name == "pdist" else (x * 2 - 1).unsqueeze(1) - x.unsqueeze(0)
        return size.norm(p, -1)

    def ours(x):
        return lucid.nn.functional.pdist(x, p) if name == "pdist" else lucid.cdist(x * 2 - 1, x, p)

    results = []
    for function in (ours, plain):
        x = lucid.tensor(values, requires_grad=True)
        y = function(x)
        (alone,) = lucid.autograd.grad((y * g).sum(), x, retain_graph=True)
        (once,) = lucid.autograd.grad((y * g).sum(), x, create_graph=True)
        (twice,) = lucid.autograd.grad((once * once).sum(), x)
        results.append([part.detach().numpy() for part in (y, alone, once, twice)])
    for found, exact in zip(*results, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-11)


def test_an_infinite_vector_is_not_compared_with_itself():
    """Infinity less infinity is NaN; of the pairs of different vectors none has it."""
    x = np.arange(24.0).reshape(1, 6, 4)
    x[0, 2, 1] = np.inf
    found = kernels.distances(x, None, p=1)
    slope = kernels.distances_grad(np.ones_like(found), found, x, None, p=1)[0]
    assert slope[:, 0].tolist() == [-5, -3, -1, 1, 3, 5] and slope[:, 1].tolist() == [-5, -3, 5, -1, 1, 3]
