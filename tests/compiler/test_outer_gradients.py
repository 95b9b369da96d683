"""Modules compiled alone, whose results are differentiated outside: in two plans, bit for bit as eagerly."""
from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.compiler import plan as plans

from .programs import check, data, labels, net


def _contents(module):
    return [value.numpy(force=True).copy() for value in module.state_dict().values()]


def _trained(build, compiled, device="cpu", steps=8, loss=None, optimizer="SGD"):
    """The losses and the state of a model after some steps of a usual loop, and the model."""
    lucid.manual_seed(0)
    model = build().to(device)
    run = lucid.compile(model, fullgraph=True) if compiled else model
    steps_of = getattr(lucid.optim, optimizer)(run.parameters(), lr=0.05)
    losses = []
    for number in range(steps):
        x, t = data(number, 5, 6).to(device), labels(number, 3, 5).to(device)
        steps_of.zero_grad()
        value = F.cross_entropy(run(x), t) if loss is None else loss(run, x, t)
        value.backward()
        steps_of.step()
        losses.append(value.item())
    return losses, _contents(model), run


def _same(build, **options):
    (losses, state, _), (found, other, run) = _trained(build, False, **options), _trained(build, True, **options)
    assert found == losses
    for a, b in zip(state, other, strict=True):
        np.testing.assert_array_equal(b, a)
    compiled = run._compiled
    assert compiled._replays > 0, compiled.summary()
    return compiled


def _wide():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_usual_loop(device, optimizer):
    compiled = _same(_wide, device=device, optimizer=optimizer)
    (plan,) = compiled.plans[-1:]
    assert "of them in backward, outside" in plan.summary()


def test_chains_and_fused_kernels(monkeypatch):
    monkeypatch.setattr(plans, "FUSED_AFTER", 2)
    compiled = _same(net)
    assert all(function.groups for plan in compiled.plans for function in plan.functions)


class _TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.a, self.b = net(), nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        h = self.body(x)
        return {"a": self.a(h), "b": self.b(h.relu()), "size": len(x)}


def test_several_results_of_which_not_all_are_used(device):
    def both(run, x, t):
        found = run(x)
        return F.cross_entropy(found["a"], t) + found["b"].square().sum() / found["size"]

    _same(_TwoHeads, device=device, loss=both)
    _same(_TwoHeads, device=device, loss=lambda run, x, t: F.cross_entropy(run(x)["a"], t))


def _gradients(call, model, used):
    """The gradients of a model for a loss of the results that are `used`, and the state of the generator behind."""
    lucid.manual_seed(3)
    model.zero_grad()
    found = call(data(0, 5, 6))
    sum(found[name].sum() for name in used).backward()
    return [None if p.grad is None else p.grad.numpy(force=True) for p in model.parameters()], lucid.rand(2).tolist()


@pytest.mark.parametrize("order", [("ab", "a"), ("a", "ab"), ("a", "b")])
def test_other_results_get_gradients_than_before(device, order):
    lucid.manual_seed(0)
    model = _TwoHeads()
    model.body.append(nn.Dropout(0.5))
    with lucid.device(device):
        model.to(device)
        run = lucid.compile(lambda x: model(x.to(device)), fullgraph=device == "cpu")
        first, then = order
        for used in (first, first, first, then, first, then):
            found, wanted = _gradients(run, model, used), _gradients(lambda x: model(x.to(device)), model, used)
            assert found[1] == wanted[1]
            for a, b in zip(found[0], wanted[0], strict=True):
                np.testing.assert_array_equal(a, b)


def test_other_results_of_a_call_that_cannot_be_repeated():
    model = _TwoHeads()
    model.body.append(nn.BatchNorm1d(3))
    run = lucid.compile(model, fullgraph=True)
    for _ in range(3):
        _gradients(run, model, "a")
    with pytest.raises(RuntimeError, match="a gradient that it did not get"):
        _gradients(run, model, "ab")
    run = lucid.compile(_TwoHeads(), fullgraph=True)
    for _ in range(3):
        _gradients(run, run, "a")
    run.zero_grad()
    found = run(data(0, 5, 6))
    with lucid.no_grad():
        run.b.bias.mul_(1)
    with pytest.raises(RuntimeError, match="a gradient that it did not get"):
        found["b"].sum().backward()


def test_in_the_middle_of_a_graph_and_called_twice(device):
    def loss(run, x, t):
        before = _first(device)
        h = run(lucid.tanh(x @ before))
        return F.cross_entropy(h + run(x), t) + (before * before).sum() * 0.1

    grads = {}

    def _first(device):
        if "w" not in grads:
            grads["w"] = (lucid.eye(6, device=device) * 0.5).requires_grad_()
        return grads["w"]

    outer = []
    for compiled in (False, True):
        grads.clear()
        found = _trained(lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), compiled, device, loss=loss)
        outer.append((found[0], found[1], grads["w"].grad.numpy(force=True)))
    assert outer[0][0] == outer[1][0]
    np.testing.assert_array_equal(outer[0][2], outer[1][2])
    for a, b in zip(outer[0][1], outer[1][1], strict=True):
        np.testing.assert_array_equal(b, a)
    assert found[2]._compiled._replays > 0


def test_the_graph_is_kept_or_freed():
    model = net()
    run = lucid.compile(model, fullgraph=True)
    x = data(0, 4, 6)
    for _ in range(4):
        model.zero_grad()
        y = run(x)
        y.sum().backward(retain_graph=True)
        once = model[0].weight.grad.clone()
        y.sum().backward()
        np.testing.assert_array_equal(model[0].weight.grad.numpy(), (once + once).numpy())
        with pytest.raises(RuntimeError, match="second time"):
            y.sum().backward()
    assert run._compiled._replays > 0


def test_hooks_of_the_node():
    model = net()
    run = lucid.compile(model, fullgraph=True)
    for number in range(5):
        found = []
        for call in (model, run):
            model.zero_grad()
            y = call(data(number, 4, 6))
            seen = []
            y.register_hook(lambda g: g * 2)
            y.grad_fn.register_hook(lambda inputs, outputs, seen=seen: seen.append(outputs[0].sum().item()))
            y.sum().backward(retain_graph=True)
            y.sum().backward()
            assert seen == [24.0, 24.0]
            found.append([p.grad.numpy() for p in model.parameters()])
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)
    assert run._compiled._replays == 3


def test_writes_between_forward_and_backward_are_noticed():
    model = net()
    run = lucid.compile(model, fullgraph=True)
    for number in range(5):
        model.zero_grad()
        y = run(data(number, 4, 6))
        with lucid.no_grad():
            model[2].weight.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        run(data(number, 4, 6)).sum().backward()
    exp = lucid.compile(lambda x: (x * 2).exp(), fullgraph=True)
    for number in range(5):
        x = data(number, 3).requires_grad_()
        exp(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), ((x * 2).exp() * 2).detach().numpy())
        y = exp(x)
        with lucid.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    assert exp._replays > 0 < run._compiled._replays


def test_gradients_of_gradients():
    def penalty(run, x):
        x = x.requires_grad_()
        (g,) = lucid.autograd.grad(run(x).sum(), x, create_graph=True)
        return (g * g).sum()

    model = net()
    run = lucid.compile(model)
    with pytest.warns(UserWarning, match="differentiated again"):
        penalty(run, data(0, 4, 6)).backward()
    for number in range(4):
        model.zero_grad()
        penalty(run, data(number, 4, 6)).backward()
    wanted = [p.grad for p in model.parameters()]
    model.zero_grad()
    penalty(model, data(3, 4, 6)).backward()
    for a, p in zip(wanted, model.parameters(), strict=True):
        assert (a is None) is (p.grad is None)
        if a is not None:
            np.testing.assert_array_equal(a.numpy(), p.grad.numpy())
    run = lucid.compile(model, fullgraph=True)
    for number in range(4):
        run(data(number, 4, 6).requires_grad_()).sum().backward()
        model.zero_grad()
    for number in range(3):  # in a replay
        grads = []
        for call in (model, run):
            model.zero_grad()
            penalty(call, data(number, 4, 6)).backward()
            grads.append([None if p.grad is None else p.grad.numpy() for p in model.parameters()])
        for a, b in zip(*grads, strict=True):
            np.testing.assert_array_equal(a, b)
    assert run._compiled._replays > 3
    model.append(nn.BatchNorm1d(3))
    for number in range(4):
        run(data(number, 4, 6).requires_grad_()).sum().backward()
    with pytest.raises(RuntimeError, match="create_graph"):
        penalty(run, data(0, 4, 6))


@pytest.mark.parametrize("kind", ["hook", "leaf inside", "graph before"])
def test_what_runs_eagerly(kind):
    weight = lucid.ones(3, requires_grad=True)
    state = {"scale": weight * 2}

    def function(x):
        if kind == "hook":
            y = (x * weight).exp()
            y.register_hook(lambda g: g * 2)
            return y * x
        if kind == "leaf inside":
            return (x * weight * lucid.ones(3, requires_grad=True)).exp() * x
        return (x * state["scale"]).exp()

    compiled = lucid.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(4):
            grads = []
            for call in (function, compiled):
                weight.grad = None
                state["scale"] = weight * 2
                call(data(number, 3)).sum().backward()
                grads.append(weight.grad.numpy())
            np.testing.assert_array_equal(*grads)
    assert len([w for w in caught if "runs eagerly" in str(w.message)]) == 1


def test_validation_without_no_grad_and_memory():
    lucid.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    run = lucid.compile(model, fullgraph=True)
    for number in range(6):
        run.train()
        model.zero_grad()
        run(data(number, 5, 6)).sum().backward()
        run.eval()
        with lucid.no_grad():
            run(data(number, 5, 6))
    assert len(run._compiled.plans) == 2
    (plan,) = [plan for plan in run._compiled.plans if len(plan.functions) == 2]
    assert plan.memory <= plan.recorder.peak


def test_calls_without_backward_have_a_plan_of_forward_alone(device):
    model = nn.Sequential(net(), nn.Dropout(0.3)).to(device)
    run = lucid.compile(model, fullgraph=True)
    compiled = run._compiled

    def same(number, is_differentiated=False):
        found = []
        for call in (model, run):
            lucid.manual_seed(number)
            model.zero_grad()
            y = call(data(number, 4, 6).to(device))
            if is_differentiated:
                y.square().sum().backward()
            found.append([y.numpy(force=True), *[p.grad.numpy(force=True) for p in model.parameters() if p.grad is not None],
                          lucid.rand(2).numpy()])
        assert len(found[0]) == len(found[1]) == (6 if is_differentiated else 2)
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)

    for number in range(14):
        same(number)
    assert len(compiled.plans) == 1 and compiled._replays == 5
    for number in range(6):  # after all
        same(number, is_differentiated=True)
    assert "in backward, outside" in compiled.summary()
    assert len(compiled.plans) == 1 and compiled._replays == 9
    with lucid.no_grad():
        for number in range(4):
            same(number)
    assert compiled._replays == 11


def test_autocast_around_calls_without_backward():
    model = net()
    run = lucid.compile(model, fullgraph=True)
    for number in range(13):
        grads = []
        for call in (model, run):
            model.zero_grad()
            with lucid.autocast("cpu", dtype=lucid.bfloat16):
                y = call(data(number, 4, 6))
            if number > 10:
                y.float().square().sum().backward()  # outside of it, and of a forward without a plan of backward
                grads.append([p.grad.numpy() for p in model.parameters()])
        for a, b in zip(*grads or ((), ()), strict=True):
            np.testing.assert_array_equal(a, b)
    assert run._compiled._replays == 3


def test_calls_without_backward_that_change_something_are_not_recorded_for_ever():
    model = nn.Sequential(net(), nn.BatchNorm1d(3))
    run = lucid.compile(model, fullgraph=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(15):
            run(data(number, 4, 6))
    assert [str(warning.message) for warning in caught if "no_grad()" in str(warning.message)] == [
        str(caught[-1].message)]
    assert run._compiled._replays == 0


def test_verified_calls():
    factor = [1.0]
    w = lucid.ones(3, requires_grad=True)
    compiled = lucid.compile(lambda x: (x * w).exp() * _hidden(factor), verify=2)
    for _ in range(6):
        compiled(data(0, 3)).sum().backward()
    assert compiled._replays > 1


def _hidden(values):
    return values[0]


def test_a_checkpointed_module_and_a_custom_function():
    class Twice(lucid.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + x * 0

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

        def forward(self, x):
            return self.b(Twice.apply(lucid.utils.checkpoint.checkpoint(self.a, x, use_reentrant=False).tanh()))

    _same(Model)


def test_a_program_of_two_compiled_modules():
    def program(compiled):
        first, second = net(), nn.Linear(3, 2)
        a, b = compiled(first), compiled(second)
        parameters = [*first.parameters(), *second.parameters()]
        optimizer = lucid.optim.SGD(parameters, lr=0.1)

        def step(number):
            optimizer.zero_grad()
            loss = b(a(data(number, 4, 6))).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach(), *parameters

        return step

    check(program, True)


def test_backward_in_several_threads():
    lucid.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32))
    run = lucid.compile(model, fullgraph=True)
    inputs = [data(number, 8, 32).requires_grad_() for number in range(8)]

    def gradient(call, x):
        (found,) = lucid.autograd.grad(call(x).square().sum(), x)
        return found.numpy()

    for _ in range(4):
        gradient(run, inputs[0])
    wanted = [gradient(model, x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for found, number in [(pool.submit(gradient, run, inputs[n % 8]), n % 8) for n in range(200)]:
            np.testing.assert_array_equal(found.result(), wanted[number])


def test_a_result_as_its_own_gradient(device):
    model = net().to(device)
    run = lucid.compile(model, fullgraph=True)
    for number in range(5):
        found = []
        for call in (model, run):
            model.zero_grad()
            y = call(data(number, 4, 6).to(device))
            y.backward(y.detach())
            found.append([p.grad.numpy(force=True).copy() for p in model.parameters()])
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)
    assert run._compiled._replays == 3


def test_one_gradient_for_two_results():
    def function(x):
        return (x * x).exp(), (x * 3).tanh()

    run = lucid.compile(function, fullgraph=True)
    for number in range(6):
        found = []
        for call in (function, run):
            x = data(number, 4).requires_grad_()
            a, b = call(x)
            (a + b if number < 4 else a * 2 + b * b).sum().backward()
            found.append(x.grad.numpy())
        np.testing.assert_array_equal(*found)
    assert run._replays == 4


def test_recordings_keep_no_graph():
    model = net()
    run = lucid.compile(model, fullgraph=True)
    for number in range(4):
        run(data(number, 4, 6)).sum().backward()
        model.zero_grad()
    recorder = run._compiled.plans[0].recorder
    assert not (recorder.leaves or recorder.wanted or recorder.cuts)


def test_tensors_of_inference_mode_are_refused_as_eagerly():
    run = lucid.compile(net(), fullgraph=True)
    for number in range(4):
        run(data(number, 4, 6)).sum().backward()
    with lucid.inference_mode():
        x = data(0, 4, 6) * 1
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        run(x)


@pytest.mark.parametrize("function", [lambda x: x.sum(1, keepdim=True), lambda x: x + 1, lambda x: -x.T, lambda x: (x.sum(), x + 2)])
def test_arguments_get_gradients_through_graphs_that_have_saved_nothing(device, function):
    def program(compiled):
        run = compiled(function)

        def call(number):
            x = data(number, 4, 6).to(device).requires_grad_()
            results = run(x)
            for result in results if isinstance(results, tuple) else (results,):
                (result * result).sum().backward(retain_graph=True)
            return x.grad

        return call

    check(program, True)


def test_hooks_of_a_result_are_of_one_call(device):
    w = lucid.ones(2, device=device).requires_grad_()
    compiled = lucid.compile(lambda: w + 1)
    for number in range(6):
        w.grad = None
        y = compiled()
        if number == 3:
            y.register_hook(lambda g: g * 10)
        y.sum().backward()
        assert w.grad.tolist() == [10.0 if number == 3 else 1.0] * 2
    assert compiled._replays > 1


def test_a_loss_that_leads_to_an_argument_still():
    def program(compiled):
        @compiled
        def step(x):
            loss = x.sum()
            loss.backward()
            return loss

        def call(number):
            x = data(number, 4).requires_grad_()
            step(x).backward()
            return x.grad

        return call

    check(program, False)


def test_a_penalty_on_a_gradient_beside_the_loss():
    def fitted(compiled):
        lucid.manual_seed(0)
        model = net()
        optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)
        run = lucid.compile(model) if compiled else model
        found = []
        for number in range(4):
            x = data(number, 5, 6).requires_grad_()
            loss = run(x).square().mean()
            slope, = lucid.autograd.grad(loss, x, create_graph=True)
            optimizer.zero_grad()
            (loss + slope.square().sum()).backward()
            optimizer.step()
            found.append(np.concatenate([param.detach().numpy().ravel() for param in model.parameters()]))
        return found

    wanted = fitted(False)
    with pytest.warns(UserWarning, match="differentiated again"):
        found = fitted(True)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)  # the loss and its penalty are added at the end
