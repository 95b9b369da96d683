"""Module.to and the casts: objects, memory, what is left behind."""
from __future__ import annotations

import warnings
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

import lucid
from bench.module_to import measure
from lucid import Tensor, nn
from tests.nn.models import Block, Model


# ---- moving and casting ----------------------------------------------------------------------------------------------
def test_to_swaps_arrays_inside_the_same_objects(device: str) -> None:
    model = Model()
    model(lucid.ones(2)).sum().backward()
    held = dict(model.state_dict(keep_vars=True))
    gradient = model.first.weight.grad
    assert model.to(device) is model
    assert all(value is held[name] for name, value in model.state_dict(keep_vars=True).items())
    assert all(value.device == device for value in held.values())
    assert model.second.weight is model.first.weight
    assert model.first.weight.grad is gradient
    assert gradient.device == device
    model(lucid.ones(2, device=device)).sum().backward()
    model.cpu()
    assert model.first.weight.device == "cpu"
    assert gradient.device == "cpu"


def test_tensors_that_share_an_array_share_one_afterwards(device: str) -> None:
    table = lucid.zeros(3)
    first, second = nn.Module(), nn.Module()
    first.register_buffer("table", table)
    second.register_buffer("table", nn.Buffer(table))
    both = nn.ModuleList([first, second]).to(device).double()
    assert both[0].table is not both[1].table
    both[0].table.fill_(1.0)
    assert both[1].table.tolist() == [1.0, 1.0, 1.0]


def test_casts_leave_integers_alone() -> None:
    model = Model()
    for cast, dtype in ((model.half, lucid.float16), (model.bfloat16, lucid.bfloat16), (model.double, lucid.float64),
                        (model.float, lucid.float32)):
        assert cast() is model
        assert model.first.weight.dtype == dtype
        assert model.first.mean.dtype == dtype
        assert model.count.dtype == lucid.int64
    model.to(lucid.float64)
    assert (model.first.mean.dtype, model.count.dtype) == (lucid.float64, lucid.int64)
    model.type(lucid.float32)
    assert model.count.dtype == lucid.float32
    with pytest.raises(TypeError, match="floating point or complex"):
        model.to(lucid.int64)


def test_plain_tensors_left_behind_are_named(device: str) -> None:
    if device == "cpu":
        pytest.skip("nothing is left behind on the cpu")
    model = Model()
    model.first.table = lucid.ones(1)
    model.first.listed = [3, lucid.ones(1)]
    model.first.named = {"mask": (lucid.ones(1),)}
    model.first.alias = model.first.mean
    with pytest.warns(UserWarning, match="register_buffer") as caught:
        model.to("gpu")
    assert [str(w.message).split(" ")[0] for w in caught] == [
        "Model.first.table", "Model.first.listed[1]", "Model.first.named['mask'][0]"]


def test_moving_frees_the_old_arrays() -> None:
    block = Block()
    old = weakref.ref(block.weight._array)
    block.double()
    assert old() is None


# ---- what moving costs -----------------------------------------------------------------------------------------------
def test_to_copies_each_array_once_and_needs_one_more(device: str) -> None:
    if device == "cpu":
        pytest.skip("nothing is copied on the cpu")
    model = nn.ModuleList([nn.Linear(500, 400) for _ in range(5)])
    table = lucid.ones(500, 300)
    model[1].weight = model[0].weight  # one object in two places
    model[2].register_buffer("table", table)
    model[3].register_buffer("table", nn.Buffer(table))  # two objects over one array
    model[4].weight.grad = lucid.ones(400, 500)
    del table
    cost = measure(model, "gpu")
    assert cost["arrays"] == 4 + 5 + 1 + 1  # weights, biases, the table, the gradient
    assert cost["copies"] == 1
    assert cost["extra"] <= 1
    model[2].table.fill_(3.0)
    assert model[3].table[0, 0].item() == 3.0


def test_optimizer_state_moves_and_stays_the_same_object(device: str) -> None:
    model = nn.Linear(2, 2)
    optimizer = lucid.optim.Adam(model.parameters())
    model(lucid.ones(1, 2)).sum().backward()
    optimizer.step()
    model.to(device)
    assert optimizer.param_groups[0]["params"][0] is model.weight
    model(lucid.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    assert optimizer.state[model.weight]["exp_avg"].device == device


# ---- casts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cast", [lambda m: m.half(), lambda m: m.double(), lambda m: m.bfloat16(), lambda m: m.to(lucid.float64),
                                  lambda m: m.type(lucid.float64), lambda m: m.float().half()],
                         ids=["half", "double", "bfloat16", "to", "type", "float"])
def test_a_buffer_that_is_not_cast_keeps_dtype_and_object(cast: Any, device: str) -> None:
    module = nn.Module()
    module.weight = nn.Parameter(lucid.ones(2))
    module.steady = nn.Buffer(lucid.ones(2), cast=False)
    steady = module.steady
    cast(module.to(device))
    assert module.steady is steady
    assert (steady.dtype, steady.device) == (lucid.float32, device)
    assert module.weight.dtype != lucid.float32


def test_an_uncast_buffer_moves_while_the_rest_is_cast_too(device: str) -> None:
    table = lucid.ones(2)
    model = nn.ModuleList([nn.Module(), nn.Module(), nn.Module()])
    model[0].register_buffer("table", table)
    model[1].table = nn.Buffer(table, cast=False)  # over the same array
    model[2].table = nn.Buffer(table)
    model.to(device, lucid.float64)
    assert [m.table.dtype for m in model] == [lucid.float64, lucid.float32, lucid.float64]
    assert {str(m.table.device) for m in model} == {str(lucid.device(device))}
    model[0].table.fill_(4.0)
    assert [m.table.tolist() for m in model] == [[4.0, 4.0], [1.0, 1.0], [4.0, 4.0]]


def test_a_refused_conversion_changes_nothing() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Conv2d(1, 1, 1))
    model.volume = nn.Parameter(lucid.ones(1, 2, 3, 4, 5))
    before = {name: (value.dtype, value.stride()) for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError, match="required rank 4"):
        model.to(lucid.float64, memory_format=lucid.channels_last)
    with pytest.raises(RuntimeError, match="requires gradients"):
        model.type(lucid.int32)
    with pytest.raises(RuntimeError, match="copy argument"):
        model.to(lucid.float64, copy=True)
    assert {name: (value.dtype, value.stride()) for name, value in model.state_dict().items()} == before


def test_memory_format_on_both_devices_keeps_the_objects(device: str) -> None:
    layer = nn.Conv2d(2, 3, 3)
    weight, values = layer.weight, layer.weight.tolist()
    weight.grad = lucid.ones_like(weight)
    layer.to(device, memory_format=lucid.channels_last)
    assert layer.weight is weight
    assert weight.stride() == weight.grad.stride() == (18, 1, 6, 2)
    assert weight.device == device
    assert weight.tolist() == values
    assert layer.cpu().weight.stride() == (18, 1, 6, 2)


# ---- tensors left behind ---------------------------------------------------------------------------------------------
@dataclass
class Cache:
    keys: Tensor
    length: int = 0


def left_behind(model: nn.Module, call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(model)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("call", [lambda m: m.to("meta"), lambda m: m.to(device="meta"), lambda m: m.to(lucid.device("meta"))],
                         ids=["name", "keyword", "device"])
def test_one_warning_for_each_attribute(call: Any) -> None:
    model = nn.Sequential(nn.Linear(1, 1))
    model.many = [lucid.ones(1) for _ in range(5)]
    model[0].pair = {"a": (lucid.ones(1), 3), "b": {lucid.ones(1)}}
    model[0].cache = [Cache(lucid.ones(1))]
    model.itself = [model]
    model.itself.append(model.itself)
    model.alias = model[0].weight
    model.hidden = [nn.Linear(1, 1)]
    advice = "leaves them on cpu. Use register_buffer (or nn.Buffer) to make them move with the module."
    assert left_behind(model, call) == [
        f"Sequential.many[0], Sequential.many[1], Sequential.many[2] and 2 more are plain tensor attributes: .to('meta') {advice}",
        f"Sequential.0.pair['a'][0], Sequential.0.pair['b']{{...}} are plain tensor attributes: .to('meta') {advice}",
        f"Sequential.0.cache[0].keys is a plain tensor attribute: .to('meta') {advice.replace('them', 'it')}"]


def test_no_warning_without_a_move() -> None:
    model = nn.Linear(1, 1)
    model.plain = [lucid.ones(1)]
    for call in (lambda m: m.half(), lambda m: m.to(lucid.float64), lambda m: m.cpu(), lambda m: m.to("cpu"), lambda m: m.to()):
        assert left_behind(model, call) == []


def test_every_way_to_a_gpu_warns_at_the_caller(device: str) -> None:
    if device == "cpu":
        pytest.skip("needs the device 'gpu'")
    for call in (lambda m: m.to("gpu"), lambda m: m.gpu(), lambda m: m.cuda()):
        model = nn.Linear(1, 1)
        model.plain = lucid.ones(1)
        assert [text.split(" ")[0] for text in left_behind(model, call)] == ["Linear.plain"]
