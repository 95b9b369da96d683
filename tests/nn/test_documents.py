"""The documents that the buffers of lucid continue, run as written (with `torch` read as `lucid`)."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import lucid
from lucid import Tensor, nn


# ---- the nn.Buffer page of lucid 2.x ---------------------------------------------------------------------------------
def test_buffer_prints_as_a_tensor(capsys: pytest.CaptureFixture[str]) -> None:
    print(nn.Buffer(Tensor([1.0, 2.0, 3.0])))
    assert capsys.readouterr().out == "Tensor([1.0, 2.0, 3.0], requires_grad=False)\n"


def test_custom_module_with_a_buffer() -> None:
    class CustomModule(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("running_mean", nn.Buffer(Tensor([0.0, 0.0, 0.0])))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.running_mean

    module = CustomModule()
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    output = module(x)
    output.backward(Tensor([1.0, 1.0, 1.0]))
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    assert module.running_mean.tolist() == [0.0, 0.0, 0.0]
    assert module.running_mean.grad is None
    assert list(module.state_dict()) == ["running_mean"]


@pytest.mark.parametrize("data", [Tensor([1.0, 2.0]), 3, 2.5, 1 + 2j, [1.0, 2.0, 3.0], np.arange(3.0)],
                         ids=["tensor", "int", "float", "complex", "list", "numpy"])
def test_buffer_from_anything_numeric(data: object, device: str) -> None:
    expected = lucid.tensor(data)
    made = nn.Buffer(data)
    assert made.dtype == expected.dtype
    assert made.tolist() == expected.tolist()
    assert not made.requires_grad
    moved = nn.Buffer(data, device=device)
    assert moved.device == device
    assert moved.tolist() == expected.tolist()
    if not isinstance(data, complex):
        assert nn.Buffer(data, dtype=lucid.float16).dtype == lucid.float16
        assert nn.Buffer(data, lucid.float64, device).dtype == lucid.float64


def test_buffer_from_a_cupy_array(device: str) -> None:
    if device == "cpu":
        pytest.skip("CuPy arrays are on the GPU")
    array = lucid.arange(3.0, device="gpu")._array
    buffer = nn.Buffer(array)
    assert buffer.device == "gpu"
    assert buffer.tolist() == [0.0, 1.0, 2.0]


# ---- PyTorch's register_buffer page ----------------------------------------------------------------------------------
class PlainAttribute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = lucid.randn(5, 5)
        self.linear = nn.Linear(5, 5)


class RegisteredBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", lucid.randn(5, 5))
        self.linear = nn.Linear(5, 5)


def test_a_plain_tensor_is_not_state_and_is_left_behind(device: str) -> None:
    model = PlainAttribute()
    assert list(model.state_dict()) == ["linear.weight", "linear.bias"]
    if device == "cpu":
        return
    with pytest.warns(UserWarning, match=r"PlainAttribute\.table .* register_buffer"):
        model.to("cuda")
    assert not model.table.is_cuda
    assert model.linear.weight.is_cuda


def test_a_registered_tensor_is_state_and_moves(device: str) -> None:
    model = RegisteredBuffer()
    assert list(model.state_dict()) == ["table", "linear.weight", "linear.bias"]
    name, buffer = next(model.named_buffers())
    assert (name, buffer) == ("table", model.table)
    if device == "cpu":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.to("cuda")
    assert model.table.is_cuda
    assert model.table.is_gpu


# ---- assignment in forward -------------------------------------------------------------------------------------------
def test_assigning_running_mean_in_forward_keeps_the_buffer(device: str) -> None:
    class Normalise(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(lucid.ones(1))
            self.register_buffer("running_mean", lucid.zeros(()))

        def forward(self, x: Tensor) -> Tensor:
            x = x * self.scale
            self.running_mean = 0.9 * self.running_mean + 0.1 * lucid.mean(x)
            return x - self.running_mean

    module = Normalise().to(device)
    buffer = module.running_mean
    for _ in range(1000):
        module(lucid.ones(4, device=device)).sum().backward()
        assert module.running_mean.grad_fn is None
    assert module.running_mean is buffer
    assert isinstance(module.running_mean, nn.Buffer)
    assert list(dict(module.named_buffers())) == ["running_mean"]
    assert module.running_mean.item() == pytest.approx(1.0)
    assert module.state_dict()["running_mean"].item() == pytest.approx(1.0)
    assert module.running_mean.device == device


def test_register_buffer_returns_none() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.my_buffer_1 = self.register_buffer("A", lucid.ones(2))

    model = Model()
    assert model.my_buffer_1 is None
    assert [name for name, _ in model.named_buffers()] == ["A"]
    assert model.A.tolist() == [1.0, 1.0]
