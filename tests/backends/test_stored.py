"""Tensors of the dtypes for storage: memory, views, files, devices, and that nothing computes with them unseen."""
from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.backends import TABLES, storage
from lucid.backends.stored_array import StoredArray

NAMES = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
FEW = ["uint64", "float8_e4m3fn"]


def made(name: str, device: str = "cpu") -> lucid.Tensor:
    x: lucid.Tensor = lucid.tensor([[1, 2, 4], [8, 16, 32]], device=device).to(getattr(lucid, name))
    return x


def bits(x: lucid.Tensor) -> list[int]:
    found: list[int] = x.cpu().contiguous().reshape(-1).view(lucid.uint8).tolist()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_views_share_memory(name: str, device: str) -> None:
    x = made(name, device)
    for view, place in ((x[1:], (1, 0)), (x.T, (0, 0)), (x.reshape(3, 2)[1:], (0, 2)), (x.view(lucid.uint8), None), (x.detach(), (0, 0)),
                        (x.unsqueeze(0).expand(1, 2, 3)[0, 1], (1, 0)), (x.as_strided((2,), (2,), 1), (0, 1)), (x.unbind(1)[2], (0, 2))):
        version = x._version
        view.fill_(0)
        assert x._version == version + 1 and storage.owner(view._array) is storage.owner(x._array)
        if place is not None:
            assert x[place].item() == lucid.zeros(1, dtype=x.dtype).item()
        x.copy_(made(name, device))
    whole = lucid.zeros(8, dtype=lucid.uint8, device=device)
    whole.view(x.dtype).fill_(2)
    assert bits(whole) == bits(lucid.full((8 // x.itemsize,), 2, dtype=x.dtype))
    assert x.view(x.dtype) is not x and bits(x.view(x.dtype)) == bits(x)


@pytest.mark.parametrize("name", NAMES)
def test_pickles_copies_and_files(name: str) -> None:
    x = made(name)
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), pickle.loads(pickle.dumps(x.T)).T, x.clone(), x.T.clone().T):
        assert again.dtype == x.dtype and bits(again) == bits(x)
    whole, row = copy.deepcopy((x, x[1]))
    row.fill_(1)
    assert bits(whole[1]) == bits(row) != bits(x[1])
    for format in ("safetensors", "npz", "pytorch"):
        file = io.BytesIO()
        lucid.save({"x": x, "row": x[1], "turned": x.T, "none": x[:0]}, file, format=format)
        file.seek(0)
        found = lucid.load(file)
        assert {key: (value.dtype, bits(value)) for key, value in found.items()} == {
            "x": (x.dtype, bits(x)), "row": (x.dtype, bits(x[1])), "turned": (x.dtype, bits(x.T)), "none": (x.dtype, [])}


@pytest.mark.parametrize("name", NAMES)
def test_numpy_and_dlpack(name: str) -> None:
    x = made(name)
    array = x.numpy()
    assert array.dtype == x.dtype and array.astype(np.float32).tolist() == x.float().tolist()
    array[0, 0] = 32
    assert x[0, 0].item() == 32 and lucid.from_numpy(array).data_ptr() == x.data_ptr() == array.ctypes.data
    shared = lucid.from_dlpack(x)
    assert shared.dtype == x.dtype and shared.data_ptr() == x.data_ptr()
    assert x.share_memory_().is_shared() and x[0, 0].item() == 32


@pytest.mark.parametrize("name", FEW)
def test_between_devices_and_without_memory(name: str, device: str) -> None:
    x = made(name)
    moved = x.to(device)
    assert moved.device == device and bits(moved) == bits(x) and bits(moved.T.cpu().T) == bits(x)
    again = pickle.loads(pickle.dumps(moved[:, 1:]))
    assert again.device == moved.device and bits(again) == bits(x[:, 1:])
    none = moved.to("meta")
    assert none.is_meta and (none.dtype, none[1:].T.shape, none.float().dtype) == (x.dtype, (3, 1), lucid.float32)
    assert lucid.cat([none, none]).shape == (4, 3) and (none == none).dtype == lucid.bool_ and none.stride() == (3, 1)
    file = io.BytesIO()
    lucid.save(none, file)
    file.seek(0)
    assert lucid.load(file)._array.__class__ is StoredArray and pickle.loads(pickle.dumps(none)).dtype == x.dtype
    assert lucid.zeros(2, dtype=x.dtype, device="meta").is_meta and lucid.ones(2, device="meta").to(x.dtype).dtype == x.dtype


@pytest.mark.parametrize("name", FEW)
def test_nothing_else_computes_with_them(name: str, device: str) -> None:
    """Whatever is not in the table says so, also behind an array of another dtype, and no tensor holds NumPy's array itself."""
    x, plain = made(name, device), lucid.ones(2, 3, device=device)
    with pytest.raises(NotImplementedError, match="not implemented for"):
        x + x
    with pytest.raises(NotImplementedError, match=r"convert the tensor with \.to"):
        x.flip(0)
    for kernel in ("maximum", "matmul", "sub"):
        with pytest.raises((TypeError, RuntimeError)):
            lucid.backends.run(kernel, (plain._array, x._array))
    plain[0] = x[1]
    assert plain.tolist() == [[8, 16, 32], [1, 1, 1]]
    x[0] = plain[1] * 2
    assert x[0].float().tolist() == [2, 2, 2]
    for result in (lucid.where(plain > 1, x, x), x.to(lucid.uint16), lucid.cat([x, x]), x.view(lucid.uint8).view(x.dtype), x * x,
                   lucid.full((2,), 3, dtype=x.dtype, device=device), lucid.tensor(x.tolist(), dtype=x.dtype, device=device)):
        assert result._array.__class__ is StoredArray
    assert set(TABLES[StoredArray]) > {"cast", "copy", "eq", "mul", "getitem"}


def test_gradients_pass_through_casts() -> None:
    x = lucid.tensor([1.1, -2.3], requires_grad=True)
    y = x.to(lucid.float8_e5m2)
    assert y.requires_grad and y.tolist() == [1.0, -2.5]
    (y.float() * lucid.tensor([2.0, 3.0])).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 3]
    leaf = lucid.ones(2, dtype=lucid.float8_e4m3fn, requires_grad=True)
    leaf.float().sum().backward()
    assert leaf.grad is not None and leaf.grad.dtype == lucid.float8_e4m3fn
    with pytest.raises(RuntimeError, match="only floating-point|floating point"):
        lucid.ones(2, dtype=lucid.uint16).requires_grad_()


def test_modules_and_shared_state() -> None:
    module = nn.Linear(2, 2)
    scales = lucid.tensor([1.0, 0.5, 448.0]).to(lucid.float8_e4m3fn)
    module.register_buffer("scales", scales)
    module.register_buffer("first", scales[:2])
    module.register_buffer("counts", lucid.tensor([1, 60000]).to(lucid.uint16))
    again = nn.Linear(2, 2)
    for name in ("scales", "first", "counts"):
        again.register_buffer(name, lucid.zeros_like(getattr(module, name)))
    again.load_state_dict(module.state_dict())
    assert again.scales.float().tolist() == [1, 0.5, 448] and again.counts.tolist() == [1, 60000]
    module.double()
    assert module.counts.dtype == lucid.uint16 and module.scales.dtype == lucid.float64
    module.first.fill_(3)
    assert module.scales.tolist() == [3, 3, 448]  # one memory still


def test_printed_form() -> None:
    assert repr(lucid.tensor([1, 60000]).to(lucid.uint16)) == "Tensor([    1, 60000], dtype=uint16, requires_grad=False)"
    assert repr(lucid.tensor([0.5, 1000.0]).to(lucid.float8_e4m3fn)) == (
        "Tensor([  0.5, 448.0], dtype=float8_e4m3fn, requires_grad=False)")
    assert lucid.ones(1, dtype=lucid.uint32).type() == "lucid.UInt32Tensor"


def test_formulas(device: str) -> None:
    """Fused functions of such tensors run as they are; a formula has no cast to such a dtype."""
    double = lucid.fuse(lambda x: x.float() * 2 + 1)
    assert double(made("uint16", device)).tolist() == [[3, 5, 9], [17, 33, 65]]
    with pytest.raises(NotImplementedError, match="not implemented for"):
        lucid.fuse(lambda x: x - x)(made("uint16", device))
    with pytest.raises(TypeError, match="a dtype for storage, cannot be fused"):
        lucid.fuse(lambda x: x.to(lucid.float8_e5m2).float())(lucid.ones(3, device=device))


def test_optimizers_and_sums_of_gradients_refuse() -> None:
    weight = nn.Parameter(lucid.ones(2, dtype=lucid.float8_e5m2))
    for _ in range(2):
        if weight.grad is not None:
            with pytest.raises(NotImplementedError, match="float8_e5m2"):
                weight.float().sum().backward()
        else:
            weight.float().sum().backward()
    assert weight.grad is not None and weight.grad.float().tolist() == [1, 1]
    for kind in (lucid.optim.SGD, lucid.optim.Adam):
        with pytest.raises(NotImplementedError, match="float8_e5m2"):
            kind([weight], lr=0.1).step()
    assert weight.float().tolist() == [1, 1]
