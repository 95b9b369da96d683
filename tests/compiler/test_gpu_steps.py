"""Steps of optimizers inside the CUDA graphs of compiled functions: the same bits as eagerly, whatever changes around them."""
from __future__ import annotations

import copy

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

_NUMBERS = np.random.default_rng(3)
_BATCHES = [(_NUMBERS.standard_normal((3, 4)).astype(np.float32), _NUMBERS.integers(0, 3, 3)) for _ in range(9)]


@pytest.fixture
def gpu(device):
    if device == "cpu":
        pytest.skip("a CPU has no graphs")
    return device


def _losses(device, make, between=lambda number, net, opt: None, is_compiled=True, dtype=None):
    """The losses of some steps, and the state after them; `between` is called before each."""
    lucid.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)).to(device, dtype)
    opt = make(net)

    def step(x, t):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), t)
        loss.backward()
        opt.step()
        return loss

    call = lucid.compile(step, fullgraph=True) if is_compiled else step
    losses = []
    for number, (x, t) in enumerate(_BATCHES):
        between(number, net, opt)
        losses.append(call(lucid.tensor(x, device=device, dtype=dtype), lucid.tensor(t, device=device)).item())
    state = [value.numpy(force=True) for value in net.state_dict().values()]
    state += [value.numpy(force=True) for entries in opt.state_dict()["state"].values() for value in entries.values()
              if isinstance(value, lucid.Tensor)]
    return losses, state, call


def _check(device, make, between=lambda number, net, opt: None, captured=True, dtype=None):
    expected, state, _ = _losses(device, make, between, False, dtype)
    found, other, compiled = _losses(device, make, between, True, dtype)
    assert found == expected
    assert len(state) == len(other)
    for a, b in zip(state, other, strict=True):
        np.testing.assert_array_equal(b, a)
    graphs = [plan.graphs for plan in compiled.plans]
    assert graphs and all(each.refused is None for each in graphs)
    assert all(bool(each._steps) == captured for each in graphs)
    return compiled


_MAKERS = {
    "Adam": lambda net: lucid.optim.Adam(net.parameters(), lr=0.01),
    "fused Adam": lambda net: lucid.optim.Adam(net.parameters(), lr=0.01, fused=True, weight_decay=0.1),
    "capturable AdamW": lambda net: lucid.optim.AdamW(net.parameters(), lr=0.01, capturable=True, amsgrad=True),
    "SGD": lambda net: lucid.optim.SGD(net.parameters(), lr=0.1),
    "SGD with momentum": lambda net: lucid.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, dampening=0.5),
    "RMSprop": lambda net: lucid.optim.RMSprop(net.parameters(), lr=0.01, centered=True, momentum=0.5),
    "Adagrad": lambda net: lucid.optim.Adagrad(net.parameters(), lr=0.05, lr_decay=0.1),
    "Rprop": lambda net: lucid.optim.Rprop(net.parameters(), lr=0.01),
    "two groups": lambda net: lucid.optim.Adam([{"params": net[0].parameters(), "lr": 0.1},
                                                {"params": net[2].parameters(), "maximize": True}]),
}


@pytest.mark.parametrize("name", _MAKERS)
def test_a_step_in_a_graph(gpu, name):
    compiled = _check(gpu, _MAKERS[name])
    assert "1 CUDA graphs, with a step of " in compiled.summary()


@pytest.mark.parametrize("dtype", [lucid.float64, lucid.bfloat16])
def test_other_dtypes(gpu, dtype):
    _check(gpu, _MAKERS["Adam"], dtype=dtype)


def test_numbers_that_the_host_computes_stay_there(gpu):
    _check(gpu, lambda net: lucid.optim.NAdam(net.parameters()), captured=False)
    _check(gpu, lambda net: lucid.optim.NAdam(net.parameters(), capturable=True))


@pytest.mark.parametrize("name", ["Adam", "fused Adam", "SGD with momentum"])
def test_options_may_change(gpu, name):
    def between(number, net, opt):
        opt.param_groups[0]["lr"] = 0.1 / (1 + number // 2)
        opt.param_groups[0]["weight_decay"] = 0.01 * (number > 5)

    _check(gpu, _MAKERS[name], between)


def test_a_scheduler_outside(gpu):
    schedulers = {}

    def between(number, net, opt):
        if number == 0:
            schedulers[opt] = lucid.optim.lr_scheduler.StepLR(opt, 2, 0.5)
        else:
            schedulers[opt].step()

    _check(gpu, _MAKERS["Adam"], between)


@pytest.mark.parametrize("name", ["Adam", "fused Adam", "SGD with momentum"])
def test_state_that_is_loaded(gpu, name):
    kept = {}

    def between(number, net, opt):
        if number == 4:
            kept[opt] = copy.deepcopy(opt.state_dict())
        elif number == 6:
            opt.load_state_dict(kept[opt])

    _check(gpu, _MAKERS[name], between)


@pytest.mark.parametrize("name", ["Adam", "fused Adam"])
def test_a_count_that_is_set(gpu, name):
    def between(number, net, opt):
        if number == 5:
            for entries in opt.state.values():
                entries["step"].fill_(1.0)

    _check(gpu, _MAKERS[name], between)


@pytest.mark.parametrize("name", ["Adam", "fused Adam"])
def test_a_step_by_hand_in_between(gpu, name):
    def between(number, net, opt):
        if number in (4, 6):
            opt.step()  # with the gradients of the last step

    _check(gpu, _MAKERS[name], between)


def test_moments_that_come_later(gpu):
    def between(number, net, opt):
        if number == 5:
            for entries in opt.state.values():
                entries["max_exp_avg_sq"] = entries["exp_avg_sq"].clone()
            opt.param_groups[0]["amsgrad"] = True

    _check(gpu, _MAKERS["Adam"], between)


def test_a_frozen_parameter(gpu, monkeypatch):
    def make(net):
        net[0].weight.requires_grad_(False)
        return lucid.optim.Adam(net.parameters(), lr=0.01)

    _check(gpu, make)
    monkeypatch.setattr(lucid.compiler.plan, "FUSED_AFTER", 2)  # the graphs are made once more then

    def f(x):
        opt.zero_grad()
        ((w * x + 1) * 2 - x).square().sum().backward()
        opt.step()

    w, frozen = nn.Parameter(lucid.ones(3, device=gpu)), nn.Parameter(lucid.ones(3, device=gpu))
    opt = lucid.optim.Adam([w, frozen], lr=0.1)
    compiled = lucid.compile(f, fullgraph=True)
    for _ in range(7):
        compiled(lucid.ones(3, device=gpu))
    [plan] = compiled.plans
    assert plan.functions[0].fused and plan.graphs._steps
    assert frozen.tolist() == [1] * 3


def test_hooks_are_called(gpu):
    calls = []

    def between(number, net, opt):
        if number == 5:
            opt.register_step_post_hook(lambda *_: calls.append(number))

    expected = _losses(gpu, _MAKERS["Adam"], between, False)[0]
    assert calls == [5] * 4
    assert _losses(gpu, _MAKERS["Adam"], between, True)[0] == expected
    assert calls == [5] * 8


def test_a_class_of_ones_own_is_called(gpu):
    class Mine(lucid.optim.Adam):
        def _update_group(self, group, pairs):
            raise AssertionError

    _check(gpu, lambda net: Mine(net.parameters()), captured=False)


def test_gradients_that_were_there_before_are_left_to_the_optimizer(gpu):
    def run(is_compiled):
        lucid.manual_seed(0)
        net = nn.Linear(4, 3).to(gpu)
        opt = lucid.optim.SGD(net.parameters(), lr=0.1)
        F.cross_entropy(net(lucid.ones(1, 4, device=gpu)), lucid.zeros(1, dtype=lucid.int64, device=gpu)).backward()

        def step(x):
            opt.step()  # with what was there
            return net(x).sum()

        call = lucid.compile(step, fullgraph=True) if is_compiled else step
        with lucid.no_grad():
            found = [call(lucid.ones(2, 4, device=gpu) * n).item() for n in range(5)]
        assert not is_compiled or all(not plan.graphs._steps for plan in call.plans)
        return found

    assert run(True) == run(False)


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.parametrize("options", [{}, {"fused": True}])
@pytest.mark.parametrize("again", ["scheduler", "step", "both", "once more"])
def test_what_happens_between_steps_of_a_call(gpu, options, again):
    """Options and counts are those that there are at each step."""
    def run(is_compiled):
        lucid.manual_seed(0)
        net = nn.Linear(4, 3).to(gpu)
        opt = lucid.optim.Adam(net.parameters(), lr=0.1, **options)
        scheduler = lucid.optim.lr_scheduler.StepLR(opt, 1, 0.5)

        def step(x):
            opt.zero_grad()
            if again == "both":
                scheduler.step()
            net(x).square().sum().backward()
            if again != "once more":
                opt.step()
            if again != "step":
                scheduler.step()
            opt.step()

        call = lucid.compile(step, fullgraph=True) if is_compiled else step
        for n in range(7):
            if n == 4:
                opt.step()
            if n:
                scheduler.step()
            call(lucid.full((2, 4), 1.0 + n, device=gpu))
        assert not is_compiled or call.plans[0].graphs._steps
        return net.weight.tolist(), opt.state[net.weight]["exp_avg"].tolist(), opt.state[net.weight]["step"].item()

    assert run(True) == run(False)


def test_a_parameter_that_is_listed_twice(gpu):
    def make(net):
        with pytest.warns(UserWarning, match="duplicate parameters"):
            return lucid.optim.Adam([net[0].weight, net[0].weight], lr=0.1)

    _check(gpu, make, captured=False)


def test_options_that_choose_another_step_inside_of_a_call(gpu):
    w = nn.Parameter(lucid.ones(3, device=gpu))
    opt = lucid.optim.SGD([w], lr=0.1)
    state = {"momentum": 0.0}

    class Momentum(lucid.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            for group in self.optimizer.param_groups:
                group["momentum"] = state["momentum"]
            return [0.1]

    scheduler = Momentum(opt)

    def step():
        opt.zero_grad()
        (w * w).sum().backward()
        scheduler.step()
        opt.step()

    compiled = lucid.compile(step, fullgraph=True)
    with pytest.warns(UserWarning, match="lr_scheduler"):
        compiled()
    for _ in range(4):
        compiled()
    state["momentum"] = 0.5
    with pytest.raises(RuntimeError, match="have changed inside of the call"):
        compiled()


def test_versions_are_counted(gpu):
    lucid.manual_seed(0)
    net = nn.Linear(4, 3).to(gpu)
    opt = lucid.optim.Adam(net.parameters(), lr=0.01)

    def step(x):
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()

    compiled = lucid.compile(step, fullgraph=True)
    x = lucid.ones(2, 4, device=gpu)
    counts = []
    for _ in range(6):
        compiled(x)
        counts.append([net.weight._version, opt.state[net.weight]["exp_avg"]._version, opt.state[net.weight]["step"].item()])
    assert compiled.plans[0].graphs._steps
    steps = np.diff(counts, axis=0)
    assert (steps == steps[0]).all() and steps.all()


def test_gradients_that_were_written_are_new_in_the_next_call(gpu):
    w = nn.Parameter(lucid.ones(3, device=gpu))

    def f(x):
        w.grad = None
        (w * x).sum().backward()

    compiled = lucid.compile(f, fullgraph=True)
    for n in range(8):
        compiled(lucid.full((3,), float(n), device=gpu))
        assert w.grad.tolist() == [n] * 3
        assert w.grad._version == 0
        if n > 3:
            w.grad.mul_(2)
        if n == 6:
            w.grad = None


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_gradient_of_a_loss_is_not_multiplied_by_one(gpu, factor):
    def run(is_compiled):
        w = nn.Parameter(lucid.tensor(_BATCHES[0][0][:, :3], device=gpu))

        def f(t):
            w.grad = None
            loss = F.cross_entropy(w, t)
            (loss if factor == 1 else loss * factor).backward()
            return loss + 0

        call = lucid.compile(f, fullgraph=True) if is_compiled else f
        found = [(call(lucid.tensor(t, device=gpu)).item(), w.grad.tolist()) for _, t in _BATCHES[:5]]
        if is_compiled:
            [segment] = call.plans[0].graphs._segments
            names = [line.event[1] for line in segment.lines if "(" in line.text]
            assert ("mul" in names) == (factor != 1)
            assert "fill" not in names or factor != 1
        return found

    assert run(True) == run(False)
