"""Distances at ties and NaN, and what NaN does to `renorm`, as in PyTorch."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid

NAN, INF = math.nan, math.inf


def gradients(function, device, *rows):
    tensors = [lucid.tensor(row, device=device, requires_grad=True) for row in rows]
    y = function(*tensors)
    return [y.detach().cpu().numpy(), *(g.cpu().numpy() for g in lucid.autograd.grad(y.sum(), tensors))]


@pytest.mark.parametrize(("function", "rows", "expected"), [
    (lambda x, y: lucid.cdist(x, y, INF), ([[1.0, 2, 3]], [[0.0, 1, 4], [1, 2, 3]]),
     ([[1, 0]], [[1, 1, -1]], [[-1, -1, 1], [0, 0, 0]])),
    (lambda x: lucid.pdist(x, INF), ([[1.0, 2, 3], [0, 1, 4], [0, 1, 4]],), ([1, 1, 0], [[2, 2, -2], [-1, -1, 1], [-1, -1, 1]])),
])
def test_each_of_several_largest_differences_gets_the_whole_gradient(function, rows, expected, device):
    for found, wanted in zip(gradients(function, device, *rows), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("function", "rows", "expected"), [
    (lambda x, y: lucid.cdist(x, y, INF), ([[1.0, NAN, 3]], [[0.0, 1, 5], [NAN, 1, 2]]),
     ([[2, 1]], [[NAN, NAN, 0]], [[0, NAN, 1], [NAN, NAN, -1]])),
    (lambda x, y: lucid.cdist(x, y, INF), ([[1.0, 2, INF]], [[0.0, 0, 0]]), ([[INF]], [[0, 0, NAN]], [[0, 0, NAN]])),
    (lambda x: lucid.pdist(x, INF), ([[1.0, NAN, 3], [0, 1, 4], [0, 1, 6]],),
     ([NAN, NAN, 2], [[NAN] * 3, [NAN] * 3, [NAN] * 3])),
    (lambda x, y: lucid.cdist(x, y, 0), ([[1.0, NAN, 3]], [[0.0, 1, 3], [1, 1, 2]]), ([[NAN, NAN]], [[0] * 3], [[0] * 3] * 2)),
    (lambda x: lucid.pdist(x, 0), ([[1.0, NAN, 3], [0, 1, 4], [0, 1, 6]],), ([NAN, NAN, 1], [[0] * 3] * 3)),
])
def test_distances_of_nan(function, rows, expected, device):
    for found, wanted in zip(gradients(function, device, *rows), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, INF])
def test_renorm_passes_the_gradient_of_slices_with_nan(p, device):
    y, slope = gradients(lambda x: lucid.renorm(x, p, 0, 2.0), device, [[1.0, NAN, 3], [4, 0, 0], [NAN, INF, 1]])
    np.testing.assert_allclose(y, [[1, NAN, 3], [2, 0, 0], [NAN, INF, 1]], rtol=1e-6)
    np.testing.assert_array_equal(slope[[0, 2]], 1)
    assert np.isfinite(slope).all()
    assert slope[1, 0] == pytest.approx(0, abs=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, INF])
def test_nan_and_ties_as_pytorch(p, device):
    torch = pytest.importorskip("torch")
    x, y = [[1.0, NAN, 3, 4], [1, 2, 3, 4], [0, 1, 2, 5], [INF, 0, 0, 0]], [[0.0, 1, 2, 3], [NAN, 1, 2, 3], [1, 2, 3, 4]]
    for name, rows in (("cdist", (x, y)), ("pdist", (x,)), ("renorm", (x,))):
        if name == "renorm" and p == 0:
            continue
        results = []
        for lib, where in ((lucid, device), (torch, "cpu")):
            tensors = [lib.tensor(row, device=where, dtype=lib.float64, requires_grad=True) for row in rows]
            out = lib.renorm(tensors[0], p, 0, 3.0) if name == "renorm" else getattr(lib, name)(*tensors, p)
            found = lib.autograd.grad(out.sum(), tensors)
            results.append([t.detach().cpu().numpy() for t in (out, *found)])
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=f"{name} {p}")
