"""Conversions of a module that fail half-way: what was converted is converted back, and the error says where it happened."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lucid
from lucid import Tensor, backends, nn
from lucid.nn.modules.module import conversion as _conversion


class Model(nn.Module):
    """Tied weights, a gradient, a buffer on its own and one that is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 3, bias=False)
        self.second.weight = nn.Parameter(self.first.weight.data.t())
        self.norm = nn.BatchNorm1d(3)
        self.late = nn.Buffer(lucid.arange(4, dtype=lucid.float32).view(2, 2).t())


def contents(model: nn.Module) -> dict[str, Any]:
    members = [*model.named_parameters(), *model.named_buffers()]
    found = {name: (id(t), t.tolist(), t.dtype, t.device, t.stride(), t.requires_grad, t.grad is None) for name, t in members}
    return found | {f"{name}.grad": t.grad.tolist() for name, t in members if t.grad is not None}


def failing_at(number: int, error: BaseException) -> Callable[..., Any]:
    """`convert`, which raises `error` when it is called for the time `number`, and works before and after that."""
    calls = 0
    convert = _conversion.convert

    def called(tensor: Tensor, target: Any) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == number:
            raise error
        return convert(tensor, target)

    return called


def make(device: str) -> Model:
    model = Model().to(device)
    (model.first(lucid.ones(2, 3, device=device)).sum() + model.second(lucid.ones(2, 4, device=device)).sum()).backward()
    return model


@pytest.mark.parametrize("number", range(1, 12))
@pytest.mark.parametrize("error", [MemoryError("no room"), KeyboardInterrupt()], ids=["memory", "interrupt"])
def test_a_failed_move_changes_nothing(number: int, error: BaseException, device: str, monkeypatch: Any) -> None:
    if device == "cpu":
        pytest.skip("a move needs two devices")
    for source, target in (("cpu", device), (device, "cpu")):
        model = make(source)
        before = contents(model)
        with monkeypatch.context() as patch:
            patch.setattr(_conversion, "convert", failing_at(number, error))
            try:
                model.to(target)
            except type(error) as raised:
                assert raised is error
            else:
                assert number > 9  # all were converted
                continue
        assert contents(model) == before
        assert model.first.weight.data_ptr() == model.second.weight.data_ptr()
        assert any("It happened at" in note for note in error.__notes__)
        model.to(target)
        assert {tensor.device for tensor in (*model.parameters(), *model.buffers())} == {lucid.device(target)}


def test_the_note_names_the_tensor_and_what_was_done(monkeypatch: Any, device: str) -> None:
    model = make(device)
    error = MemoryError("no room")
    monkeypatch.setattr(_conversion, "convert", failing_at(6, error))
    with pytest.raises(MemoryError):
        model.to(lucid.float64)
    assert error.__notes__[0].startswith("It happened at parameter 'norm.")
    assert error.__notes__[1].endswith("tensors were converted before it, and converted back.")
    assert len(error.__notes__) == 2


def test_what_a_narrow_dtype_has_rounded_is_said(monkeypatch: Any, device: str) -> None:
    model = nn.Module()
    model.a, model.b = nn.Parameter(lucid.tensor([1 / 3], device=device)), nn.Buffer(lucid.ones(2, device=device))
    error = RuntimeError("a kernel failed")
    monkeypatch.setattr(_conversion, "convert", failing_at(2, error))
    with pytest.raises(RuntimeError):
        model.to(lucid.float16)
    assert model.a.dtype == model.b.dtype == lucid.float32
    assert model.a.item() == lucid.tensor([1 / 3]).half().item()
    assert error.__notes__ == ["It happened at buffer 'b'.", "1 tensor was converted before it, and converted back.",
                               "Their elements have been rounded on the way, load them again: parameter 'a' to float16."]


def test_the_failing_gradient_is_named(monkeypatch: Any) -> None:
    model = nn.Module()
    model.a = nn.Parameter(lucid.ones(1))
    model.a.grad = lucid.ones(1)
    error = RuntimeError("a kernel failed")
    monkeypatch.setattr(_conversion, "convert", failing_at(2, error))
    with pytest.raises(RuntimeError):
        model.to(lucid.float64)
    assert error.__notes__[0] == "It happened at the gradient of 'a'."
    assert model.a.dtype == model.a.grad.dtype == lucid.float32


def test_a_device_without_room(device: str, monkeypatch: Any) -> None:
    """The error of the device itself, in the middle of a model."""
    if device == "cpu":
        pytest.skip("host memory does not run out in a test")
    gpu = backends.gpu_module()
    from_host, room = gpu.from_host, 100

    def limited(array: Any, target: Any, *rest: Any) -> Any:
        nonlocal room
        room -= array.nbytes
        if room < 0:
            raise MemoryError("out of device memory")
        return from_host(array, target, *rest)

    model = make("cpu")
    before = contents(model)
    with monkeypatch.context() as patch:
        patch.setattr(gpu, "from_host", limited)
        with pytest.raises(MemoryError):
            model.gpu()
    assert contents(model) == before


def test_a_function_of_the_user_cannot_be_undone(device: str) -> None:
    model = nn.Module()
    model.a, model.b = nn.Parameter(lucid.ones(2, device=device)), nn.Buffer(lucid.ones(3, device=device))

    def double(tensor: Tensor) -> Tensor:
        if tensor.shape == (3,):
            raise ValueError("not three")
        return tensor * 2

    with pytest.raises(ValueError, match="not three") as caught:
        model._apply(double)
    assert caught.value.__notes__ == ["It happened at buffer 'b'.",
                                      "Converted before it, and not converted back: parameter 'a'."]
    assert model.a.tolist() == [2.0, 2.0]


def test_memory_that_cannot_be_given_leaves_a_module_on_meta(monkeypatch: Any, device: str) -> None:
    from lucid.nn.modules.module import materialize as _materialize

    with lucid.device("meta"):
        model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    arrays = [parameter._array for parameter in model.parameters()]
    calls = []

    def limited(tensor: Tensor, **keywords: Any) -> Tensor:
        calls.append(tensor)
        if len(calls) == 3:
            raise MemoryError("no room")
        return lucid.empty_like(tensor, **keywords)

    monkeypatch.setattr(_materialize, "empty_like", limited)
    with pytest.raises(MemoryError):
        model.to_empty(device=device)
    assert all(parameter._array is array for parameter, array in zip(model.parameters(), arrays, strict=True))


def test_an_override_that_wraps_the_function() -> None:
    class Wrapping(nn.Linear):
        def _apply(self, fn: Any, recurse: bool = True) -> Any:
            self.seen = []

            def kept(tensor: Tensor) -> Tensor:
                self.seen.append(tensor)
                found = fn(tensor)
                return tensor.to(lucid.float32) if tensor is self.bias else found

            return super()._apply(kept, recurse)

    layer = Wrapping(2, 2)
    parameters = [layer.weight, layer.bias]
    nn.Sequential(layer).double()
    assert all(a is b for a, b in zip(layer.seen, parameters, strict=True)) and layer.weight is parameters[0]
    assert layer.weight.dtype == lucid.float64 and layer.bias.dtype == lucid.float32
    layer._apply(lambda tensor: tensor * 2)
    assert layer.weight is parameters[0] and len(layer.seen) == 2
