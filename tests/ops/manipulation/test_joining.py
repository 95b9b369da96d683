"""Stacks, splits, grids and complex parts against PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree

V, W = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])
X = np.random.default_rng(0).normal(size=(4, 5))
CUBE = X.reshape(2, 2, 5)


@pytest.mark.parametrize("name", ["dstack", "column_stack", "row_stack", "hstack", "vstack"])
def test_stacks(name, device):
    for a, b in ((V, W), (V, V), (X, X), (X, X[:, :2]), (CUBE, CUBE), (np.array(1.0), np.array(2.0)), (X > 0, X)):
        agree(lambda lib, a, b: getattr(lib, name)([a, b]), a, b, device=device)
    agree(lambda lib: getattr(lib, name)([]), device=device)


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_least_dimensions(name, device):
    for a in (np.array(1.0), V, X, CUBE):
        agree(lambda lib, a: (getattr(lib, name)(a), getattr(lib, name)(a, a * 2), getattr(lib, name)((a, a))), a, device=device)


@pytest.mark.torch
@pytest.mark.parametrize("sections", [2, 0, 5, (1, 3)])
@pytest.mark.parametrize("name", ["hsplit", "vsplit", "dsplit"])
def test_splits(name, sections, device):
    for a in (np.array(1.0), np.arange(6.0), np.arange(24.0).reshape(4, 6), np.arange(48.0).reshape(2, 4, 6)):
        agree(lambda lib, a: getattr(lib, name)(a, sections), a, device=device)


def test_rotations_and_blocks(device):
    for k in range(-2, 6):
        agree(lambda lib, x: lib.rot90(x, k, (0, -1)), X, device=device)  # noqa: B023
    for dims in ((0, 0), (0, 3), (0,), (0, -2)):
        agree(lambda lib, x: lib.rot90(x, 1, dims), X, device=device)  # noqa: B023
    agree(lambda lib, a, b: lib.block_diag(a, b, b[0], a.to(lib.float32)), X, W, device=device)
    agree(lambda lib, a: lib.block_diag(a), CUBE, device=device)


@pytest.mark.parametrize("indexing", ["ij", "xy", "other"])
def test_meshgrid(indexing, device):
    agree(lambda lib, a, b: lib.meshgrid(a, b, a, indexing=indexing), V, W, device=device)
    agree(lambda lib, a, b: lib.meshgrid([a, b[:0], b[0]], indexing=indexing), V, W, device=device)
    agree(lambda lib, a: lib.meshgrid(a, indexing=indexing), V, device=device)
    agree(lambda lib, a: lib.meshgrid(a.reshape(1, 3), indexing=indexing), V, device=device)
    agree(lambda lib, a: lib.meshgrid(a, a.float(), indexing=indexing), V, device=device)


def test_products_and_combinations(device):
    agree(lambda lib, a, b: lib.cartesian_prod(a, b, a), V, W, device=device)
    agree(lambda lib, a: (lib.cartesian_prod(a), lib.cartesian_prod(a, a[:0])), V, device=device)
    for r in range(-1, 5):
        for replaced in (False, True):
            agree(lambda lib, a: lib.combinations(a, r, replaced), V, device=device)  # noqa: B023


def test_triangles_and_logspace():
    for rows, columns, offset in ((3, 4, -1), (2, 3, 1), (0, 0, 0), (-1, 2, 0)):
        agree(lambda lib: (lib.tril_indices(rows, columns, offset), lib.triu_indices(rows, columns, offset)))  # noqa: B023
    agree(lambda lib: lib.triu_indices(3, 4, dtype=lib.int32))
    agree(lambda lib: (lib.logspace(0, 2, 5), lib.logspace(0, 3, 4, 2, dtype=lib.int64)), rtol=1e-6)
    agree(lambda lib: lib.logspace(0, 2, -1))


def test_complex_parts(device):
    agree(lambda lib, a, b: lib.view_as_real(lib.complex(a, b)), V, V[::-1].copy(), device=device)
    agree(lambda lib, a, b: lib.view_as_real(lib.polar(a, b)), V, V[::-1].copy(), device=device)
    agree(lambda lib, a: lib.view_as_real(lib.view_as_complex(a) * (1 + 2j)), X[:, :2].copy(), device=device)
    agree(lambda lib, a, b: lib.complex(a, b[0] * float("inf")), V, W, device=device, grad=False)
    agree(lambda lib, a, b: lib.complex(a, b.float()), V, V, device=device)
    agree(lambda lib, a: lib.complex(a.long(), a.long()), V, device=device)
    agree(lambda lib, a: lib.view_as_complex(a), X, device=device)
    agree(lambda lib, a: lib.view_as_complex(a.t()), np.zeros((2, 3)), device=device)
    agree(lambda lib, a: lib.view_as_real(a), X, device=device)


@pytest.mark.parametrize("name", ["cat", "stack", "hstack", "vstack", "dstack", "column_stack", "broadcast_tensors", "atleast_1d",
                                  "atleast_2d", "atleast_3d"])
def test_what_is_no_tensor_is_refused_by_its_place(name):
    function, x = getattr(lucid, name), lucid.ones(2)
    for other, kind in ((np.ones(2), "numpy.ndarray"), ([1.0, 2.0], "list"), (1.0, "float"), (None, "NoneType")):
        with pytest.raises(TypeError, match=f"expected Tensor as element 1 in argument 0, but got {kind}"):
            function([x, other])
    if "stack" in name or name == "cat":
        for single in (x, 5, None):
            with pytest.raises(TypeError, match=r"argument 'tensors' \(position 1\) must be tuple of Tensors, not"):
                function(single)
