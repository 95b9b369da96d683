"""Sparse tensors in the files of PyTorch, under function transforms, in compiled functions and on the device 'meta'."""
from __future__ import annotations

import io
import pickletools
import zipfile
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.autograd import gradcheck, gradgradcheck
from lucid.ops.sparse.values import assembled
from lucid.serialization import LoadError

LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc"]


def made(layout: str, t: Any = lucid) -> Any:
    dense = t.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]])
    return {"sparse_coo": dense.to_sparse, "sparse_csr": dense.to_sparse_csr, "sparse_csc": dense.to_sparse_csc}[layout]()


def saved(obj: Any) -> io.BytesIO:
    file = io.BytesIO()
    lucid.save(obj, file, format="pytorch")
    file.seek(0)
    return file


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_of_pytorch(layout: str) -> None:
    x = made(layout)
    found = lucid.load(saved({"x": x, "dense": lucid.ones(2), "parameter": nn.Parameter(x)}))
    assert found["x"].layout == x.layout and found["x"].to_dense().tolist() == x.to_dense().tolist()
    assert isinstance(found["parameter"], nn.Parameter) and found["parameter"].layout == x.layout
    torch = pytest.importorskip("torch")
    theirs = torch.load(saved({"x": x, "twice": [x, x]}))["x"]  # as weights alone: nothing else is read
    assert str(theirs.layout) == f"torch.{layout}" and theirs.to_dense().tolist() == x.to_dense().tolist()
    file = io.BytesIO()
    torch.save({"x": made(layout, torch), "half": made(layout, torch).bfloat16()}, file)
    file.seek(0)
    back = lucid.load(file)
    assert back["x"].layout == x.layout and back["x"].to_dense().tolist() == x.to_dense().tolist()
    assert back["half"].dtype == lucid.bfloat16


def test_coo_tensors_that_are_not_coalesced() -> None:
    x = lucid.sparse_coo_tensor([[1, 0, 1]], lucid.tensor([1.0, 2.0, 3.0]), (3,))
    found = lucid.load(saved(x))
    assert not found.is_coalesced() and found._nnz() == 3 and found.to_dense().tolist() == [2, 4, 0]
    assert lucid.load(saved(x.coalesce())).is_coalesced()
    assert "_rebuild_sparse_tensor" in str([argument for _, argument, _ in pickletools.genops(
        zipfile.ZipFile(saved(x)).read("archive/data.pkl"))])


@pytest.mark.parametrize(("old", "new", "wrong"), [
    (b"torch.sparse_coo", b"torch.sparse_xyz", "layout"), (b"torch.sparse_coo", b"torch.sparse_csr", "tensor"),
    (b"_rebuild_sparse_tensor", b"_rebuild_sparse_tensox", "torch._utils"), (b"J\x07\0\0\0", b"J\x01\0\0\0", "impossible")])
def test_damaged_and_foreign_ones(old: bytes, new: bytes, wrong: str) -> None:
    """What a file says of a sparse tensor is checked before a kernel reads memory by it."""
    x = lucid.sparse_coo_tensor([[1, 0, 5]], lucid.tensor([1.0, 2.0, 3.0]), (7,))
    source, file = zipfile.ZipFile(saved(x)), io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in source.namelist():
            data = source.read(name)
            assert not name.endswith("data.pkl") or old in data
            archive.writestr(name, data.replace(old, new) if name.endswith("data.pkl") else data)
    file.seek(0)
    with pytest.raises(LoadError, match=wrong):
        lucid.load(file)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_transforms(layout: str, device: str) -> None:
    x, v = made(layout).to(device), lucid.arange(6.0, device=device).reshape(2, 3)
    expected = (x.to_dense() @ v.T).T
    matrices = lucid.arange(24.0, device=device).reshape(4, 2, 3)
    np.testing.assert_allclose(lucid.func.vmap(lambda m: x @ m, in_dims=0)(matrices.mT).cpu().numpy(),
                               (x.to_dense() @ matrices.mT).cpu().numpy())
    np.testing.assert_allclose(lucid.func.vmap(lambda row: x @ row)(v).cpu().numpy(), expected.cpu().numpy())
    np.testing.assert_allclose(lucid.func.grad(lambda m: (x @ m).sum())(v.T).cpu().numpy(),
                               x.to_dense().sum(0)[:, None].expand(3, 2).cpu().numpy())
    if x.layout is not lucid.sparse_coo:
        with pytest.raises(RuntimeError, match="over which vmap cannot go"):
            lucid.func.vmap(lambda m: m * 2)(x)
    for part in lucid.func.jvp(lambda m: x @ m, (v.T,), (v.T,)):
        np.testing.assert_allclose(part.cpu().numpy(), expected.T.cpu().numpy())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_functions_run_eagerly(layout: str) -> None:
    x, dense = made(layout), lucid.arange(6.0).reshape(3, 2)
    product: Any = lucid.compile(lambda a, b: a @ b)
    with pytest.warns(UserWarning, match="an argument is sparse"):
        found = [product(x * factor, dense) for factor in (1, 2, 3)]
    assert [result.tolist() for result in found] == [(x.to_dense() @ dense * factor).tolist() for factor in (1, 2, 3)]
    made_inside: Any = lucid.compile(lambda b: b.to_sparse() if layout == "sparse_coo" else b.to_sparse_csr())
    with pytest.warns(UserWarning, match="runs eagerly"):
        counts = [made_inside(dense * factor)._nnz() for factor in (1, 0, 3)]
    assert counts == [5, 0, 5]


def test_compiled_functions_of_dtypes_for_storage() -> None:
    rounded: Any = lucid.compile(lambda x: x.to(lucid.float8_e4m3fn).float())
    with pytest.warns(UserWarning, match="dtype for storage"):
        found = [rounded(lucid.tensor([number])).item() for number in (1.0, 300.0, 1e9)]
    assert found == [1, 288, 448]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_memory(layout: str) -> None:
    x = made(layout).to("meta")
    assert (x.layout, x.shape, x.device) == (made(layout).layout, (2, 3), "meta") and "device='meta'" in repr(x)
    assert x.to_dense().is_meta and x.to_dense().shape == (2, 3)
    indices = lucid.zeros(2, 4, dtype=lucid.int64, device="meta")
    found = lucid.sparse_coo_tensor(indices, lucid.ones(4, device="meta"), (5, 6))
    assert found.is_meta and found.shape == (5, 6) and found._values().shape == (4,)
    with pytest.raises(RuntimeError, match="needs its size"):
        lucid.sparse_coo_tensor(indices, lucid.ones(4, device="meta"))
    assert lucid.sparse_csr_tensor(indices[0, :3], indices[0], lucid.ones(4, device="meta"), (2, 6)).is_meta


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [lucid.float64, lucid.complex128])
def test_products_and_their_adjoints(layout: str, dtype: Any) -> None:
    """Gradients of two orders by the values and by the dense factor; where rows of the adjoint begin is found once."""
    places = made(layout).to(dtype)
    values = lucid.tensor([1.0, -2.0, 0.5], dtype=dtype, requires_grad=True)
    dense = lucid.arange(6.0).reshape(3, 2).to(dtype).requires_grad_()

    def product(values: Any, dense: Any) -> Any:
        array = places._array.with_values(values._array)
        return lucid.sparse.mm(assembled(values, array), dense)

    assert gradcheck(product, (values, dense)) and gradgradcheck(product, (values, dense))
    assert {"rows", "adjoint"} <= places._array.cache.keys()
    with lucid.inference_mode():
        eager = places.detach() @ dense
    assert lucid.allclose(eager, places.to_dense() @ dense)
