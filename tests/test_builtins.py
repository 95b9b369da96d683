"""Functions of lucid as attributes of classes: they are no methods where PyTorch's are built in."""
from __future__ import annotations

import copy
import inspect
import pickle
import types
import typing
import warnings
from typing import Any

import pytest

import lucid
from lucid.nn import functional as F

NAMESPACES: dict[str, Any] = {"": lucid, "nn.functional": F, "special": lucid.special, "fft": lucid.fft, "linalg": lucid.linalg}


def _functions() -> dict[str, Any]:
    return {f"{place}.{name}".lstrip("."): getattr(module, name) for place, module in NAMESPACES.items() for name in dir(module)
            if not name.startswith("_") and callable(getattr(module, name)) and not inspect.isclass(getattr(module, name))}


def _binds(function: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return isinstance(type("Holder", (), {"function": function})().function, types.MethodType)


def test_functions_become_no_methods(device: str) -> None:
    class Layer:
        activation = lucid.relu
        add = lucid.add
        convolve = F.conv1d
        transform = lucid.fft.rfft

    x = lucid.tensor([-1.0, 2.0], device=device)
    assert Layer().activation(x).tolist() == Layer.activation(x).tolist() == [0, 2]
    assert Layer().add(x, x, alpha=2).tolist() == [-3, 6]
    assert Layer().add(x, x, out=lucid.empty(2, device=device)).tolist() == [-2, 4]
    assert Layer().convolve(x.reshape(1, 1, 2), lucid.ones(1, 1, 1, device=device)).tolist() == [[[-1, 2]]]
    assert Layer().transform(x).shape == (2,)


def test_the_same_functions_bind_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for name, ours in _functions().items():
        theirs = torch
        for part in name.split("."):
            theirs = getattr(theirs, part, None)
        if theirs is not None:
            assert _binds(ours) == _binds(theirs), name


def test_functions_can_be_pickled_and_described() -> None:
    for name, function in _functions().items():
        if _binds(function):
            continue
        assert pickle.loads(pickle.dumps(function)) is function, name
        assert copy.copy(function) is copy.deepcopy(function) is function
        assert function.__doc__, name
        assert function.__name__.isidentifier()
        typing.get_type_hints(function)
    assert str(inspect.signature(lucid.flatten)) == "(input: 'Tensor', start_dim: 'int' = 0, end_dim: 'int' = -1) -> 'Tensor'"
    assert list(inspect.signature(lucid.add).parameters) == ["input", "other", "alpha"]
    assert lucid.relu.__name__ == "relu"
    assert lucid.relu.__module__ == "lucid"
    assert F.conv2d is lucid.conv2d
