"""Small kernels in a row, whose loops one compiled function calls: the numbers, bit for bit, and where there are none."""
from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.compiler import plan as plans

from .programs import check, data, labels


def chained(compiled):
    """How often a chain is called in the plans."""
    return sum(function.source.count(" = chain") for plan in compiled.plans for function in plan.functions)


@pytest.mark.parametrize(("dtype", "size"), [(lucid.float32, 8), (lucid.float64, 1), (lucid.float32, 40)])
def test_a_perceptron(dtype, size):
    def program(compiled):
        model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3)).to(dtype)
        optimizer = lucid.optim.Adam(model.parameters(), lr=0.05)

        @compiled
        def step(x, t):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), t)
            loss.backward()
            optimizer.step()
            return loss

        return lambda number: (step(data(number, size, 6).to(dtype), labels(number, 3, size)), *model.parameters(),
                               *[p.grad for p in model.parameters()])

    assert chained(check(program, True)) >= 1


@pytest.mark.parametrize("activation", [nn.Tanh(), nn.Sigmoid(), nn.GELU(), nn.GELU("tanh"), nn.SiLU()])
def test_activations(activation):
    def program(compiled):
        model = nn.Sequential(nn.Linear(6, 12), activation, nn.Linear(12, 12), activation, nn.Linear(12, 3))
        optimizer = lucid.optim.SGD(model.parameters(), lr=0.05)

        @compiled
        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        return lambda number: (step(data(number, 8, 6)), *model.parameters())

    assert chained(check(program, True)) >= 1


def test_elementwise_operations_of_arrays_and_numbers():
    @lucid.compile
    def function(x, y):
        z = (x + y) * 2.5 - y / x
        return z * z, (z + 1).sqrt(), x.neg()

    def eager(x, y):
        z = (x + y) * 2.5 - y / x
        return z * z, (z + 1).sqrt(), x.neg()

    for number in range(6):
        x, y = data(number, 5, 7), data(number, 5, 7, seed=1)
        for a, b in zip(function(x, y), eager(x, y), strict=True):
            np.testing.assert_array_equal(a.numpy().view(np.uint8), b.numpy().view(np.uint8))
    assert chained(function) >= 1
    assert "one call for 8 of them: add mul div sub" in function.summary()


def test_numbers_have_the_dtype_of_their_operation():
    @lucid.compile
    def function(x, y):
        return x * 0.1, y * 0.1, x + 1, y + 1

    for number in range(5):
        x, y = data(number, 5), data(number, 5).double()
        for found, wanted in zip(function(x, y), (x * 0.1, y * 0.1, x + 1, y + 1), strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted.numpy(), strict=True)
    assert chained(function) == 1


def test_results_are_the_callers_own():
    @lucid.compile
    def function(x):
        y = x + 1
        return y, y * x

    kept = []
    for number in range(6):
        x = data(number, 3, 4)
        kept.append((x, *function(x)))
    for x, y, z in kept:
        np.testing.assert_array_equal(y.numpy(), x.numpy() + 1)
        np.testing.assert_array_equal(z.numpy(), (x.numpy() + 1) * x.numpy())
    assert chained(function) == 1


@pytest.mark.parametrize("other", [(5,), (1, 5), (2, 1, 5), (1, 1), (2, 3, 1)])
def test_broadcast_operands(other):
    @lucid.compile
    def function(x, y):
        return (x - y) / y - x, (y - x) * y

    for number in range(5):
        x, y = data(number, 2, 3, 5), data(number, *other, seed=1)
        for found, wanted in zip(function(x, y), ((x - y) / y - x, (y - x) * y), strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    assert chained(function) == (other not in ((2, 1, 5), (1, 1)))


def test_operations_in_place():
    @lucid.compile
    def function(x, row, column):
        y = x + 1
        z = y.sum(0)
        y += row
        y *= column
        y -= y * 2
        return y * 2, z

    for number in range(5):
        x, row, column = data(number, 4, 5), data(number, 5), data(number, 4, 1)
        y = (x.numpy() + 1 + row.numpy()) * column.numpy()
        found, total = function(x, row, column)
        np.testing.assert_array_equal(found.numpy(), (y - y * 2) * 2)
        np.testing.assert_array_equal(total.numpy(), (x.numpy() + 1).sum(0))
    assert chained(function) >= 1


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64])
def test_products_sums_and_gradients_that_are_added_up(dtype):
    def program(compiled):
        w, b = (data(1, 6, 6).to(dtype) / 3).requires_grad_(), data(2, 6).to(dtype).requires_grad_()

        @compiled
        def step(x):
            w.grad = b.grad = None
            h = x
            for _ in range(4):
                h = lucid.tanh(h @ w + b)
            (h * h).sum(0).sum().backward()
            with lucid.no_grad():
                w.sub_(w.grad, alpha=0.1)
                b.sub_(b.grad, alpha=0.1)
            return h.sum(0)

        return lambda number: (step(data(number, 8, 6).to(dtype)), w, b, w.grad, b.grad)

    assert chained(check(program, True)) == 2  # one forward, and one backward


def test_arrays_with_gaps_and_halves_are_not_chained():
    @lucid.compile
    def function(x, y):
        return (x + y) * y

    for _ in range(5):
        for x, y in ((data(0, 4, 3).T, data(1, 3, 4)), (data(0, 3).half(), data(1, 3).half())):
            np.testing.assert_array_equal(function(x, y).numpy(), ((x + y) * y).numpy())
    assert len(function.plans) == 2
    assert chained(function) == 0


def test_an_array_of_an_odd_address():
    @lucid.compile
    def function(x, y):
        return (x + y) * y

    y = data(1, 4)
    for _ in range(5):
        function(data(0, 4), y)
    odd = lucid.from_numpy(np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32))
    np.testing.assert_array_equal(function(odd, y).numpy(), ((odd + y) * y).numpy())
    assert chained(function) == 1
    assert len(function.plans) == 1


def test_no_more_memory_is_in_use_than_eagerly():
    def step(x):
        for p in parameters:
            p.grad = None
        h = x
        for w in parameters:
            h = lucid.relu(h @ w)
        (h * h).sum(0).sum().backward()

    parameters = [data(number, 32, 32).requires_grad_() for number in range(6)]
    compiled = lucid.compile(step, fullgraph=True)
    peaks = []
    for function in (step, compiled):
        for number in range(5):
            function(data(number, 32, 32))
        x = data(0, 32, 32)
        tracemalloc.start()
        for _ in range(3):
            function(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    (plan,) = compiled.plans
    assert plan.memory <= plan.recorder.peak
    assert plan.functions[0].groups
    assert peaks[1] <= peaks[0]


@pytest.mark.parametrize("chains_from", [1, 1000])
def test_floating_point_warnings_are_those_of_eager_calls(chains_from, monkeypatch):
    monkeypatch.setattr(plans, "CHAINED_AFTER", chains_from)
    monkeypatch.setattr(plans, "compiler_is_loaded", lambda: False)

    def function(x, y):
        return (x / y + 1) * y, (x * 1e30) * y

    compiled = lucid.compile(function, fullgraph=True)
    x, y = lucid.tensor([1.0, 0.0, -1.0, 1e20]), lucid.tensor([0.0, 0.0, 2.0, 1e30])
    for _ in range(4):
        with warnings.catch_warnings(record=True) as caught:
            compiled(x, y)
    assert not caught
    assert chained(compiled) == (chains_from == 1)

    def heard(call):
        numbers = []
        with np.errstate(all="call", call=lambda *said: numbers.append(said)):
            call(x, y)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            call(x, y)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            call(x, y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(x, y)
        return numbers, [str(warning.message) for warning in caught]

    wanted = heard(function)
    assert len(wanted[0]) == len(wanted[1]) == 4
    assert heard(compiled) == wanted
