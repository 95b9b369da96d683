"""What cannot be replayed: the function runs eagerly from then on, with one warning, or raises with ``fullgraph``."""
from __future__ import annotations

import os
import random
import tracemalloc
import types
import warnings

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.compiler import GraphBreak

_net = nn.Linear(3, 2)
_counts = {"calls": 0}
_seen: list = []
_numbers = np.ones(3, np.float32)


class Holder:
    value = 0

    def __init__(self):
        self.calls = 0

    def step(self, x):
        self.calls += 1
        return x * self.calls


_holder = Holder()


def item(x):
    return x * x.sum().item()


def truth(x):
    return x + 1 if x.sum() > 0 else x - 1


def numpy(x):
    return lucid.from_numpy(x.numpy() * 2)


def tolist(x):
    return x * len(x.tolist())


def dlpack(x):
    return lucid.from_dlpack(x) * 2


def printing(x):
    str(x)
    return x * 2


def mask(x):
    return x[x > 0]


def nonzero(x):
    return (x > 0).nonzero()


def foreign_memory(x):
    return x * lucid.from_numpy(_numbers)


def global_counter(x):
    _counts["calls"] += 1
    return x * _counts["calls"]


def appended(x):
    y = x * 2
    _seen.append(y)
    return y


def random_number(x):
    return x * random.random()


def attribute(x):
    return _holder.step(x)


def class_attribute(x):
    Holder.value += 1
    return x * Holder.value


def graph_left_over(x):
    y = _net(x)
    y.sum().backward(retain_graph=True)
    return y


def view_of_an_argument(x):
    return x[1:]


def generator_state(x):
    state = lucid.get_rng_state()
    y = F.dropout(x)
    lucid.set_rng_state(state)
    return y


def equality(x):
    return x * (2 if lucid.equal(x, x * 1) else 3)


_iterator = iter([1.0] * 99)
_large = np.ones(2000)
_options = types.SimpleNamespace(calls=0)


def iterator(x):
    return x * next(_iterator)


def large_array(x):
    return x * float(_large.mean())


def namespace(x):
    _options.calls += 1
    return x * _options.calls


def masked_select(x):
    return x.masked_select(x > 0)


def unique(x):
    return x.unique()


def repeats(x):
    return x.repeat_interleave((x > 0).long())


def bincount(x):
    return (x.abs()).long().bincount()


def text(x):
    print("one line")
    return x * 2


def address(x):
    return x * (x.data_ptr() % 3)


def an_attribute_of_a_tensor(x):
    _net.weight.count = getattr(_net.weight, "count", 0) + 1
    return x * _net.weight.count


def an_attribute_of_a_function(x):
    an_attribute_of_a_function.count += 1
    return x * an_attribute_of_a_function.count


an_attribute_of_a_function.count = 0


def seeded(x):
    lucid.manual_seed(3)
    return F.dropout(x)


class Result:
    def __init__(self, value):
        self.value = value

    def numpy(self, force):
        return self.value.numpy(force=force)


def an_object(x):
    return Result(x * 2)


def from_python_elements(x):
    return lucid.tensor([float(x[0]), 2.0])


def retained(x):
    loss = (_net(x) ** 2).sum()
    loss.backward(retain_graph=True)
    return loss


REFUSED = [text, address, an_attribute_of_a_tensor, an_attribute_of_a_function, seeded, iterator, large_array, namespace, masked_select, unique, repeats, bincount, an_object, from_python_elements, retained,
           item, truth, numpy, tolist, dlpack, printing, mask, nonzero, foreign_memory, global_counter, appended, random_number,
           attribute, class_attribute, graph_left_over, view_of_an_argument, generator_state, equality]


def _run(function, x):
    result = function(x)
    return result.numpy(force=True).copy()


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_runs_eagerly_from_then_on_with_one_warning(function):
    inputs = [lucid.tensor([1.0, -2.0, 3.0]) * n for n in (1, 2, -1, 4, -3)]

    def all_results(run):
        random.seed(0)
        lucid.manual_seed(0)
        _counts["calls"] = _holder.calls = Holder.value = _options.calls = 0
        an_attribute_of_a_function.count = 0
        vars(_net.weight).pop("count", None)
        _seen.clear()
        return [_run(run, x) for x in inputs], [y.numpy() for y in _seen]

    expected = all_results(function)
    compiled = lucid.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = all_results(compiled)
    for a, b in zip(found[0] + found[1], expected[0] + expected[1], strict=True):
        np.testing.assert_array_equal(a, b)
    messages = [str(w.message) for w in caught if "lucid.compile" in str(w.message)]
    assert len(messages) == 1 and function.__name__ in messages[0]
    assert compiled.plans == [] and "runs eagerly" in compiled.summary()


@pytest.mark.parametrize("function", [item, truth, numpy, tolist, printing, mask, appended, graph_left_over, generator_state],
                         ids=lambda f: f.__name__)
def test_raises_with_fullgraph(function):
    compiled = lucid.compile(function, fullgraph=True)
    with pytest.raises(GraphBreak, match="test_refusals.py"):
        compiled(lucid.tensor([1.0, -2.0, 3.0]))


def test_the_warning_names_the_line():
    compiled = lucid.compile(item)
    with pytest.warns(UserWarning, match=rf"test_refusals.py:{item.__code__.co_firstlineno + 1}: Python reads"):
        compiled(lucid.ones(3))


# ---- signatures --------------------------------------------------------------------------------------------------------
def _counted(compiled, *calls):
    for call in calls:
        for _ in range(4):
            call(compiled)
    return len(compiled.plans)


def test_a_plan_for_each_signature():
    def f(x, factor=2, *, add=True):
        y = x * factor
        return y + 1 if add else y

    compiled = lucid.compile(f, fullgraph=True)
    x = lucid.ones(2, 3)
    plans = _counted(compiled, lambda c: c(x), lambda c: c(x, 3), lambda c: c(x, add=False), lambda c: c(x.t()),
                     lambda c: c(x.double()), lambda c: c(lucid.ones(4)))
    assert plans == 6
    assert compiled(x, 3).tolist() == f(x, 3).tolist()


def test_nothing_is_shared_between_arguments_of_other_identity():
    compiled = lucid.compile(lambda a, b: a.mul_(2) + b, fullgraph=True)
    for _ in range(4):
        x = lucid.ones(2)
        assert compiled(x, x).tolist() == [4, 4]
    for _ in range(4):
        assert compiled(lucid.ones(2), lucid.ones(2)).tolist() == [3, 3]


def test_what_a_function_sees_is_watched():
    scale, table = 2.0, {"bias": lucid.ones(3), "shift": 1}
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).eval()

    def f(x):
        with lucid.no_grad():
            return net(x) * scale + table["bias"] + table["shift"]

    compiled = lucid.compile(f, fullgraph=True, recompile_limit=20)
    x = lucid.ones(2, 3)

    def check():
        for _ in range(4):
            lucid.manual_seed(1)
            found = compiled(x)
            lucid.manual_seed(1)
            np.testing.assert_array_equal(found.numpy(), f(x).numpy())

    check()
    scale = 3.0
    check()
    table["bias"] = lucid.zeros(3)
    check()
    table["shift"] = 5
    check()
    net.train()
    check()
    net[1].p = 0.2
    check()
    net[0].weight.data = lucid.ones(3, 3)  # other memory
    check()
    with lucid.no_grad():
        net[0].weight.mul_(3)  # the same memory: no new plan
    before = len(compiled.plans)
    check()
    assert len(compiled.plans) == before
    net[0].register_forward_hook(lambda module, args, result: result + 1)
    check()
    net[0] = nn.Linear(3, 3)
    check()


def test_a_state_that_is_handed_on():
    state = {"h": lucid.zeros(3)}

    def f(x):
        state["h"] = lucid.tanh(state["h"] + x)
        return state["h"] * 2

    found = []
    for run in (f, lucid.compile(f, fullgraph=True)):
        state["h"] = lucid.zeros(3)
        found.append([run(lucid.ones(3) * n).numpy() for n in range(6)] + [state["h"].numpy()])
    np.testing.assert_array_equal(*found)


def test_the_recompile_limit():
    compiled = lucid.compile(lambda x, n: x * n, recompile_limit=2)

    def run():
        for n in range(5):
            for _ in range(3):
                assert compiled(lucid.ones(2), n).tolist() == [n, n]

    with pytest.warns(UserWarning, match="recompile_limit of 2"):
        run()
    assert len(compiled.plans) == 2


def test_writes_are_known_to_the_graph():
    w, x = lucid.ones(3, requires_grad=True), lucid.ones(3)
    compiled = lucid.compile(lambda t: t.mul_(2), fullgraph=True)
    for _ in range(4):
        y = (w * x).sum()
        compiled(x)
        with pytest.raises(RuntimeError, match="modified"):
            y.backward()


def test_gradients_and_writes_go_to_the_arguments_of_the_call():
    def f(x, y):
        (x * y).sum().backward()
        y.add_(1)
        return y, y

    compiled = lucid.compile(f, fullgraph=True)
    for n in range(5):
        x, y = lucid.ones(3, requires_grad=True), lucid.full((3,), float(n))
        saved = (lucid.ones(3, requires_grad=True) * y).sum()
        a, b = compiled(x, y)
        assert a is y and b is y
        assert x.grad.tolist() == [n] * 3 and y.tolist() == [n + 1] * 3
        with pytest.raises(RuntimeError, match="modified"):
            saved.backward()
    assert compiled._replays == 3


def test_hooks_of_parameters_are_watched():
    w = nn.Parameter(lucid.ones(3))

    def f(x):
        w.grad = None
        (w * x).sum().backward()

    compiled = lucid.compile(f, fullgraph=True)
    for _ in range(4):
        compiled(lucid.ones(3))
    handle = w.register_hook(lambda g: g * 2)
    for _ in range(4):
        compiled(lucid.ones(3))
        assert w.grad.tolist() == [2] * 3
    handle.remove()
    for _ in range(4):
        compiled(lucid.ones(3))
        assert w.grad.tolist() == [1] * 3


def test_containers_among_the_arguments():
    def f(batch):
        batch["y"] = batch["x"] * 2
        return batch["y"] + 1

    compiled = lucid.compile(f)

    def run():
        for n in range(4):
            batch = {"x": lucid.full((1,), float(n))}
            assert compiled(batch).item() == 2 * n + 1
            assert batch["y"].item() == 2 * n

    with pytest.warns(UserWarning, match="container among its arguments"):
        run()

    pure = lucid.compile(lambda batch: {"z": [batch["x"] * 2, 3]}, fullgraph=True)
    for n in range(4):
        found = pure({"x": lucid.full((1,), float(n))})
        assert found["z"][0].item() == 2 * n and found["z"][1] == 3


@pytest.mark.parametrize("read", [lambda module: getattr(module, "FACTOR".lower()), lambda module: eval("module." + "factor")])
def test_verify_finds_what_a_computed_name_leads_to(read):
    module = types.ModuleType("settings")
    module.factor = 2.0
    compiled = lucid.compile(lambda x: x * read(module), verify=1)
    for _ in range(3):
        compiled(lucid.ones(2))
    module.factor = 3.0
    with pytest.raises(RuntimeError, match="'mul' has other operands"):
        compiled(lucid.ones(2))


def test_verify_finds_what_is_baked(monkeypatch):
    monkeypatch.setenv("FACTOR", "2")
    compiled = lucid.compile(lambda x: x * int(os.environ["FACTOR"]), verify=2)
    for _ in range(5):
        compiled(lucid.ones(2))
    monkeypatch.setenv("FACTOR", "3")
    with pytest.raises(RuntimeError, match="'mul' has other operands"):
        compiled(lucid.ones(2))


def test_errors_are_those_of_the_function():
    compiled = lucid.compile(lambda x, i: F.embedding(i, x), fullgraph=True)
    table = lucid.ones(3, 2)
    for _ in range(4):
        compiled(table, lucid.tensor([0, 2]))
    with pytest.raises(IndexError):
        compiled(table, lucid.tensor([0, 3]))


def test_summary_and_memory():
    compiled = lucid.compile(lambda x: (x * 2).exp().sum(), fullgraph=True)
    assert "nothing has been recorded" in compiled.summary()
    for _ in range(3):
        compiled(lucid.ones(100))
    plan, = compiled.plans
    assert "3 kernels" in plan.summary() and "exp" in plan.summary()
    assert 800 <= plan.memory <= 804


def test_inner_functions_are_part_of_the_outer():
    inner = lucid.compile(lambda x: x * 2, fullgraph=True)
    outer = lucid.compile(lambda x: inner(x) + 1, fullgraph=True)
    for _ in range(4):
        assert inner(lucid.ones(1)).item() == 2
    for n in range(4):
        assert outer(lucid.full((1,), float(n))).item() == 2 * n + 1


def test_observers_see_every_kernel():
    compiled = lucid.compile(lambda x: x * 2, fullgraph=True)
    for _ in range(4):
        compiled(lucid.ones(2))
    names = []
    with lucid.backends.observe(lambda name, *others: names.append(name)):
        compiled(lucid.ones(2))
    assert "mul" in names


def test_options_and_methods():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        @lucid.compile(fullgraph=True)
        def run(self, x):
            return x * self.factor

    a, b = Scaled(2), Scaled(3)
    for _ in range(4):
        assert (a.run(lucid.ones(1)).item(), b.run(lucid.ones(1)).item()) == (2, 3)
    a.factor = 5
    for _ in range(4):
        assert (a.run(lucid.ones(1)).item(), b.run(lucid.ones(1)).item()) == (5, 3)

    def f(x):
        return x

    assert lucid.compile(f, disable=True) is f
    with pytest.raises(RuntimeError, match="a function or a module"):
        lucid.compile(3)


def test_no_more_memory_than_eagerly():
    net = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.Tanh())])
    x = lucid.randn(512, 64)

    def step(x):
        for p in net.parameters():
            p.grad = None
        y = (net(x).reshape(256, 128) ** 2).mean()
        y.backward()
        return y.detach()

    compiled = lucid.compile(step, fullgraph=True)
    for _ in range(4):  # the last one has written the plan's function
        compiled(x)
    peaks = []
    for run in (step, compiled):
        tracemalloc.start()
        run(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    plan, = compiled.plans
    assert peaks[1] <= peaks[0] and 7 * x.nbytes <= plan.memory <= 14 * x.nbytes
    assert sum(size for *_, size in plan.lifetimes.pieces) > plan.memory == max(plan.lifetimes.bytes)


def test_a_picture_of_the_memory():
    pytest.importorskip("matplotlib").use("Agg")
    compiled = lucid.compile(lambda x: (x * 2).exp().sum(), fullgraph=True)
    for _ in range(2):
        compiled(lucid.ones(100))
    axes = compiled.plans[0].plot()
    assert "800 bytes" in axes.get_legend().get_texts()[0].get_text().replace("804", "800")
