"""Functions of users, objects that are no tensors, and the tables of functions."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid import nn, overrides
from lucid.overrides.functions import STANDS_FOR


def make() -> Any:
    """An object of a class that was never seen."""
    class Quantity:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is lucid.dot:
                return NotImplemented
            return overrides.resolve_name(func), types, args, kwargs or {}

    return Quantity()


@pytest.mark.parametrize(("call", "name"), [
    (lambda x, q: x + q, "Tensor.add"), (lambda x, q: x @ q, "Tensor.matmul"), (lambda x, q: x < q, "Tensor.lt"),
    (lambda x, q: q - x, "Tensor.__rsub__"), (lambda x, q: lucid.mul(x, q), "mul"), (lambda x, q: lucid.mean(q), "mean"),
    (lambda x, q: lucid.sum(q, dim=0), "sum"), (lambda x, q: lucid.cat([x, q]), "cat"), (lambda x, q: lucid.matmul(q, x), "matmul")])
def test_objects_that_are_no_tensors(call: Any, name: str) -> None:
    quantity = make()
    found, types, args, kwargs = call(lucid.ones(2), quantity)
    assert found == f"lucid.{name}" and types == (type(quantity),)
    assert quantity in args or any(isinstance(arg, list) and quantity in arg for arg in args)


def test_a_class_that_was_told_of() -> None:
    quantity = make()
    with pytest.raises(TypeError, match="register_class"):
        lucid.relu(quantity)
    assert overrides.register_class(type(quantity)) is type(quantity)
    assert lucid.relu(quantity)[0] == "lucid.relu" and nn.functional.conv1d(quantity, lucid.ones(1, 1, 1))[0] == "lucid.conv1d"
    with pytest.raises(TypeError, match="no implementation found for 'lucid.dot'"):
        lucid.dot(quantity, lucid.ones(2))
    with pytest.raises(TypeError, match="has no __torch_function__"):
        overrides.register_class(int)


@pytest.mark.parametrize("call", [
    lambda q: lucid.argsort(q), lambda q: lucid.linalg.cond(q), lambda q: lucid.fft.fftn(q), lambda q: lucid.special.zeta(q, 2.0),
    lambda q: lucid.clamp(q), lambda q: lucid.chunk(q, 2), lambda q: lucid.linalg.multi_dot([q, q]), lambda q: lucid.cumsum(q, 0),
    lambda q: lucid.diff(q), lambda q: lucid.gather(lucid.ones(2), 0, q), lambda q: nn.init.xavier_uniform_(q),
    lambda q: nn.init.constant_(q, 3.0), lambda q: nn.init.orthogonal_(tensor=q)])
def test_whatever_error_a_function_raises_for_an_object(call: Any) -> None:
    quantity = make()
    assert call(quantity)[1] == (type(quantity),)


def test_errors_of_others_are_those_of_the_function() -> None:
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max'") as caught:
        lucid.clamp(lucid.ones(2))
    assert "again" not in [entry.name for entry in caught.traceback]


def test_other_objects_are_refused_as_before() -> None:
    for call in (lambda: lucid.ones(2) + object(), lambda: lucid.add(lucid.ones(2), object()), lambda: lucid.mean("a")):
        with pytest.raises(TypeError):
            call()


def test_a_plain_method_is_deprecated() -> None:
    class Old:
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "old"

    with pytest.warns(DeprecationWarning, match="plain method"):
        assert lucid.mean(Old()) == "old"


def test_functions_of_users() -> None:
    def mine(a: Any, b: Any = 1) -> Any:
        if overrides.has_torch_function((a,)):
            return overrides.handle_torch_function(mine, (a,), a, b=b)
        return "plain"

    @overrides.wrap_torch_function(lambda a: (a,))
    def wrapped(a: Any) -> Any:
        return "plain"

    class Answering(lucid.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func, len(args), kwargs

    x = lucid.ones(1).as_subclass(Answering)
    assert mine(lucid.ones(1)) == wrapped(lucid.ones(1)) == "plain"
    assert mine(x, 3) == (mine, 1, {"b": 3}) and wrapped(x) == (wrapped, 1, {})
    assert overrides.has_torch_function_unary(x) and overrides.has_torch_function_variadic(1, x)
    assert not overrides.has_torch_function([lucid.ones(1), nn.Parameter(lucid.ones(1)), 3])
    assert overrides.is_tensor_like(x) and overrides.is_tensor_like(make()) and not overrides.is_tensor_like([1.0])


def test_tables() -> None:
    functions = overrides.get_overridable_functions()
    assert lucid.add in functions[lucid] and lucid.Tensor.add in functions[lucid.Tensor] and lucid.zeros not in functions[lucid]
    assert lucid.Tensor.shape.__get__ in functions[lucid.Tensor] and nn.init.uniform_ in functions[nn.init]
    assert lucid.zeros in overrides.get_ignored_functions()
    assert overrides.resolve_name(lucid.Tensor.grad.__set__) == "lucid.Tensor.grad.__set__"
    assert overrides.resolve_name(print) is None
    for func, expected in ((lucid.Tensor.add, True), (lucid.Tensor.shape.__get__, True), (lucid.add, False), (lucid.relu, False)):
        assert overrides.is_tensor_method_or_property(func) is expected
    dummies = overrides.get_testing_overrides()
    assert dummies[lucid.add](1, 2) == -1 and dummies[lucid.Tensor.shape.__get__](1) == -1
    with overrides.enable_reentrant_dispatch():
        assert lucid.ones(1).item() == 1
    namespaces = {space.__name__ for space in functions}
    assert namespaces == {"lucid", "lucid.nn.functional", "lucid.nn.init", "lucid.linalg", "lucid.fft", "lucid.special", "Tensor"}


def test_every_function_can_be_overridden() -> None:
    """Those that take a tensor first, called with one of a class that answers."""
    class Answering(lucid.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    x = lucid.ones(1).as_subclass(Answering)
    stands_for = {getattr(lucid.Tensor, name): getattr(lucid.Tensor, method) for name, method in STANDS_FOR.items()}
    for space, functions in overrides.get_overridable_functions().items():
        for function in functions:
            if function.__name__ == "__set__":
                function(x, 1)
            else:
                assert function(x) == stands_for.get(function, function), f"{space.__name__}: {function}"
