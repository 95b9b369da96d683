"""Modes see every function, method and property, nest, and cost nothing afterwards."""
from __future__ import annotations

import threading
from typing import Any

import pytest

import lucid
from lucid import overrides
from lucid.nn import functional as F


class Log(overrides.TorchFunctionMode):
    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(overrides.resolve_name(func) or func.__name__)
        return func(*args, **(kwargs or {}))


def test_what_a_mode_sees(device: str) -> None:
    x = lucid.ones(3, device=device, requires_grad=True)
    with Log() as log:
        y = lucid.exp(x) + x.sin() * 2 - F.softplus(x)
        y.sum().backward()
        lucid.zeros(2), x.shape, x[0], lucid.linalg.norm(x), lucid.fft.fft(x), lucid.special.erf(x)
        with lucid.no_grad():
            x[0] = 2
            x += 1
        x.grad = None
    assert log.names == [
        "lucid.exp", "lucid.Tensor.sin", "lucid.Tensor.mul", "lucid.Tensor.add", "lucid.nn.functional.softplus",
        "lucid.Tensor.sub", "lucid.Tensor.sum", "lucid.Tensor.backward", "zeros", "lucid.Tensor.shape.__get__",
        "lucid.Tensor.__getitem__", "lucid.linalg.norm", "lucid.fft.fft", "lucid.erf", "lucid.Tensor.__setitem__",
        "lucid.Tensor.add_", "lucid.Tensor.grad.__set__"]
    assert x.tolist() == [3, 2, 2] and len(log.names) == 17
    x.exp()
    assert len(log.names) == 17


def test_the_inner_mode_first_and_each_is_off_inside_of_itself() -> None:
    class Doubling(Log):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert overrides.has_torch_function(()) == bool(outer_is_on)
            result = super().__torch_function__(func, types, args, kwargs)
            return result * 2 if func is lucid.exp else result

    outer_is_on = False
    x = lucid.zeros(1)
    with Doubling() as alone:
        assert lucid.exp(x).item() == 2
    assert alone.names == ["lucid.exp", "lucid.Tensor.item"]
    outer_is_on = True
    with Log() as outer, Doubling() as inner:
        assert lucid.exp(x).item() == 2
    assert inner.names == ["lucid.exp", "lucid.Tensor.item"]
    assert outer.names == ["lucid.exp", "lucid.Tensor.mul", "lucid.Tensor.item"]


def test_errors_leave_nothing_behind() -> None:
    class Failing(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), Failing():
        lucid.ones(2)
    assert lucid.ones(2).sum().item() == 2 and not overrides.has_torch_function(())
    with pytest.raises(NotImplementedError), overrides.TorchFunctionMode():
        lucid.ones(2)
    with overrides.BaseTorchFunctionMode():
        assert lucid.ones(2).sum().item() == 2


def test_not_implemented_asks_the_next() -> None:
    class Refusing(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented if types or func is lucid.sin else func(*args, **(kwargs or {}))

    class Answering(lucid.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    mine, plain = lucid.ones(2).as_subclass(Answering), lucid.ones(2)
    with Refusing():
        assert lucid.exp(mine) is lucid.exp and lucid.exp(plain).shape == (2,)
        with pytest.raises(TypeError, match="no implementation found for 'lucid.sin'.*nor was it found on the currently active mode"):
            lucid.sin(plain)


def test_disabled() -> None:
    with Log() as log:
        with overrides.DisableTorchFunctionSubclass():
            lucid.ones(2)
        with overrides.DisableTorchFunction():
            lucid.zeros(2)
            assert not overrides.has_torch_function(())
    assert log.names == ["ones"]


def test_other_threads_do_not_see_a_mode() -> None:
    found: list[Any] = []
    with Log() as log:
        thread = threading.Thread(target=lambda: found.append(lucid.add(1.5, lucid.full((2,), 2.0)).sum().item()))
        thread.start()
        thread.join()
    assert found == [7] and log.names == []


def test_functions_are_what_they_were_afterwards() -> None:
    before = [lucid.exp.func, lucid.Tensor.exp.__code__, lucid.Tensor.shape.fget.__code__, lucid.einsum.__code__]
    with Log() as log:
        assert lucid.Tensor.exp.__code__ is not before[1]
        lucid.einsum("i->", lucid.ones(2))
    assert log.names == ["ones", "lucid.einsum"]
    assert before == [lucid.exp.func, lucid.Tensor.exp.__code__, lucid.Tensor.shape.fget.__code__, lucid.einsum.__code__]


@pytest.mark.parametrize("first", ["mode", "autocast"])
def test_together_with_autocast(first: str) -> None:
    x = lucid.ones(2, 2)

    def compute() -> Any:
        return x @ x, F.linear(x, x), x.mm(x), lucid.exp(x)

    with Log() as log:
        if first == "mode":
            with lucid.autocast("cpu", dtype=lucid.bfloat16):
                found = compute()
    if first == "autocast":
        with lucid.autocast("cpu", dtype=lucid.bfloat16):
            with log:
                found = compute()
            assert (x @ x).dtype == lucid.bfloat16
    assert [t.dtype for t in found] == [lucid.bfloat16] * 3 + [lucid.float32]
    assert log.names == ["lucid.Tensor.matmul", "lucid.linear", "lucid.Tensor.mm", "lucid.exp"]
    assert (x @ x).dtype == lucid.float32


def test_a_compiled_function_runs_eagerly_in_a_mode() -> None:
    compiled = lucid.compile(lambda x: (x * 2).sin())
    x = lucid.ones(3)
    for _ in range(4):
        expected = compiled(x)
    assert compiled.plans
    with Log() as log:
        found = compiled(x)
    assert log.names == ["lucid.Tensor.mul", "lucid.Tensor.sin"] and lucid.equal(found, expected)
    compiled(x)
    assert len(log.names) == 2
