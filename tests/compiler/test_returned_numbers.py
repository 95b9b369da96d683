"""A function whose last line returns the number of a tensor is replayed; one that does more with a number is not."""
from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid._pytree import tree_flatten

from .programs import check, data, labels, net


class Trainer:
    def __init__(self):
        self.model = net()
        self.optimizer = lucid.optim.Adam(self.model.parameters(), lr=0.05)

    def step(self, x, t):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), t)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def test_a_step_that_returns_its_loss_as_a_number():
    def program(compiled):
        trainer = Trainer()
        step = compiled(trainer.step)
        return lambda number: (step(data(number, 5, 6), labels(number, 3, 5)), *trainer.model.parameters())

    check(program, True)


@pytest.mark.parametrize("dtype", [lucid.int64, lucid.bool, lucid.float64, lucid.bfloat16])
def test_numbers_of_every_kind(device, dtype):
    @lucid.compile
    def function(x):
        return x.prod().to(dtype).item()

    for number in range(6):
        x = lucid.full((2,), float(number), device=device)
        expected = x.prod().to(dtype).item()
        found = function(x)
        assert found == expected and found.__class__ is expected.__class__
    assert len(function.plans) == 1


COUNT = 7


class _Options:
    scale = 0.5


_options = _Options()


def arithmetic(x):
    n = 3
    return -x.sum().item() / n + COUNT * x.max().item() ** 2 - _options.scale


def several(x, y):
    loss = (x - y).square().mean()
    return loss.item(), {"loss": loss.item() / len(x), "size": len(x), "y": y * 2}, [(x > y).float().mean().item() * 100, loss]


def functions(x):
    return round(math.exp(-abs(x.sum().item())), 3), float(x.max()), int(x.sum()), float(x.sum()) / float(len(x)), x.amin().item() / x.size(0)


def within(x):
    with lucid.no_grad():
        return x.sum().item()


@pytest.mark.parametrize("function", [arithmetic, several, functions, within])
def test_numbers_in_the_line_that_returns(function):
    compiled = lucid.compile(function, fullgraph=True)
    for number in range(6):
        arguments = [data(number, 4, seed=seed) for seed in range(function.__code__.co_argcount)]
        found, wanted = [tree_flatten(call(*arguments)) for call in (compiled, function)]
        assert found[1] == wanted[1]
        for a, b in zip(found[0], wanted[0], strict=True):
            assert a.__class__ is b.__class__
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert compiled._replays == 4


def test_a_number_that_changes_makes_a_new_plan_and_errors_are_pythons_own():
    compiled = lucid.compile(arithmetic, fullgraph=True)
    x = data(0, 4)
    for _ in range(3):
        assert compiled(x) == arithmetic(x)
    _options.scale = 2.0
    try:
        assert compiled(x) == arithmetic(x)
    finally:
        _options.scale = 0.5
    divided = lucid.compile(lambda x: 1 / x.sum().item(), fullgraph=True)
    named = lucid.compile(_divided, fullgraph=True)
    for _ in range(4):
        named(x)
    with pytest.raises(ZeroDivisionError):
        named(lucid.zeros(4))
    with pytest.raises(lucid.compiler.GraphBreak):  # no line that returns
        divided(x)


def _divided(x):
    return 1 / x.sum().item()


def test_a_function_without_source():
    scope = {"lucid": lucid}
    exec("def f(x):\n    return x.sum().item()\n", scope)
    compiled = lucid.compile(scope["f"], fullgraph=True)
    for number in range(5):
        assert compiled(data(number, 3)) == data(number, 3).sum().item()


def written_in_between(x):
    return x.sum().item(), x.add_(1).sum().item()


def chosen(x):
    return x.sum().item() if x.shape[0] > 2 else 0.0


def formatted(x):
    return f"{x.sum().item():.2f}"


def listed(x):
    return [y.item() for y in x]


def branch(x):
    if x.sum().item() > 3:
        return x
    return -x


def both(x):
    y = x.max().item()
    return x.sum().item() if y > 1 else x.min().item()


def equal(x):
    return lucid.allclose(x, x.abs())


def deeper(x):
    def inner():
        return x.sum().item()

    return inner() * 2


@pytest.mark.parametrize("function", [branch, both, equal, deeper, written_in_between, chosen, formatted, listed])
def test_other_uses_of_numbers_run_eagerly(function):
    compiled = lucid.compile(function)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for number in range(6):
            x = data(number, 4)
            y = data(number, 4)
            np.testing.assert_array_equal(np.asarray(compiled(x)), np.asarray(function(y)))
    assert len(told) == 1
    assert "Python reads" in str(told[0].message)
    assert not compiled.plans


def _makes_a_function():
    return lambda x: x.sum().item()


def test_a_lambda():
    compiled = lucid.compile(_makes_a_function(), fullgraph=True)
    for number in range(5):
        assert compiled(data(number, 3)) == data(number, 3).sum().item()
    assert compiled._replays == 3
