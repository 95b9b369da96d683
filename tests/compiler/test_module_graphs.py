"""CUDA graphs of modules compiled alone: forward and backward are launched, with the same bits, unless somebody still reads what
they would write.
"""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.backends.gpu import graphs as launches

from .programs import data


@pytest.fixture(autouse=True)
def _on_gpu(device):
    if device == "cpu":
        pytest.skip("a CPU has no graphs")


@pytest.fixture
def launched(monkeypatch):
    """How many graphs have been launched."""
    count = []
    launch = launches.Graph.launch
    monkeypatch.setattr(launches.Graph, "launch", lambda graph: (count.append(graph), launch(graph))[1])
    return count


def _wide():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))


def _usual(device, before=lambda call, number: None):
    """The loop of a training."""
    def loop(call, optimizer):
        def step(number):
            before(call, number)
            optimizer.zero_grad()
            loss = call(_x(number, device)).square().mean()
            loss.backward()
            optimizer.step()
            return [loss]

        return step

    return loop


def _same(loop, device, build=_wide, calls=8):
    """Run a loop, made by `loop(module, optimizer)`, eagerly and compiled. Returns the compiled function."""
    def run(compiled):
        lucid.manual_seed(0)
        module = build().to(device)
        call = lucid.compile(module, fullgraph=True) if compiled else module
        step = loop(call, lucid.optim.SGD(module.parameters(), lr=0.1, momentum=0.9))
        results = []
        for number in range(calls):
            results += [each.numpy(force=True).copy() for each in (*step(number), *module.state_dict().values())]
        return results, call

    (expected, _), (found, call) = run(False), run(True)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(b, a)
    return call._compiled


def _x(number, device, seed=0):
    return data(number, 4, 6, seed=seed).to(device)


@pytest.mark.parametrize("order", ["zero_grad first", "zero_grad before backward", "zero_grad last"])
def test_a_usual_loop_launches_both(device, launched, order):
    def loop(call, optimizer):
        def step(number):
            if order.endswith("first"):
                optimizer.zero_grad()
            loss = call(_x(number, device)).square().mean()
            if order.endswith("backward"):
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if order.endswith("last"):
                optimizer.zero_grad()
            return [loss]

        return step

    compiled = _same(loop, device)
    assert len(launched) == 2 * compiled._replays > 8
    plan = compiled.plans[-1]
    assert "\n1 CUDA graphs\nbackward: 1 CUDA graphs\n" in plan.summary()
    assert plan.graphs._captures == plan.backward_graphs._captures == 1


def test_a_second_forward_does_not_write_what_the_first_has_left(device, launched):
    def loop(call, optimizer):
        def step(number):
            optimizer.zero_grad()
            first = call(_x(number, device))
            (first * call(_x(number, device, 1))).mean().backward()
            optimizer.step()
            return [first]

        return step

    compiled = _same(loop, device)
    assert 0 < len(launched) < 2 * compiled._replays


def test_kept_gradients_and_graphs(device, launched):
    kept = []

    def loop(call, optimizer):
        kept.append([])

        def step(number):
            if number % 3:  # else they are added up
                optimizer.zero_grad()
            x = _x(number, device).requires_grad_()
            y = call(x)
            y.sum().backward(retain_graph=True)
            y.mean().backward()
            optimizer.step()
            kept[-1].append((x.grad, next(call.parameters()).grad))
            return [y, *kept[-1][number // 2]]

        return step

    _same(loop, device, lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), calls=7)
    assert launched
    for mine, its in zip(*kept, strict=True):
        for a, b in zip(mine, its, strict=True):
            np.testing.assert_array_equal(b.numpy(force=True), a.numpy(force=True))


def test_results_that_nobody_differentiates_and_that_somebody_keeps(device, launched):
    kept = []

    def loop(call, optimizer):
        def step(number):
            optimizer.zero_grad()
            kept.append(call(_x(number, device, 1)))  # its graph lives on, and waits
            loss = call(_x(number, device)).square().mean()
            loss.backward()
            optimizer.step()
            if number % 2:
                kept.clear()
            return [loss]

        return step

    _same(loop, device, calls=10)
    assert launched


def test_writes_between_are_noticed(device):
    call = lucid.compile(nn.Sequential(nn.Linear(6, 3), nn.Tanh()).to(device), fullgraph=True)
    for number in range(5):
        call(_x(number, device)).sum().backward()
        call.zero_grad()
    y = call(_x(0, device))
    loss = (y * 2).sum()
    with lucid.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()


def test_what_cannot_be_captured_runs_one_by_one(device, launched):
    compiled = _same(_usual(device), device, lambda: nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4, momentum=None)))
    assert "no CUDA graphs: a kernel takes a number" in compiled.summary()
    assert not launched


def test_moved_parameters(device, launched):
    def move(call, number):
        if number == 5:
            weight = next(call.parameters())
            weight.data = weight.data.clone()

    compiled = _same(_usual(device, move), device, calls=10)
    assert len(compiled.plans) == 2
    assert len(launched) == 2 * compiled._replays
