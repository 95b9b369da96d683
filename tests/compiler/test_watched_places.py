"""What a function sees may change between its calls, wherever it lies: later calls compute with what is there then."""
from __future__ import annotations

import array
import contextvars
import threading
import types

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


def the_shape_of_a_tensor():
    other = lucid.ones(2)
    return lambda x: x * other.numel(), lambda: other.resize_(3)


@pytest.mark.parametrize("make", [
    an_array, a_bytearray, a_memoryview, a_read_only_mapping, the_values_of_a_dict, a_context_variable, a_variable_of_a_thread,
    a_module_in_a_closure, a_method_of_a_class, a_static_method, the_class_of_a_class, an_object_that_looks_attributes_up,
    the_shape_of_a_tensor])
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
