"""Tensors of classes derived from Tensor."""
from __future__ import annotations

import copy
import pickle
import types
from collections.abc import Iterator
from typing import Any

import pytest

import lucid
from lucid import nn, overrides

Classes = types.SimpleNamespace


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Classes]:
    """Classes that pickles find here during the test, and that are gone afterwards: else each call of all tests is looked at."""
    class Tagged(lucid.Tensor):
        """With an argument of its own, and an attribute."""

        def __new__(cls, data: Any, tag: str = "") -> Any:
            made = super().__new__(cls, data)
            made.tag = tag
            return made

    class Slotted(lucid.Tensor):
        __slots__ = ("unit",)

    for cls in (Tagged, Slotted):
        cls.__qualname__ = cls.__name__
        monkeypatch.setitem(globals(), cls.__name__, cls)
    made = Classes(Tagged=Tagged, Slotted=Slotted)
    del Tagged, Slotted, cls
    yield made
    vars(made).clear()
    monkeypatch.undo()


def test_results_are_of_the_class(device: str, classes: Classes) -> None:
    x = lucid.tensor([[1.0, 2.0], [3.0, 4.0]], device=device).as_subclass(classes.Tagged)
    for result in (x + 1, 1 - x, x @ x, lucid.exp(x), x.sum(), x[0], x.T, lucid.cat([lucid.ones(1, 2, device=device), x]), -x,
                   nn.functional.softmax(x, -1), x.max(0).values, x.split(1)[1], x.detach(), x.clone(), x.to(lucid.float64),
                   x.new_zeros(2), lucid.zeros_like(x), x == 1, next(iter(x)), lucid.linalg.inv(x), x.cpu()):
        assert type(result) is classes.Tagged
    assert type(x.shape) is lucid.Size and type(x.tolist()) is list and type(x.max(0)).__name__ == "ValuesIndices"
    x += 1
    assert type(x) is classes.Tagged and x.sum().item() == 14
    assert repr(x.cpu()) == "Tagged([[2.0, 3.0],\n        [4.0, 5.0]], requires_grad=False)"


def test_gradients_flow_through(classes: Classes) -> None:
    x = classes.Tagged([1.0, 2.0], tag="a").requires_grad_()
    y = lucid.ones(2, requires_grad=True)
    (x * x * y).sum().backward()
    assert x.grad.tolist() == [2, 4] and y.grad.tolist() == [1, 4] and type(y.grad) is lucid.Tensor
    assert x.tag == "a" and x.is_leaf
    (g,) = lucid.autograd.grad((x ** 3).sum(), x, create_graph=True)
    assert lucid.autograd.grad(g.sum(), x)[0].tolist() == [6, 12]


def test_as_subclass_is_a_view_with_history(classes: Classes) -> None:
    x = lucid.ones(2, requires_grad=True)
    mine = (x * 2).as_subclass(classes.Tagged)
    assert type(mine) is classes.Tagged and mine.requires_grad and not mine.is_leaf
    mine.sum().backward()
    assert x.grad.tolist() == [2, 2]
    base = lucid.zeros(2)
    base.as_subclass(classes.Tagged).add_(1)
    assert base.tolist() == [1, 1]
    with pytest.raises(TypeError, match="derived from Tensor"):
        base.as_subclass(int)


def test_make_subclass(classes: Classes) -> None:
    base = lucid.ones(2, requires_grad=True)
    made = lucid.Tensor._make_subclass(classes.Tagged, base, True)
    assert type(made) is classes.Tagged and made.is_leaf and made.requires_grad
    made.detach().mul_(3)
    assert base.tolist() == [3, 3]
    assert not lucid.Tensor._make_subclass(classes.Tagged, base).requires_grad


def test_copies_and_pickles_keep_class_and_attributes(classes: Classes) -> None:
    x = classes.Tagged([1.0, 2.0], tag="name")
    x.more = [1]
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(copied) is classes.Tagged and copied.tag == "name" and copied.more == [1] and copied.more is not x.more
        assert copied.tolist() == [1, 2]
        copied += 1
    assert x.tolist() == [1, 2]
    y = lucid.ones(2).as_subclass(classes.Slotted)
    y.unit = "m"
    assert copy.deepcopy(y).unit == pickle.loads(pickle.dumps(y)).unit == copy.copy(y).unit == "m"


def test_the_class_derived_last_answers() -> None:
    calls: list[Any] = []

    class Base(lucid.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append((cls, overrides.resolve_name(func), types))
            return super().__torch_function__(func, types, args, kwargs)

    class Derived(Base):
        pass

    class Other(lucid.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    base, derived, other = (lucid.ones(2).as_subclass(cls) for cls in (Base, Derived, Other))
    assert type(lucid.add(base, derived)) is Derived
    assert calls == [(Derived, "lucid.add", (Derived, Base))]
    with pytest.raises(TypeError, match="no implementation found for 'lucid.Tensor.add' on types"):
        base + other
    with pytest.raises(TypeError, match="no implementation found"):
        lucid.exp(other)


def test_by_its_own_name_and_disabled(classes: Classes) -> None:
    class Named(lucid.Tensor):
        @classmethod
        def __lucid_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return overrides.resolve_name(func)

    class Plain(lucid.Tensor):
        __torch_function__ = overrides._disabled_torch_function_impl

    assert lucid.exp(lucid.ones(1).as_subclass(Named)) == "lucid.exp"
    assert type(lucid.ones(1).as_subclass(Plain) + 1) is lucid.Tensor
    assert type(nn.Parameter(lucid.ones(1)) * 2) is lucid.Tensor
    x = lucid.ones(1).as_subclass(classes.Tagged)
    with overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is lucid.Tensor


def test_class_of_a_parameter_that_overrides() -> None:
    class Mine(nn.Parameter):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs)

    seen: list[Any] = []
    layer = nn.Linear(2, 1, bias=False)
    layer.weight = Mine(lucid.ones(1, 2))
    seen.clear()
    assert type(layer(lucid.ones(3, 2))) is lucid.Tensor and seen == ["lucid.linear"]


def test_a_module_with_such_inputs_and_an_optimizer(classes: Classes) -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3), nn.Linear(3, 1))
    x = lucid.randn(4, 2).as_subclass(classes.Tagged)
    optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)
    before = [p.clone() for p in model.parameters()]
    loss = nn.functional.mse_loss(model(x), lucid.ones(4, 1))
    assert type(loss) is classes.Tagged
    loss.backward()
    optimizer.step()
    assert all(type(p) is nn.Parameter for p in model.parameters())
    assert not all(lucid.equal(p, q) for p, q in zip(model.parameters(), before, strict=True))


def test_a_parameter_of_the_class(classes: Classes) -> None:
    x = classes.Tagged([1.0, 2.0], tag="a")
    p = nn.Parameter(x)
    assert isinstance(p, nn.Parameter) and isinstance(p, classes.Tagged) and p.requires_grad and p.is_leaf
    p.detach().add_(1)
    assert x.tolist() == [2, 3] and type(p * 2) is classes.Tagged and not isinstance(p * 2, nn.Parameter)
    layer = nn.Module()
    layer.p = p
    assert dict(layer.named_parameters())["p"] is p and repr(p).startswith("Parameter containing:\nTagged([")
    (layer.p.sum() * 2).backward()
    lucid.optim.SGD(layer.parameters(), lr=1).step()
    assert p.tolist() == [0, 1] and isinstance(nn.Parameter(p), classes.Tagged)
    p.more = "b"
    for copied in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert isinstance(copied, nn.Parameter) and isinstance(copied, classes.Tagged) and copied.requires_grad
        assert copied.more == "b" and copied.tolist() == [0, 1]
    assert not nn.Parameter(x, requires_grad=False).requires_grad
    assert type(nn.Parameter(lucid.ones(1))) is nn.Parameter
    assert isinstance(nn.Parameter(data=x, requires_grad=True), classes.Tagged)

    class Named(nn.Parameter):
        def __init__(self, data: Any, name: str, *, more: int = 0) -> None:
            super().__init__(data)
            self.label = name, more

    assert Named(lucid.ones(1), "n", more=3).label == ("n", 3)
