"""Functions of users, objects that are no tensors, and the tables of functions."""
from __future__ import annotations

import contextlib
import inspect
import warnings
from typing import Any

import pytest

import lucid
from lucid import nn, overrides
from lucid.overrides import switching
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


_OTHERS = {"dim", "dims", "dim0", "dim1", "size", "shape", "dtype", "device", "source", "destination", "shifts", "hook", "s",
           "fill_value", "inputs", "gradient"}


def _calls(space: Any, function: Any) -> Any:
    """Calls of `function` with a foreign object as each argument that may be a tensor, and tensors before it."""
    parameters = list(inspect.signature(function).parameters.values())
    for place, parameter in enumerate(parameters):
        may_be_tensor = "Tensor" in str(parameter.annotation) or parameter.name in ("other", "exponent", "value", "index")
        if not may_be_tensor or parameter.kind in (2, 4) or parameter.name in _OTHERS or (space is lucid.Tensor and place == 0):
            continue
        for content in (lambda q: q, lambda q: [lucid.ones(2, 2), q])[:1 + ("Sequence" in str(parameter.annotation))]:
            def call(q: Any, place: int = place, content: Any = content) -> Any:
                args, keywords = [], {}
                for number, other in enumerate(parameters):
                    if number == place and (other.kind == 3 or number > len(args)):
                        keywords[other.name] = content(q)
                    elif number == place:
                        args.append(content(q))
                    elif other.kind in (0, 1) and other.default is other.empty:
                        args.append(lucid.ones(2, 2))
                return function(*args, **keywords)

            yield f"{function.__name__}({parameter.name}=)", call


@pytest.mark.filterwarnings("ignore")
def test_every_function_asks_a_class_that_it_never_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switching, "watch_class", lambda cls: None)  # so that the class remains unknown

    class Answering:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func, types

    q, silent, wrong, count = Answering(), [], [], 0
    for space, functions in overrides.get_overridable_functions().items():
        for function in functions:
            name = function.__name__
            if name in ("__get__", "__set__", "__contains__", "__reduce_ex__", "setitem") or name.startswith("register_"):
                continue
            for label, call in _calls(space, function):
                count += 1
                try:
                    found = call(q)
                except Exception:
                    silent.append(f"{space.__name__}.{label}")
                    continue
                if found.__class__ is not tuple or found[1] != (Answering,) or (
                        space is not lucid.Tensor and found[0].__name__ not in (name, "expit")):  # sigmoid, also
                    wrong.append(f"{space.__name__}.{label}: {found}")
    assert count > 1200 and not silent and not wrong


def test_arguments_that_a_class_gets() -> None:
    class Quantity:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args, kwargs or {}

    def ask(call: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(switching, "watch_class", lambda cls: None)
            return call()

    q, x = Quantity(), lucid.ones(2)
    assert ask(lambda: lucid.mean(q)) == ask(lambda: nn.functional.gelu(q)) == ((q,), {})
    assert ask(lambda: lucid.mean(q, 1, keepdim=True)) == ((q, 1, True), {})
    assert ask(lambda: lucid.softmax(q, dim=1, dtype=lucid.float64)) == ((q, 1, lucid.float64), {})
    assert ask(lambda: lucid.stack([q])) == (([q],), {})
    assert ask(lambda: lucid.einsum("i->", q)) == (("i->", q), {})
    args, keywords = ask(lambda: x.sub(q, alpha=3))
    assert args[0] is x and args[1] is q and keywords == {"alpha": 3}


def test_methods_that_write_ask_and_have_changed_nothing() -> None:
    for call in (lambda x, q: x.add_(q), lambda x, q: x.mul_(q), lambda x, q: x.copy_(q), lambda x, q: x.__setitem__(0, q),
                 lambda x, q: x.fill_(q), lambda x, q: x.index_put_((lucid.tensor([0]),), q), lambda x, q: lucid.exp_(q)):
        x, q = lucid.ones(2), make()
        found = call(x, q)
        assert found is None or found[1] == (type(q),)
        assert x.tolist() == [1, 1]


def test_a_module_hands_on_what_is_no_tensor() -> None:
    q = make()
    assert nn.ReLU()(q)[0] == "lucid.nn.functional.relu" and nn.Linear(2, 2)(make())[0] == "lucid.linear"


@pytest.mark.parametrize("call", [
    lambda x: nn.functional.softmax(x), lambda x: nn.functional.mse_loss(x, lucid.ones(2, 1)), lambda x: lucid.meshgrid(x[0], x[1]),
    lambda x: nn.functional.l1_loss(x, x, reduce=True), lambda x: nn.functional.upsample(x[None]), lambda x: nn.Softmax()(x)])
def test_warnings_name_the_line_of_the_user(call: Any) -> None:
    with warnings.catch_warnings(record=True) as caught, contextlib.suppress(ValueError):
        warnings.simplefilter("always")
        call(lucid.ones(2, 2))
    assert [warning.filename for warning in caught] == [__file__]


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
