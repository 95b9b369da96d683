"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import lucid
from lucid import nn


def names(module: Any) -> list[str]:
    return [f"{name}:{type(child).__name__}" for name, child in module._modules.items()]


def test_sequential() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert model(lucid.ones(4, 2)).shape == (4, 1)
    assert len(model) == 3
    assert isinstance(model[-1], nn.Linear)
    assert names(model[:2]) == ["0:Linear", "1:ReLU"]
    assert model[1:][0] is model[1]
    model.append(nn.Tanh()).insert(1, nn.Sigmoid()).extend([nn.GELU()])
    assert names(model) == ["0:Linear", "1:Sigmoid", "2:ReLU", "3:Linear", "4:Tanh", "5:GELU"]
    assert isinstance(model.pop(1), nn.Sigmoid)
    del model[1:3]
    assert names(model) == ["0:Linear", "1:Tanh", "2:GELU"]
    model[1] = nn.ReLU()
    assert names(model) == ["0:Linear", "1:ReLU", "2:GELU"]
    for index in (3, -4):
        with pytest.raises(IndexError):
            _ = model[index]
    with pytest.raises(IndexError):
        model.insert(9, nn.ReLU())
    with pytest.raises(AssertionError):
        model.insert(0, 3)  # type: ignore[arg-type]


def test_sequential_with_names_and_arithmetic() -> None:
    model = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert list(model._modules) == ["first", "second"]
    assert list(model[1:]._modules) == ["second"]
    both = model + nn.Sequential(nn.GELU())
    assert names(both) == ["0:ReLU", "1:Tanh", "2:GELU"]
    both += nn.Sequential(nn.SiLU())
    assert len(both) == 4
    assert names(nn.Sequential(nn.ReLU()) * 2) == names(2 * nn.Sequential(nn.ReLU())) == ["0:ReLU", "1:ReLU"]
    tripled = nn.Sequential(nn.ReLU())
    tripled *= 3
    assert len(tripled) == 3
    with pytest.raises(ValueError, match="Sequential"):
        _ = model + nn.ReLU()
    with pytest.raises(ValueError, match="Non-positive"):
        _ = model * 0
    with pytest.raises(TypeError):
        nn.Sequential(3)


def test_module_list() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    assert [name for name, _ in layers.named_parameters()][:2] == ["0.weight", "0.bias"]
    layers.append(nn.ReLU())
    layers.insert(0, nn.Tanh())
    layers += [nn.GELU()]
    assert names(layers) == ["0:Tanh", "1:Linear", "2:Linear", "3:Linear", "4:ReLU", "5:GELU"]
    assert isinstance(layers[1:3], nn.ModuleList)
    assert isinstance(layers + nn.ModuleList([nn.ReLU()]), nn.ModuleList)
    del layers[0]
    assert isinstance(layers.pop(-1), nn.GELU)
    assert repr(layers) == ("ModuleList(\n  (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)\n"
                            "  (3): ReLU()\n)")
    with pytest.raises(TypeError):
        layers.extend(3)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError):
        layers(1)


def test_module_dict() -> None:
    modules = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(1, 1)})
    modules.update([("c", nn.Tanh())])
    assert list(modules) == list(modules.keys()) == ["b", "a", "c"]
    assert "a" in modules
    assert len(modules) == 3
    assert isinstance(modules.pop("b"), nn.ReLU)
    del modules["c"]
    assert dict(modules.items()) == {"a": modules["a"]}
    assert list(modules.values()) == [modules["a"]]
    modules.clear()
    assert not len(modules)
    with pytest.raises(TypeError):
        modules["x"] = 3  # type: ignore[assignment]
    with pytest.raises(TypeError):
        modules.update(3)
    with pytest.raises(ValueError, match="2 is required"):
        modules.update([("a", nn.ReLU(), 3)])


def test_parameter_list() -> None:
    weights = nn.ParameterList([lucid.ones(2), nn.Parameter(lucid.zeros(1)), "text"])
    assert isinstance(weights[0], nn.Parameter)
    assert [name for name, _ in weights.named_parameters()] == ["0", "1"]
    weights.append(lucid.ones(3))
    weights[0] = lucid.zeros(2)
    assert len(weights) == 4
    assert len(weights[1:3]) == 2
    assert weights[-1].shape == (3,)
    weights += [lucid.ones(1)]
    assert "  (0): Parameter containing: [float32 of size 2]" in repr(weights)
    assert "  (2): Object of type: str" in repr(weights)
    with pytest.raises(RuntimeError, match="should not be called"):
        weights(1)
    with pytest.raises(TypeError):
        weights.extend(lucid.ones(3))
    with pytest.raises(IndexError):
        _ = weights[9]


def test_parameter_dict() -> None:
    weights = nn.ParameterDict({"b": lucid.ones(2), "a": nn.Parameter(lucid.zeros(1))})
    assert list(weights) == ["a", "b"]
    assert isinstance(weights["b"], nn.Parameter)
    weights["c"] = lucid.ones(1)
    assert list(weights.state_dict()) == ["a", "b", "c"]
    assert weights.popitem()[0] == "c"
    assert weights.get("missing", 3) == 3
    assert weights.setdefault("d", lucid.ones(1)) is weights["d"]
    assert set(weights | nn.ParameterDict({"e": lucid.ones(1)})) == {"a", "b", "d", "e"}
    assert list(reversed(weights)) == ["d", "b", "a"]
    weights.pop("d")
    copied = weights.copy()
    assert copied["a"] is weights["a"]
    copied.clear()
    assert not len(copied)
    assert "a" in weights
    assert list(weights.fromkeys(["x"], 1).values()) == [1]
    with pytest.raises(TypeError, match="not a string"):
        weights[3] = lucid.ones(1)  # type: ignore[index]
    with pytest.raises(KeyError):
        copied.popitem()


def test_names_that_are_methods_are_refused() -> None:
    with pytest.raises(KeyError, match="already exists"):
        nn.ModuleDict({"forward": nn.ReLU()})
