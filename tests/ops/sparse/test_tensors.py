"""Sparse tensors: how they are made, printed, copied, saved, moved, and what is refused."""
from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck

INDICES = [[0, 1, 1], [2, 0, 2]]


def coo(device="cpu", dtype=None, **keywords):
    return lucid.sparse_coo_tensor(INDICES, [3.0, 4.0, 5.0], (2, 3), device=device, dtype=dtype, **keywords)


def dense(device="cpu", dtype=None):
    return lucid.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]], device=device, dtype=dtype)


def same(found, expected):
    found = found.to_dense() if found.layout is not lucid.strided else found
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().cpu().numpy(), rtol=1e-6, atol=1e-7)


def test_parts_and_layouts(device):
    x = coo(device)
    assert (x.layout, x.is_sparse, x.is_sparse_csr, x.is_coalesced()) == (lucid.sparse_coo, True, False, False)
    assert x.shape == (2, 3) and x._nnz() == 3 and (x.sparse_dim(), x.dense_dim()) == (2, 0) and x.device == device
    assert x.numel() == 6 and x.dtype == lucid.float32 and x.is_cuda == (device == "gpu")
    y = x.coalesce()
    assert y.coalesce() is y and y.indices().tolist() == INDICES and y.values().tolist() == [3, 4, 5]
    csr, csc = x.to_sparse_csr(), x.to_sparse_csc()
    assert csr.is_sparse_csr and not csr.is_sparse and csr.layout is lucid.sparse_csr and csc.layout is lucid.sparse_csc
    assert csr.crow_indices().tolist() == [0, 1, 3] and csr.col_indices().tolist() == [2, 0, 2]
    assert csc.ccol_indices().tolist() == [0, 1, 1, 3] and csc.row_indices().tolist() == [1, 0, 1]
    for t in (x, y, csr, csc, csr.to_sparse(), csc.to_sparse(), csc.to_sparse_csr(), csr.to_sparse_csc()):
        same(t, dense())
    assert dense().layout is lucid.strided and not dense().is_sparse and dense().to_dense() is not None


def test_values_of_a_place_add_up(device):
    x = lucid.sparse_coo_tensor([[1, 0, 1, 1], [0, 1, 0, 1]], [1.0, 2.0, 3.0, 4.0], (2, 2), device=device)
    assert x._nnz() == 4 and x.coalesce()._indices().tolist() == [[0, 1, 1], [1, 0, 1]]
    same(x, lucid.tensor([[0.0, 2.0], [4.0, 4.0]]))
    flags = lucid.sparse_coo_tensor([[1, 1]], [True, False], (2,), device=device).coalesce()
    assert flags.values().tolist() == [True]


def test_dense_dimensions(device):
    whole = lucid.arange(24.0, device=device).reshape(4, 3, 2) * (lucid.arange(4, device=device) % 2).reshape(4, 1, 1)
    x = whole.to_sparse(1)
    assert (x.sparse_dim(), x.dense_dim(), x._nnz()) == (1, 2, 2) and x.values().shape == (2, 3, 2)
    same(x, whole), same(x * 2, whole * 2), same(x + x, whole * 2), same(x.sin(), whole.sin()), same(x[1], whole[1])
    same(lucid.sparse.sum(x, 0), whole.sum(0)), same(lucid.sparse.sum(x, (1, 2)), whole.sum((1, 2)))


@pytest.mark.parametrize(("size", "kept"), [((0, 3), 0), ((2, 3), 0), ((1,), 1)])
def test_nothing_and_one(size, kept, device):
    x = lucid.zeros(size, device=device) + (1 if kept else 0)
    y = x.to_sparse()
    assert y._nnz() == kept and y.is_coalesced()
    same(y, x), same(y + y, x + x), same(y * y, x * x), same(lucid.sparse.sum(y), x.sum())
    if len(size) == 2:
        same(y @ lucid.ones(3, 4, device=device), lucid.zeros(size[0], 4)), same(y.to_sparse_csr(), x), same(y.t(), x.t())
    assert lucid.sparse_coo_tensor(size=size)._nnz() == 0


def test_printed():
    assert repr(coo().coalesce().requires_grad_()) == """\
Tensor(indices=Tensor([[0, 1, 1],
                       [2, 0, 2]]),
       values=Tensor([3.0, 4.0, 5.0]),
       size=(2, 3), nnz=3, layout=lucid.sparse_coo, requires_grad=True)"""
    assert repr(coo(dtype=lucid.float64).to_sparse_csr()) == """\
Tensor(crow_indices=Tensor([0, 1, 3]),
       col_indices=Tensor([2, 0, 2]),
       values=Tensor([3.0, 4.0, 5.0]),
       size=(2, 3), nnz=3, dtype=float64, layout=lucid.sparse_csr, requires_grad=False)"""


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_copies_pickles_and_files(layout, tmp_path, device):
    x = coo(device).to(lucid.float16)
    x = x if layout == "coo" else getattr(x, f"to_sparse_{layout}")()
    leaf = x.detach().clone().requires_grad_()
    for other in (copy.deepcopy(leaf), pickle.loads(pickle.dumps(leaf)), leaf.clone()):
        assert other.layout is x.layout and other.dtype == x.dtype and other.requires_grad and other.device == device
        assert other._values().data_ptr() != leaf._values().data_ptr()
        same(other, dense())
    file = io.BytesIO()
    lucid.save({"matrix": x, "others": [lucid.ones(2), x]}, file)
    file.seek(0)
    loaded = lucid.load(file)
    for found in (loaded["matrix"], loaded["others"][1]):
        assert found.layout is x.layout and (layout != "coo" or found.is_coalesced() == x.is_coalesced())
        same(found, dense())


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    x = coo().to_sparse_csr()
    x.col_indices()._array[0] = 9
    lucid.save(x, path)
    with pytest.raises(lucid.serialization.LoadError, match="col_indices"):
        lucid.load(path)


def test_devices_and_dtypes(device):
    x = coo().to(device).double()
    assert x.device == device and x.values is not None and x.dtype == lucid.float64
    same(x.cpu(), dense()), same(x.to_sparse_csr().float(), dense()), same(x.half(), dense())
    leaf = coo(requires_grad=True)
    leaf.to(device).to_dense().sum().backward()
    assert leaf.grad.device == "cpu" and leaf.grad.layout is lucid.sparse_coo
    same(leaf.grad, (dense() != 0).float())


def test_gradients_reach_the_values():
    values = lucid.tensor([1.0, 2.0, 3.0], dtype=lucid.float64, requires_grad=True)

    def made(v, layout="coo"):
        if layout == "coo":
            return lucid.sparse_coo_tensor(INDICES, v, (2, 3))
        return lucid.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3))

    for layout in ("coo", "csr"):
        for function in (lambda v: (made(v, layout).to_dense() ** 2).sum(0), lambda v: made(v, layout).sin().to_dense(),  # noqa: B023
                         lambda v: made(v, layout).coalesce().values() ** 2 if layout == "coo" else made(v, layout).values() ** 2,  # noqa: B023
                         lambda v: made(v, layout).to_sparse_csc().to_sparse().to_dense()):  # noqa: B023
            assert gradcheck(function, (values,)) and gradgradcheck(function, (values,))
    twice = lucid.sparse_coo_tensor([[0, 0], [1, 1]], values[:2], (2, 3))
    (twice.to_dense() ** 2).sum().backward()
    assert values.grad.tolist() == [6.0, 6.0, 0.0]


def test_in_place(device):
    x = coo(device).coalesce()
    values = x.values()
    assert x.mul_(2) is x and values.tolist() == [6, 8, 10] and x._version == 1
    y = lucid.ones(2, 3, device=device)
    y.add_(x)
    same(y, dense() * 2 + 1)
    x.add_(x.clone())
    same(x, dense() * 4)
    x.zero_()
    assert x._nnz() == 0 and values.tolist() == [6, 8, 10]
    assert lucid.zeros_like(coo(device))._nnz() == 0
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        coo(device, requires_grad=True).mul_(2)


def test_nothing_becomes_dense_unseen(device):
    x, full = coo(device), dense(device)
    for call in (lambda: x.exp(), lambda: lucid.cos(x), lambda: x == x, lambda: x.mean(), lambda: full / (x > 0),
                 lambda: lucid.where(full > 0, full, x), lambda: lucid.maximum(full, x), lambda: x.cumsum(0), lambda: x.sort(),
                 lambda: lucid.ones_like(x), lambda: lucid.rand_like(x), lambda: x.var(), lambda: x.isposinf(),
                 lambda: lucid.nn.functional.dropout(x), lambda: x.flip(0), lambda: x.clamp(0, 1), lambda: lucid.fft.fft(x),
                 lambda: full.masked_fill(x.bool(), 0), lambda: lucid.linalg.svd(x), lambda: lucid.empty(2, layout=x.layout),
                 lambda: lucid.stack([x, x]).expand(5, 2, 2, 3)):
        with pytest.raises(NotImplementedError, match="sparse"):
            call()
    for call in (lambda: lucid.cat([x, full]), lambda: full / x, lambda: x + full, lambda: x + 1, lambda: x.reshape(6),
                 lambda: x ** 0, lambda: x.indices(), lambda: x.values(), lambda: x.crow_indices(), lambda: full.values(),
                 lambda: full.is_coalesced(), lambda: x.to_sparse_csr().coalesce(), lambda: full + x.t(), lambda: x + x.t(),
                 lambda: x @ x, lambda: x.double() @ full.t()):
        with pytest.raises(RuntimeError):
            call()
    for call in (lambda: x.numpy(), lambda: np.asarray(x), lambda: x.tolist()):
        with pytest.raises(TypeError, match="Sparse layout"):
            call()


@pytest.mark.parametrize(("call", "message"), [
    (lambda: lucid.sparse_coo_tensor([[0, 3]], [1.0, 2.0], (2,)), "size is inconsistent with indices: for dim 0, size is 2"),
    (lambda: lucid.sparse_coo_tensor([[0, -1]], [1.0, 2.0]), "found negative index -1 for dim 0"),
    (lambda: lucid.sparse_coo_tensor([[0, 1]], [1.0]), "same nnz, but got nnz from indices: 2, nnz from values: 1"),
    (lambda: lucid.sparse_coo_tensor([0, 1], [1.0, 2.0]), "indices must be sparse_dim x nnz"),
    (lambda: lucid.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 2)), "'len\\(size\\) == sparse_dim \\+ dense_dim'"),
    (lambda: lucid.sparse_coo_tensor([[0, 0]], [1.0, 2.0], is_coalesced=True), "uncoalesced"),
    (lambda: lucid.sparse_csr_tensor([0, 1, 2], [2, 0, 2], [1.0, 2, 3], (2, 3)), "`crow_indices\\[..., -1\\] == nnz`"),
    (lambda: lucid.sparse_csr_tensor([0, 1, 3], [2, 0, 5], [1.0, 2, 3], (2, 3)), "`0 <= col_indices < ncols`"),
    (lambda: lucid.sparse_csr_tensor([1, 1, 3], [2, 0, 2], [1.0, 2, 3], (2, 3)), "`crow_indices\\[..., 0\\] == 0`"),
    (lambda: lucid.sparse_csr_tensor([0, 3, 3], [2, 0, 2], [1.0, 2, 3], (2, 3)), "sorted and distinct"),
    (lambda: lucid.sparse_csr_tensor([0, 4, 3], [2, 0, 2], [1.0, 2, 3], (2, 3)), "<= ncols"),
    (lambda: lucid.sparse_csc_tensor([0, 3], [0, 1, 2], [1.0, 2, 3], (3, 2)), "ccol_indices.shape"),
])
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("layout", [lucid.sparse_csr, lucid.sparse_csc])
def test_compressed_tensors_of_a_layout(layout):
    x = lucid.sparse_compressed_tensor([0, 1, 2], [1, 0], [5.0, 7.0], (2, 2), layout=layout)
    assert x.layout == layout and x.to_dense().tolist() == ([[0, 5], [7, 0]] if layout == lucid.sparse_csr else [[0, 7], [5, 0]])


def test_layouts_and_batches_that_there_are_not():
    for call in (lambda: lucid.sparse_compressed_tensor([0, 1], [0], [[[1.0]]], (1, 1), layout=lucid.sparse_bsr),
                 lambda: lucid.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]], (1, 1, 1)), lambda: lucid.ones(2, 2, 2).to_sparse_csr(),
                 lambda: lucid.ones(2, 2).to_sparse(layout=lucid.sparse_bsc)):
        with pytest.raises(NotImplementedError):
            call()


def test_the_switch_for_checks():
    check = lucid.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with check(False):
            assert not check.is_enabled()
    assert not check.is_enabled()
