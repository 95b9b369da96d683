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


# ---- writes to tensors of inference_mode -------------------------------------------------------------------------------
INFERENCE_WRITES = {
    "add_": lambda t, x: x.add_(1), "mul_": lambda t, x: x.mul_(t.ones(3)), "exp_": lambda t, x: x.exp_(),
    "zero_": lambda t, x: x.zero_(), "fill_": lambda t, x: x.fill_(2.0), "copy_": lambda t, x: x.copy_(t.ones(3)),
    "an element": lambda t, x: x.__setitem__(0, 5.0), "elements": lambda t, x: x.__setitem__(t.tensor([0, 1]), 5.0),
    "out": lambda t, x: t.add(t.ones(3), 1, out=x), "larger out": lambda t, x: t.exp(t.ones(5), out=x),
    "zeros": lambda t, x: t.zeros(3, out=x), "uniform_": lambda t, x: x.uniform_(), "normal_": lambda t, x: x.normal_(),
    "exponential_": lambda t, x: x.exponential_(), "a view": lambda t, x: x[:2].add_(1),
    "masked_fill_": lambda t, x: x.masked_fill_(x > 1, 0.0), "index_add_": lambda t, x: x.index_add_(0, t.tensor([0]), t.ones(1)),
    "scatter_": lambda t, x: x.scatter_(0, t.tensor([0]), t.ones(1)), "clamp_": lambda t, x: x.clamp_(0, 1),
    "cumsum_": lambda t, x: x.cumsum_(0), "relu": lambda t, x: t.nn.functional.relu(x, inplace=True),
    "init": lambda t, x: t.nn.init.ones_(x), "unsqueeze_": lambda t, x: x.unsqueeze_(0), "resize_": lambda t, x: x.resize_(2),
    "with a gradient": lambda t, x: x.add_(t.ones(3, requires_grad=True)),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", INFERENCE_WRITES)
def test_writes_to_inference_tensors_outside_the_mode_are_refused(name, device):
    lucid.set_default_device(device)
    try:
        write = INFERENCE_WRITES[name]
        with lucid.inference_mode():
            x = lucid.tensor([1.0, 2.0, 3.0])
            write(lucid, x.clone())
        for mode in (lucid.enable_grad, lucid.no_grad):
            with mode(), pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
                write(lucid, x)
        assert x.tolist() == [1.0, 2.0, 3.0]
        y = x.clone()
        write(lucid, y)  # an ordinary tensor
        with lucid.inference_mode():
            write(lucid, x)
    finally:
        lucid.set_default_device(None)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_writes_to_inference_tensors_are_refused_by_pytorch_as_well():
    torch = pytest.importorskip("torch")
    for name, write in INFERENCE_WRITES.items():
        with torch.inference_mode():
            x = torch.tensor([1.0, 2.0, 3.0])
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write(torch, x)
            pytest.fail(name)


def test_what_inference_mode_leaves_alone(device):
    x = lucid.ones(3, device=device)
    with lucid.inference_mode():
        x.add_(1)  # a write to an ordinary tensor, and to a view of one
        part = x[:1]
        part.mul_(2)
    part.add_(1)
    x[1:].add_(1)
    assert x.tolist() == [5.0, 3.0, 3.0] and not x.is_inference() and not part.is_inference()
    with lucid.inference_mode():
        made = lucid.ones(3, device=device)
    made.detach().add_(1)
    made.data.add_(1)
    assert made.tolist() == [3.0, 3.0, 3.0] and made.is_inference()


def test_gradients_and_modules_of_inference_mode_are_not_written():
    with lucid.inference_mode():
        gradient = lucid.ones(2)
        module = lucid.nn.Linear(2, 2)
    p = lucid.ones(2, requires_grad=True)
    p.grad = gradient
    with pytest.raises(RuntimeError, match="inference tensor"):
        (p * 2).sum().backward()
    assert gradient.tolist() == [1.0, 1.0]
    state = {name: lucid.zeros(value.shape) for name, value in module.state_dict().items()}
    before = module.weight.tolist()
    with pytest.raises(RuntimeError, match="inference tensor"):
        module.load_state_dict(state)
    assert module.weight.tolist() == before


def test_an_inference_tensor_cannot_require_grad_outside(device):
    with lucid.inference_mode():
        x = lucid.ones(2, device=device)
        part, whole, layer = x[:1], lucid.ones(2, device=device, dtype="int64"), lucid.nn.Linear(1, 1)
        inside = lucid.ones(2, device=device).requires_grad_()
    assert inside.requires_grad and layer.weight.requires_grad
    for refused in (x.requires_grad_, part.requires_grad_, lambda: setattr(x, "requires_grad", True),
                    lambda: lucid.nn.Parameter(x), whole.requires_grad_):
        with pytest.raises(RuntimeError):
            refused()
    assert not x.requires_grad and not x.requires_grad_(False).requires_grad
    assert x.clone().requires_grad_().requires_grad and not lucid.nn.Parameter(x, requires_grad=False).requires_grad
