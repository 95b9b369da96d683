"""Parameters and buffers that are views of one memory stay tied: moved, cast, copied, pickled, saved, loaded."""
from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import lucid
from lucid import Tensor, nn


class Tied(nn.Module):
    """A weight, its transpose, a row of it as a buffer, and two overlapping slices of a memory that nobody holds whole."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(lucid.arange(6, dtype=lucid.float32).view(2, 3))
        self.turned = nn.Parameter(self.weight.data.t())
        self.row = nn.Buffer(self.weight.data[1])
        line = lucid.arange(10, dtype=lucid.float32)
        self.left = nn.Buffer(line[2:6])
        self.right = nn.Buffer(line[4:9:2])


def assert_tied(model: Any, device: str | None = None, dtype: Any = None) -> None:
    for tensor in (*model.parameters(), *model.buffers()):
        assert device is None or tensor.device == device
        assert dtype is None or tensor.dtype == dtype
    assert model.turned.shape == (3, 2)
    assert model.left.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert model.right.tolist() == [4.0, 6.0, 8.0]
    with lucid.no_grad():
        model.weight[1, 2] = 50.0
        model.left[2] = 40.0
    assert model.turned.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 50.0]]
    assert model.row.tolist() == [3.0, 4.0, 50.0]
    assert model.right.tolist() == [40.0, 6.0, 8.0]


def saved(model: nn.Module, format: str = "safetensors") -> nn.Module:
    file = io.BytesIO()
    lucid.save(model.state_dict(), file, format=format)
    file.seek(0)
    device = str(model.weight.device)
    state = lucid.load(file, map_location=device)
    other = nn.Module()
    for name, tensor in state.items():
        setattr(other, name, nn.Parameter(tensor) if name in ("weight", "turned") else nn.Buffer(tensor))
    return other


@pytest.mark.parametrize("target", [lucid.float64, lucid.float16, lucid.bfloat16, lucid.complex64],
                         ids=["float64", "float16", "bfloat16", "complex64"])
def test_casts(target: Any, device: str) -> None:
    model = Tied().to(device)
    pointers = {id(tensor): name for name, tensor in model.named_parameters()}
    model.to(target)
    assert {id(tensor): name for name, tensor in model.named_parameters()} == pointers
    assert_tied(model, device, target)


def test_moves_and_casts_back_and_forth(device: str) -> None:
    model = Tied().to(device).half().cpu().to(device, lucid.float64).to("cpu").float()
    assert_tied(model, "cpu", lucid.float32)


def test_versions_are_shared(device: str) -> None:
    model = Tied().to(device).double()
    before = model.turned._version
    with lucid.no_grad():
        model.weight.add_(1)
    assert model.turned._version == before + 1


def test_gradients_that_are_views_of_one_memory(device: str) -> None:
    model = nn.Module()
    model.a, model.b = nn.Parameter(lucid.ones(2)), nn.Parameter(lucid.ones(3))
    flat = lucid.zeros(5)
    model.a.grad, model.b.grad = flat[:2], flat[2:]
    model.to(device).double()
    assert model.a.grad.data_ptr() + 16 == model.b.grad.data_ptr()


def test_a_slice_alone_does_not_drag_its_memory_along(device: str) -> None:
    model = nn.Module()
    model.a = nn.Parameter(lucid.zeros(1000, 2)[3])
    model.to(device).double()
    base = model.a._array.base
    assert base is None or base.nbytes == 16


def test_an_uncast_view_keeps_its_dtype(device: str) -> None:
    model = nn.Module()
    model.a = nn.Parameter(lucid.arange(4.0).view(2, 2))
    model.b = nn.Buffer(model.a.data[0], cast=False)
    model.c = nn.Buffer(model.a.data[0])
    model.to(device).double()
    assert [tensor.dtype for tensor in (model.a, model.b, model.c)] == [lucid.float64, lucid.float32, lucid.float64]
    with lucid.no_grad():
        model.a[0, 1] = 9.0
    assert model.c.tolist() == [0.0, 9.0]


def test_memory_seen_as_two_dtypes(device: str) -> None:
    model = nn.Module()
    model.a = nn.Buffer(lucid.ones(2, dtype=lucid.complex64))
    model.b = nn.Buffer(lucid.view_as_real(model.a.data))
    model.to(device)
    model.b[0, 1] = 5.0
    assert model.a.tolist() == [1 + 5j, 1 + 0j]
    model.double()  # real tensors only: the two part, as in PyTorch
    assert (model.a.dtype, model.b.dtype) == (lucid.complex64, lucid.float64)


def test_the_device_meta(device: str) -> None:
    model = Tied().to(device).to("meta")
    assert model.turned.shape == (3, 2)
    assert model.turned.is_meta


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), saved,
                                       lambda model: saved(model, "npz")], ids=["deepcopy", "pickle", "safetensors", "npz"])
def test_copies(duplicate: Callable[[Any], Any], device: str) -> None:
    model = Tied().to(device)
    assert_tied(duplicate(model), device)
    assert model.left.tolist() == [2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("assign", [False, True])
def test_loads(assign: bool, device: str) -> None:
    model, other = Tied().to(device), Tied().to(device)
    with lucid.no_grad():
        other.weight.zero_()
    file = io.BytesIO()
    lucid.save(model.state_dict(), file)
    file.seek(0)
    other.load_state_dict(lucid.load(file, map_location=device), assign=assign)
    assert_tied(other, device)


def test_a_state_dict_copy_is_tied_as_the_original(device: str) -> None:
    state = Tied().to(device).state_dict(copy=True)
    state["weight"][0, 1] = 7.0
    assert state["turned"][1, 0].item() == 7.0


def test_a_tie_with_a_dtype_or_layout_of_its_own_is_saved(device: str) -> None:
    whole = lucid.arange(8, dtype=lucid.int32, device=device)
    bits = whole.view(lucid.int16)
    other = lucid.arange(4, device=device)
    expanded = other[:1].expand(3)
    file = io.BytesIO()
    lucid.save({"whole": whole, "bits": bits, "other": other, "expanded": expanded, "empty": other[:0]}, file)
    file.seek(0)
    loaded = lucid.load(file, map_location=device)
    loaded["bits"][2] = 9
    assert loaded["whole"][1].item() == 9
    assert loaded["expanded"].stride() == (0,)
    assert loaded["other"].tolist() == [0, 1, 2, 3]
    assert loaded["empty"].shape == (0,)


def test_slices_that_share_no_element_are_saved_on_their_own() -> None:
    table = lucid.zeros(1000, 1000)
    file = io.BytesIO()
    lucid.save({"first": table[0], "last": table[999]}, file)
    file.seek(0)
    loaded: dict[str, Tensor] = lucid.load(file)
    for tensor in loaded.values():
        base = tensor._array.base
        assert base is None or base.__class__ is not type(tensor._array) or base.nbytes <= 8000
