"""Lazy modules: what lucid adds to PyTorch's behaviour, which tests/parity/modules/test_lazy.py compares."""
from __future__ import annotations

import pickle
from typing import Any

import pytest

import lucid
from lucid import nn
from lucid.nn.modules.lazy import LazyModuleMixin
from lucid.nn.parameter import UninitializedError


def test_every_use_raises_one_class_that_is_both_of_pytorchs() -> None:
    parameter = nn.UninitializedParameter()
    for use in (lambda: parameter.shape, lambda: parameter + 1, parameter.share_memory_):
        with pytest.raises(UninitializedError, match="UninitializedParameter.*shape is not known yet"):
            use()
    assert issubclass(UninitializedError, ValueError)
    assert issubclass(UninitializedError, RuntimeError)


def test_moving_an_uninitialized_parameter_moves_the_object(device: str) -> None:
    parameter, buffer = nn.UninitializedParameter(), nn.UninitializedBuffer(dtype=lucid.int64)
    assert parameter.to(device) is parameter
    assert buffer.to(device=device) is buffer
    assert parameter.device == buffer.device == device
    parameter.materialize((2, 3))
    buffer.materialize((2,))
    assert (parameter.device, buffer.device, buffer.dtype) == (device, device, lucid.int64)
    assert type(buffer) is nn.Buffer


def test_gpu_and_cpu_methods(device: str) -> None:
    parameter = nn.UninitializedParameter()
    moved = parameter.gpu() if device == "gpu" else parameter.cpu()
    assert moved is parameter
    assert parameter.is_gpu == parameter.is_cuda == (device == "gpu")


def test_materialize_on_another_device(device: str) -> None:
    parameter = nn.UninitializedParameter()
    parameter.materialize((2,), device=device)
    assert parameter.device == device
    nn.init.ones_(parameter)
    assert parameter.tolist() == [1.0, 1.0]


def test_an_optimizer_made_before_moving_and_materializing(device: str) -> None:
    model = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1))
    optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)
    model.to(device)
    x = lucid.randn(4, 1, 5, 5, device=device)
    model(x).sum().backward()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.step()
    assert any(not lucid.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))
    assert {p.device for p in model.parameters()} == {lucid.device(device)}


def test_a_lazy_module_moved_after_deepcopy_and_pickle(device: str) -> None:
    layer = pickle.loads(pickle.dumps(nn.LazyBatchNorm1d(dtype=lucid.float64).to(device)))
    assert (layer.weight.device, layer.running_mean.dtype) == (device, lucid.float64)
    layer(lucid.ones(2, 3, dtype=lucid.float64, device=device))
    assert type(layer) is nn.BatchNorm1d
    assert layer.running_var.device == device


def test_a_lazy_module_can_be_frozen_before_its_first_call() -> None:
    layer = nn.LazyLinear(3).requires_grad_(False)
    layer(lucid.ones(2, 4))
    assert [p.requires_grad for p in layer.parameters()] == [False, False]


def test_bfloat16_before_the_first_call() -> None:
    assert nn.LazyLinear(3).bfloat16().weight.dtype == lucid.bfloat16


def test_repr_shows_uninitialized_buffers() -> None:
    module = nn.Module()
    module.register_buffer("mask", nn.UninitializedBuffer(dtype=lucid.int64))
    assert repr(module) == "Module(\n  (mask): Buffer(uninitialized, dtype=int64)\n)"


def test_options_of_an_uninitialized_buffer_stay() -> None:
    buffer = nn.UninitializedBuffer()
    buffer.cast = False
    module = nn.Module()
    module.register_buffer("b", buffer)
    module.b = lucid.ones(2)
    assert module.b is buffer
    assert (type(buffer), buffer.cast, buffer.tolist()) == (nn.Buffer, False, [1.0, 1.0])


def test_channels_that_do_not_fit_change_nothing() -> None:
    layer = nn.LazyConv2d(4, 3, groups=2)
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        layer(lucid.ones(1, 3, 5, 5))
    assert layer.in_channels == 0
    assert layer(lucid.ones(1, 2, 5, 5)).shape == (1, 4, 3, 3)


def test_a_failed_load_leaves_the_module_lazy_also_with_hooks(device: str) -> None:
    def refuse(module: nn.Module, keys: Any) -> None:
        raise ArithmeticError("refused")

    layer = nn.LazyLinear(3, device=device)
    layer.register_load_state_dict_post_hook(refuse)
    with pytest.raises(ArithmeticError):
        layer.load_state_dict(nn.Linear(4, 3).state_dict())
    assert layer.has_uninitialized_params()
    assert layer(lucid.ones(2, 5, device=device)).shape == (2, 3)


def test_loading_moves_to_the_device_of_the_lazy_module(device: str) -> None:
    layer, source = nn.LazyLinear(3).to(device), nn.Linear(4, 3)
    layer.load_state_dict(source.state_dict())
    assert layer.weight.device == device
    assert layer.weight.tolist() == source.weight.tolist()


def test_extra_state_of_a_lazy_module_is_saved() -> None:
    class Counting(LazyModuleMixin, nn.Module):
        calls = 3

        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.UninitializedParameter()

        def get_extra_state(self) -> int:
            return self.calls

        def set_extra_state(self, state: int) -> None:
            self.calls = state

    module = Counting()
    state = module.state_dict()
    assert list(state) == ["factor", "_extra_state"]
    module.calls = 5
    module.load_state_dict(state)
    assert module.calls == 3


def test_errors_of_other_operations_with_a_lazy_module_alive() -> None:
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match="cannot broadcast"):
        lucid.ones(2) + lucid.ones(3)
    assert layer.has_uninitialized_params()


def test_the_meta_device_before_the_first_call() -> None:
    layer = nn.LazyLinear(3).to("meta")
    layer(lucid.ones(2, 4, device="meta"))
    assert type(layer) is nn.Linear
    assert (layer.weight.device, layer.weight.shape) == ("meta", (3, 4))


def test_a_bias_without_features_is_zero(device: str) -> None:
    layer = nn.LazyLinear(3).to(device)
    assert layer(lucid.ones(2, 0, device=device)).tolist() == [[0, 0, 0]] * 2
