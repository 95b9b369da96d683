"""What a function sees may change between its calls, wherever it lies: later calls compute with what is there then."""
from __future__ import annotations

import array
import contextvars
import functools
import sys
import threading
import types
import weakref

import pytest

import lucid
from lucid import nn


def an_array():
    numbers = array.array("f", [2.0])
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 3.0)


def a_bytearray():
    numbers = bytearray(b"\x02")
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 3)


def a_memoryview():
    numbers = bytearray(b"\x02")
    view = memoryview(numbers)
    return lambda x: x * view[0], lambda: numbers.__setitem__(0, 3)


def a_read_only_mapping():
    numbers = {"k": 2.0}
    proxy = types.MappingProxyType(numbers)
    return lambda x: x * proxy["k"], lambda: numbers.update(k=3.0)


def the_values_of_a_dict():
    numbers = {"k": 2.0}
    values = numbers.values()
    return lambda x: x * sum(values), lambda: numbers.update(k=3.0)


def a_context_variable():
    variable = contextvars.ContextVar("number", default=2.0)
    return lambda x: x * variable.get(), lambda: variable.set(3.0)


def a_variable_of_a_thread():
    local = threading.local()
    local.number = 2.0
    return lambda x: x * local.number, lambda: setattr(local, "number", 3.0)


def a_module_in_a_closure():
    module, inner = types.ModuleType("some_module"), types.ModuleType("some_module.inner")
    module.inner, inner.number = inner, 2.0
    return lambda x: x * module.inner.number, lambda: setattr(inner, "number", 3.0)


def a_method_of_a_class():
    class Doubling(nn.Module):
        def forward(self, x):
            return x * 2

    return Doubling(), lambda: setattr(Doubling, "forward", lambda self, x: x * 3)


def a_static_method():
    class Numbers:
        @staticmethod
        def number():
            return 2.0

    return lambda x: x * Numbers.number(), lambda: setattr(Numbers, "number", staticmethod(lambda: 3.0))


def the_class_of_a_class():
    class Meta(type):
        number = 2.0

    class Numbers(metaclass=Meta):
        pass

    return lambda x: x * Numbers.number, lambda: setattr(Meta, "number", 3.0)


def an_object_that_looks_attributes_up():
    class Numbers:
        def __init__(self):
            self.__dict__["numbers"] = {"k": 2.0}

        def __getattr__(self, name):
            return self.__dict__["numbers"][name]  # KeyError, where Python expects AttributeError

    numbers = Numbers()
    return lambda x: x * numbers.k, lambda: numbers.numbers.update(k=3.0)


NUMBER = 2.0


def a_variable_by_its_name():
    globals()["NUMBER"] = 2.0
    return lambda x: x * globals()["NUMBER"], lambda: globals().update(NUMBER=3.0)


def an_attribute_of_a_module_by_its_name():
    module = types.ModuleType("some_module")
    module.number = 2.0
    return lambda x: x * getattr(module, "number"), lambda: setattr(module, "number", 3.0)  # noqa: B009


def the_variables_of_a_module():
    module = types.ModuleType("some_module")
    module.number = 2.0
    return lambda x: x * vars(module)["num" + "ber"[:]], lambda: setattr(module, "number", 3.0)


def a_module_that_is_imported_inside():
    module = sys.modules["some_module_of_numbers"] = types.ModuleType("some_module_of_numbers")
    module.number = 2.0

    def function(x):
        from some_module_of_numbers import number
        return x * number

    return function, lambda: setattr(module, "number", 3.0)


def a_variable_that_hides_a_builtin():
    variables = {}
    exec("f = lambda x: x * (1 + abs(-1))", variables)
    return variables["f"], lambda: variables.update(abs=lambda number: 2)


class _Numbers:
    def __init__(self):
        self.number = 2.0


def a_weak_reference_to_what_is_seen():
    numbers = _Numbers()
    reference = weakref.ref(numbers)
    return lambda x: x * (reference().number if numbers else 0), lambda: setattr(numbers, "number", 3.0)


def a_value_under_a_weak_key():
    numbers = _Numbers()
    values = weakref.WeakKeyDictionary({numbers: 2.0})
    return lambda x: x * values[numbers], lambda: values.__setitem__(numbers, 3.0)


def the_shape_of_a_tensor():
    other = lucid.ones(2)
    return lambda x: x * other.numel(), lambda: other.resize_(3)


@pytest.mark.parametrize("make", [
    an_array, a_bytearray, a_memoryview, a_read_only_mapping, the_values_of_a_dict, a_context_variable, a_variable_of_a_thread,
    a_module_in_a_closure, a_method_of_a_class, a_static_method, the_class_of_a_class, an_object_that_looks_attributes_up,
    a_variable_by_its_name, an_attribute_of_a_module_by_its_name,
    the_variables_of_a_module, a_module_that_is_imported_inside, a_variable_that_hides_a_builtin,
    a_weak_reference_to_what_is_seen, a_value_under_a_weak_key, the_shape_of_a_tensor])
def test_a_change_between_calls(make):
    function, change = make()
    compiled = lucid.compile(function)
    x = lucid.arange(3.0)
    for number in range(12):
        if number == 10:
            change()
        assert compiled(x).tolist() == (x * (2 if number < 10 else 3)).tolist()
    first = compiled.__dict__.get("_compiled", compiled)
    assert first._replays == 8


def test_a_step_that_is_replaced():
    w = nn.Parameter(lucid.zeros(2))
    optimizer = lucid.optim.SGD([w], lr=1.0)

    @lucid.compile
    def step():
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()

    for _ in range(4):
        step()
    assert w.tolist() == [-4.0, -4.0]
    optimizer.step = lambda: None
    for _ in range(4):
        step()
    assert w.tolist() == [-4.0, -4.0]


def test_a_variable_of_another_thread():
    local = threading.local()
    local.number = 2.0
    compiled = lucid.compile(lambda x: x * local.number)
    x = lucid.ones(2)
    for _ in range(4):
        compiled(x)
    found = []

    def other():
        local.number = 3.0
        found.append(compiled(x).tolist())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [[3.0, 3.0]] and compiled(x).tolist() == [2.0, 2.0]


def test_a_module_that_is_imported_by_the_first_call(tmp_path, monkeypatch):
    (tmp_path / "some_module_that_is_imported.py").write_text("number = 2.0")
    monkeypatch.syspath_prepend(tmp_path)

    @lucid.compile
    def function(x):
        import some_module_that_is_imported

        return x * some_module_that_is_imported.number

    for _ in range(4):
        assert function(lucid.ones(1)).item() == 2.0
    sys.modules["some_module_that_is_imported"].number = 3.0
    assert function(lucid.ones(1)).item() == 3.0


def test_what_only_a_weak_reference_leads_to_makes_it_eager():
    numbers = _Numbers()
    reference = weakref.ref(numbers)
    compiled = lucid.compile(lambda x: x * (1.0 if reference() is None else reference().number))
    with pytest.warns(UserWarning, match="only a weak reference"):
        assert compiled(lucid.ones(1)).item() == 2.0
    del numbers
    assert reference() is None and compiled(lucid.ones(1)).item() == 1.0


def test_a_variable_whose_name_is_computed_makes_it_eager():
    name = "NUMBER"
    compiled = lucid.compile(lambda x: x * globals()[name])
    with pytest.warns(UserWarning, match="computes the names of variables"):
        assert compiled(lucid.ones(1)).item() == NUMBER


def test_how_often_a_tensor_has_been_written_makes_it_eager():
    def function(x):
        return x * x._version

    compiled = lucid.compile(function)
    x = lucid.ones(1)
    with pytest.warns(UserWarning, match=rf"{__file__}:{function.__code__.co_firstlineno + 1}.*how often a tensor"):
        assert compiled(x).item() == 0.0
    assert compiled(x.add_(1)).item() == 2.0


def test_a_function_that_depends_on_classes_has_a_plan():
    @functools.singledispatch
    def scaled(x):
        return x * 2

    compiled = lucid.compile(lambda x: scaled(x), fullgraph=True)
    for _ in range(4):
        assert compiled(lucid.ones(1)).item() == 2.0
    assert compiled._replays == 2


def test_a_variable_that_the_function_makes():
    variables = {"lucid": lucid}
    exec("def f(x):\n global kept\n kept = x * 2\n return kept + 1", variables)
    compiled = lucid.compile(variables["f"], fullgraph=True)
    for number in range(5):
        assert compiled(lucid.tensor([float(number)])).item() == 2 * number + 1
        assert variables["kept"].item() == 2 * number
    assert compiled._replays == 2


def test_a_hook_that_comes_between_the_recorded_calls():
    w = nn.Parameter(lucid.ones(1))
    scale = [2.0]

    @lucid.compile
    def step(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad.clone()

    x = lucid.ones(1)
    assert step(x).item() == 1.0
    w.register_hook(lambda g: g * scale[0])
    for number in range(8):
        scale[0] = 2.0 if number < 5 else 3.0
        assert step(x).item() == scale[0]
    assert step._replays > 0
