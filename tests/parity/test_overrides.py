"""What `__torch_function__` of classes and modes gets, and the classes of results, as in PyTorch."""
from __future__ import annotations

import importlib
from typing import Any

import pytest

import lucid

pytestmark = pytest.mark.torch

CALLS = {
    "x + 1": lambda lib, x: x + 1, "1 - x": lambda lib, x: 1 - x, "x @ x": lambda lib, x: x @ x, "x[0]": lambda lib, x: x[0],
    "-x": lambda lib, x: -x, "x < 2": lambda lib, x: x < 2, "x ** 2": lambda lib, x: x ** 2, "x += 1": lambda lib, x: x.__iadd__(1),
    "exp": lambda lib, x: lib.exp(x), "x.exp": lambda lib, x: x.exp(), "sum": lambda lib, x: x.sum(0, keepdim=True),
    "max": lambda lib, x: lib.max(x, 0), "cat": lambda lib, x: lib.cat([lib.ones(1, 2), x]), "split": lambda lib, x: x.split(1),
    "relu": lambda lib, x: lib.relu(x), "softmax": lambda lib, x: lib.nn.functional.softmax(x, dim=-1),
    "cross_entropy": lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1])),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (2,)), "shape": lambda lib, x: x.shape, "size": lambda lib, x: x.size(0),
    "dtype": lambda lib, x: x.dtype.itemsize, "T": lambda lib, x: x.T, "to": lambda lib, x: x.to(lib.float64), "len": lambda lib, x: len(x),
    "tolist": lambda lib, x: x.tolist(), "bool": lambda lib, x: bool(x[0, 0]), "where": lambda lib, x: lib.where(x > 1, x, 0.0),
    "new_zeros": lambda lib, x: x.new_zeros(2), "zeros_like": lambda lib, x: lib.zeros_like(x), "inv": lambda lib, x: lib.linalg.inv(x),
    "einsum": lambda lib, x: lib.einsum("ij,jk->ik", x, x), "detach": lambda lib, x: x.detach(), "clone": lambda lib, x: x.clone(),
    "grad": lambda lib, x: x.grad, "requires_grad": lambda lib, x: x.requires_grad, "is_leaf": lambda lib, x: x.is_leaf,
    "contains": lambda lib, x: 1.0 in x, "eq": lambda lib, x: x.eq(x), "isclose": lambda lib, x: lib.isclose(x, x),
    "numpy": lambda lib, x: type(x.numpy()).__name__, "normal_": lambda lib, x: type(lib.nn.init.normal_(x)).__name__,
    "view": lambda lib, x: x.view(4), "setitem": lambda lib, x: x.__setitem__(0, 1.0), "in-place": lambda lib, x: x.mul_(2),
}


def structure(value: Any) -> Any:
    """A result without the name of the library."""
    if type(value).__module__.partition(".")[0] in ("torch", "lucid", __name__.partition(".")[0]) and hasattr(value, "tolist"):
        return type(value).__name__, [[round(float(v), 4) for v in value.detach().double().reshape(-1)]]
    if isinstance(value, (tuple, list)):
        return [structure(part) for part in value]
    return value


def outcome(lib: Any, call: Any, kind: str) -> Any:
    overrides = importlib.import_module(f"{lib.__name__}.overrides")
    names: list[str] = []

    def record(func: Any, types: Any) -> None:
        name = overrides.resolve_name(func) or f"{lib.__name__}.{func.__name__}"
        names.append(name.replace("torch.", "lucid.").replace("functional.einsum", "einsum"))
        names.append(str([t.__name__ for t in types if t is not lib.Tensor]))

    class Mode(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            record(func, types)
            return func(*args, **(kwargs or {}))

    class Sub(lib.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            record(func, types)
            return super().__torch_function__(func, types, args, kwargs)

    x = lib.tensor([[1.0, 2.0], [3.0, 5.0]])
    if kind == "mode":
        with Mode():
            result = call(lib, x)
    else:
        result = call(lib, x.as_subclass(Sub))
    return tuple(names), structure(result)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["mode", "class"])
def test_calls_and_results(kind: str, name: str) -> None:
    torch = pytest.importorskip("torch")
    (ours, result), (theirs, expected) = outcome(lucid, CALLS[name], kind), outcome(torch, CALLS[name], kind)
    assert ours == theirs
    if name != "normal_":
        assert result == expected
