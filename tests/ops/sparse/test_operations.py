"""Operations of sparse tensors against those of dense ones, with their gradients of first and second order."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
A = np.where(RNG.random((5, 6)) < 0.4, RNG.uniform(0.2, 0.9, (5, 6)), 0)
B = np.where(RNG.random((5, 6)) < 0.5, RNG.uniform(0.2, 0.9, (5, 6)), 0)
D = RNG.normal(size=(5, 6))
LAYOUTS = ("coo", "csr", "csc")


def sparse(array, layout="coo", device="cpu"):
    x = lucid.tensor(array, device=device)
    return x.to_sparse() if layout == "coo" else getattr(x, f"to_sparse_{layout}")()


def same(found, expected, layout=None):
    assert layout is None or found.layout.name == f"sparse_{layout}"
    found = found.to_dense() if found.layout is not lucid.strided else found
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_and_products_by_element(layout, device):
    a, b, d = sparse(A, layout, device), sparse(B, layout, device), lucid.tensor(D, device=device)
    same(a + b, A + B, layout), same(a - b, A - B, layout), same(a.add(b, alpha=3), A + 3 * B, layout), same(-a, -A, layout)
    same(a * b, A * B, layout), same(a * d, A * D, layout), same(d * a, A * D, layout), same(a * 2, A * 2, layout)
    same(2 * a, A * 2, layout), same(a / 2, A / 2, layout), same(a * lucid.tensor(2.0).to(device), A * 2, layout)
    same(d + a, D + A), same(d - a, D - A), same(lucid.add(d, a, alpha=-2), D - 2 * A)
    same(a * d[:1], A * D[:1], layout), same(a ** 2, A ** 2, layout)
    if layout != "coo":
        same(a + d, A + D)


@pytest.mark.parametrize("name", """abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan log1p neg rad2deg
relu round sgn sign sin sinh sqrt square tan tanh trunc signbit positive nan_to_num""".split())
def test_functions_that_keep_zeros(name):
    function = getattr(lucid, name)
    for layout in ("coo", "csr"):
        same(function(sparse(A, layout)), function(lucid.tensor(A)).numpy(), layout)
        same(getattr(sparse(A, layout), name)(), function(lucid.tensor(A)).numpy(), layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_matrices(layout, device):
    a, b, d = sparse(A, layout, device), sparse(B, layout, device), lucid.tensor(D, device=device)
    for product in (lucid.mm, lucid.matmul, lucid.sparse.mm, lambda x, y: x @ y):
        same(product(a, d.t()), A @ D.T), same(product(d.t(), a), D.T @ A)
        same(product(a, b.t().to_sparse(layout=a.layout)), A @ B.T, layout)
    same(a @ d[0], A @ D[0]), same(lucid.mv(a, d[0]), A @ D[0]), same(d[:, 0] @ a, D[:, 0] @ A)
    start = lucid.ones(5, 5, dtype=lucid.float64, device=device)
    same(lucid.sparse.addmm(start, a, d.t(), beta=2, alpha=3), 2 + 3 * (A @ D.T)), same(lucid.addmm(start, a, d.t()), 1 + A @ D.T)
    same(lucid.nn.functional.linear(d, a, lucid.ones(5, dtype=lucid.float64, device=device)), D @ A.T + 1)
    if layout == "csr":
        found = lucid.sparse.sampled_addmm(a, start, start @ d, beta=2, alpha=3)
        same(found, np.where(A != 0, 2 * A + 3 * (np.ones((5, 5)) @ (np.ones((5, 5)) @ D)), 0), "csr")


def test_shapes_and_selecting(device):
    a, b = sparse(A, device=device), sparse(B, device=device)
    same(a.t(), A.T), same(a.transpose(0, 1), A.T), same(a.T, A.T), same(a.permute(1, 0), A.T), same(a.mT, A.T)
    same(sparse(A, "csr", device).t(), A.T, "csc"), same(sparse(A, "csc", device).t(), A.T, "csr")
    same(lucid.cat([a, b]), np.concatenate([A, B])), same(lucid.cat([a, b, a], 1), np.concatenate([A, B, A], 1))
    same(lucid.stack([a, b], 1), np.stack([A, B], 1)), same(a.unsqueeze(2), A[..., None])
    same(a[3], A[3]), same(a[:, -2], A[:, -2]), same(a[3, 2], A[3, 2]), same(a[1:4, ::2], A[1:4, ::2]), same(a[None, ..., 0], A[None, :, 0])
    same(a.select(1, 2), A[:, 2]), same(a.narrow(1, 2, 3), A[:, 2:5])
    for dim, index in ((0, [4, 0, 0]), (1, [5, 1, 5, 2])):
        same(a.index_select(dim, lucid.tensor(index, device=device)), A.take(index, dim))
    with pytest.raises(IndexError, match="out of bounds for dimension 0"):
        a[5]


def test_reductions(device):
    a = sparse(A, device=device)
    same(lucid.sparse.sum(a), A.sum()), same(lucid.sparse.sum(a, 0), A.sum(0)), same(lucid.sparse.sum(a, [0, 1]), A.sum())
    same(a.sum(1), A.sum(1)), same(a.norm(), np.linalg.norm(A)), same(a.sum(), A.sum()), same(sparse(A, "csr", device).sum(), A.sum())
    assert lucid.sparse.sum(a, 0, dtype=lucid.float32).dtype == lucid.float32 and bool(a.any())
    shifted = np.where(A != 0, A, -np.inf)
    for dim in (0, 1):
        with np.errstate(invalid="ignore"):
            powers = np.exp(shifted - np.nan_to_num(shifted.max(dim, keepdims=True), neginf=0))
            expected = np.nan_to_num(powers / powers.sum(dim, keepdims=True))
        same(lucid.sparse.softmax(a, dim), expected)
        same(lucid.sparse.log_softmax(a, dim), np.where(A != 0, np.log(np.where(A != 0, expected, 1)), 0))


def test_sparse_mask_and_diagonals(device):
    a, d = sparse(A, device=device), lucid.tensor(D, device=device)
    same(d.sparse_mask(a), np.where(A != 0, D, 0)), same(sparse(B, device=device).sparse_mask(a), np.where(A != 0, B, 0))
    same(d.sparse_mask(sparse(A, "csr", device)), np.where(A != 0, D, 0), "csr")
    rows = np.arange(1.0, 13).reshape(3, 4)
    found = lucid.sparse.spdiags(lucid.tensor(rows), lucid.tensor([-1, 0, 2]), (4, 4))
    expected = sum(np.diag(rows[i, max(k, 0):4 + min(k, 0)], k) for i, k in enumerate((-1, 0, 2)))
    same(found, expected, "coo"), same(lucid.sparse.spdiags(lucid.tensor(rows[0]), lucid.tensor(1), (2, 9), lucid.sparse_csr),
                                       np.pad(np.diag(rows[0, 1:3], 1)[:2], ((0, 0), (0, 6))), "csr")
    with pytest.raises(RuntimeError, match="duplicate"):
        lucid.sparse.spdiags(lucid.tensor(rows[:2]), lucid.tensor([1, 1]), (4, 4))


P = np.argwhere(A != 0).T
CASES = {
    "mm": lambda s, d: lucid.sparse.mm(s, d.t()), "matmul": lambda s, d: s @ d.t(), "right": lambda s, d: d.t() @ s,
    "addmm": lambda s, d: lucid.sparse.addmm(d[:, :5], s, d.t(), beta=2, alpha=3), "mv": lambda s, d: s @ d[0],
    "times dense": lambda s, d: (s * d).to_dense(), "broadcast": lambda s, d: (s * d[:, :1]).to_dense(),
    "onto dense": lambda s, d: (d + s * 2) ** 2, "sparse": lambda s, d: (s * s + s.sin() - s / 3).to_dense(),
    "both sparse": lambda s, d: (s @ (s * d).t()).to_dense(), "sum": lambda s, d: lucid.sparse.sum(s * d, 1).to_dense(),
    "softmax": lambda s, d: lucid.sparse.softmax(s * d, 1).to_dense(), "mask": lambda s, d: (d * d).sparse_mask(s).to_dense(),
    "log_softmax": lambda s, d: lucid.sparse.log_softmax(s * d, 0).to_dense(), "scale": lambda s, d: (s * d[0, 0]).to_dense(),
    "shapes": lambda s, d: lucid.cat([s, s * d], 1).t()[2:].to_dense(), "csr": lambda s, d: s.to_sparse_csr().t() @ d,
    "csc": lambda s, d: (s.to_sparse_csc() * d).to_dense(), "select": lambda s, d: s[1].to_dense() * d[0] + s.select(0, 2).to_dense(),
    "sampled": lambda s, d: lucid.sparse.sampled_addmm(s.to_sparse_csr(), d[:, :2], d[:2]).to_dense(),
    "to_sparse": lambda s, d: (d * d).to_sparse() @ d.t(), "total": lambda s, d: (s * s).sum() * d,
    "unsqueeze": lambda s, d: lucid.stack([s, s * d], 0)[1].to_dense(),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_two_orders(name):
    values, d = lucid.tensor(A[tuple(P)], requires_grad=True), lucid.tensor(D, requires_grad=True)

    def function(values, d):
        return CASES[name](lucid.sparse_coo_tensor(P, values, A.shape), d)

    assert gradcheck(function, (values, d), fast_mode=True) and gradgradcheck(function, (values, d), fast_mode=True)


def test_gradients_on_a_gpu_are_those_of_the_cpu(device):
    found = []
    for place in ("cpu", device):
        s, d = sparse(A, device=place).requires_grad_(), lucid.tensor(D, device=place, requires_grad=True)
        (lucid.sparse.mm(s, d.t()).sin().sum() + lucid.sparse.softmax(s * d, 1).to_dense().square().sum()).backward()
        assert s.grad.layout is lucid.sparse_coo and s.grad.device == place
        found.append((s.grad.to_dense().cpu().numpy(), d.grad.to_dense().cpu().numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-10), np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-10)
