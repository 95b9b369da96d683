"""Gradient modes, hooks and anomaly detection."""
from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

import lucid
from lucid import Tensor


def leaf(values):
    return lucid.tensor(values, requires_grad=True)


def test_no_grad_as_context_and_decorator():
    x = leaf([1.0])
    with lucid.no_grad():
        assert not (x * 2).requires_grad
        with lucid.enable_grad():
            assert (x * 2).requires_grad
    assert (x * 2).requires_grad

    @lucid.no_grad()
    def function():
        return x * 2

    @lucid.no_grad
    def bare():
        return lucid.is_grad_enabled()

    assert not function().requires_grad and bare() is False
    assert lucid.is_grad_enabled()


def test_mode_survives_an_exception():
    with pytest.raises(ValueError), lucid.no_grad():
        raise ValueError
    assert lucid.is_grad_enabled()


def test_set_grad_enabled():
    with lucid.set_grad_enabled(False):
        assert not lucid.is_grad_enabled()
    assert lucid.is_grad_enabled()
    lucid.set_grad_enabled(False)
    assert not lucid.is_grad_enabled()
    lucid.set_grad_enabled(True)
    assert lucid.is_grad_enabled()


def test_modes_are_local_to_a_thread():
    seen = []
    with lucid.no_grad():
        thread = threading.Thread(target=lambda: seen.append(lucid.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode():
    x = leaf([2.0])
    with lucid.inference_mode():
        y = x * 2
        assert not y.requires_grad and y.is_inference()
        assert lucid.is_inference_mode_enabled() and not lucid.is_grad_enabled()
    assert not (x * 1).is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    assert (x + y).requires_grad  # nothing saved
    assert (x * y.clone()).requires_grad

    @lucid.inference_mode()
    def function():
        return lucid.is_inference_mode_enabled()

    assert function()


def test_hooks_change_gradients_and_can_be_removed():
    x = leaf([1.0, 2.0])
    handle = x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        Tensor([1.0]).register_hook(print)


def test_hook_on_intermediate_and_retain_grad():
    x = leaf([3.0])
    y = x * x
    y.retain_grad()
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2).sum().backward()
    assert seen == [2.0] and y.grad.tolist() == [2.0] and x.grad.tolist() == [12.0]


def test_hook_that_keeps_the_gradient_does_not_alias_it():
    x = leaf([3.0])
    kept = []
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    x.grad.add_(100)
    assert kept[0].tolist() == [2.0]


def test_hook_with_a_wrong_shape():
    x = leaf([3.0])
    x.register_hook(lambda g: lucid.ones(5))
    with pytest.raises(RuntimeError, match="must return None or a tensor of shape"):
        (x * 2).sum().backward()


def test_post_accumulate_hook():
    x = leaf([3.0])
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * 2).sum().backward()
    assert seen == [(True, 2.0)]
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_anomaly_names_the_op_and_where_it_was_called():
    x = leaf([-1.0])
    with lucid.autograd.detect_anomaly():
        y = x.sqrt()
        with pytest.raises(RuntimeError, match="op 'sqrt' returned nan") as error:
            y.sum().backward()
    assert "test_grad_mode" in str(error.value)
    assert not lucid.autograd.is_anomaly_enabled()
    x.sqrt().sum().backward()  # silent without it


def test_requires_grad_rules():
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        lucid.tensor([1, 2], requires_grad=True)
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        (x * 2).requires_grad = False
    x.requires_grad_(False)
    assert not x.requires_grad and x.is_leaf


def test_grad_assignment_is_checked():
    x = leaf([1.0, 2.0])
    x.grad = Tensor([5.0, 6.0])
    (x * 2).sum().backward()
    assert x.grad.tolist() == [7.0, 8.0]
    with pytest.raises(TypeError):
        x.grad = 3
    with pytest.raises(RuntimeError, match="shape"):
        x.grad = Tensor([1.0])
    with pytest.raises(RuntimeError, match="dtype"):
        x.grad = lucid.ones(2, dtype=lucid.float64)
    del x.grad
    assert x.grad is None


# ---- generators --------------------------------------------------------------------------------------------------------
# Each mode as a decorator.
DECORATORS = [lambda library: library.no_grad(), lambda library: library.no_grad, lambda library: library.enable_grad(),
              lambda library: library.enable_grad, lambda library: library.inference_mode(),
              lambda library: library.inference_mode(False), lambda library: library.set_grad_enabled(False),
              lambda library: library.set_grad_enabled(True)]


def modes(library):
    return library.is_grad_enabled(), library.is_inference_mode_enabled()


def walk(library, decorator, outside):
    """The modes inside a decorated generator at each step, and those outside between the steps."""
    seen = []

    class Stop(Exception):
        pass

    @decorator
    def steps(first):
        seen.append(("start", modes(library)))
        try:
            got = yield first
            seen.append((got, modes(library)))
            try:
                yield 2
            except Stop:
                seen.append(("thrown", modes(library)))
            yield 3
        finally:
            seen.append(("end", modes(library)))
        return 4

    with outside():
        generator = steps(1)
        for step in (lambda: next(generator), lambda: generator.send("sent"), lambda: generator.throw(Stop()),
                     lambda: generator.send(None)):
            try:
                seen.append(step())
            except StopIteration as stop:
                seen.append(("returned", stop.value))
            seen.append(("outside", modes(library)))
        generator = steps(1)
        next(generator)
        generator.close()
        seen.append(("outside", modes(library)))
        with pytest.raises(KeyError):  # what the generator does not catch comes out
            generator = steps(1)
            next(generator)
            generator.throw(KeyError())
        seen.append(("outside", modes(library)))
        assert list(generator) == []
    return seen


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("outside", ["no_grad", "enable_grad", "inference_mode"])
def test_mode_of_a_generator_holds_in_its_steps_and_only_then(number, outside):
    enter = getattr(lucid, outside)
    with enter():
        before = modes(lucid)
        with DECORATORS[number](lucid) if number not in (1, 3) else DECORATORS[number](lucid)():
            inside = modes(lucid)
    seen = walk(lucid, DECORATORS[number](lucid), enter)
    assert modes(lucid) == (True, False)
    pairs = [item for item in seen if isinstance(item, tuple) and item[0] != "returned"]
    assert {mode for what, mode in pairs if what == "outside"} == {before}
    assert {mode for what, mode in pairs if what != "outside"} == {inside}
    assert ("returned", 4) in seen and [item for item in seen if isinstance(item, int)] == [1, 2, 3]


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("outside", ["no_grad", "enable_grad"])
def test_generators_and_coroutines_as_in_pytorch(number, outside):
    torch = pytest.importorskip("torch")
    found = []
    for library in (lucid, torch):
        decorator = DECORATORS[number](library)
        seen = walk(library, decorator, getattr(library, outside))

        @decorator
        async def coroutine(library=library):
            return modes(library)

        @decorator
        async def asynchronous(library=library):
            yield modes(library)

        async def collect(asynchronous=asynchronous, coroutine=coroutine):
            return [item async for item in asynchronous()], await coroutine()

        found.append((seen, asyncio.run(collect())))
    assert found[0] == found[1]


def test_a_decorated_generator_keeps_its_name_and_is_one():
    @lucid.no_grad()
    def numbers():
        """All."""
        yield from (1, 2)

    assert numbers.__name__ == "numbers" and numbers.__doc__ == "All." and inspect.isgeneratorfunction(numbers)
    assert list(numbers()) == [1, 2]
