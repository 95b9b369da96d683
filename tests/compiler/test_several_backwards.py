"""Several backward passes through the results of one compiled call, or of calls whose results get gradients in turn."""
from __future__ import annotations

import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

from .programs import check, data, labels


class Heads(nn.Module):
    """Two results, and with a norm over the batch buffers that each call changes."""

    def __init__(self, norm):
        super().__init__()
        self.first, self.norm = nn.Linear(6, 4), nn.BatchNorm1d(4) if norm else nn.Identity()
        self.left, self.right = nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.norm(self.first(x)).tanh()
        return self.left(hidden), self.right(hidden)


def _program(norm, differentiate):
    def program(compiled):
        model = Heads(norm)
        run = compiled(model)

        def call(number):
            model.zero_grad()
            left, right = run(data(number, 5, 6))
            differentiate(number, F.cross_entropy(left, labels(number, 3, 5)), right.square().mean())
            return [left, right, *model.state_dict().values(), *[param.grad for param in model.parameters() if param.grad is not None]]

        return call

    return program


@pytest.mark.parametrize("norm", [False, True])
def test_one_result_after_the_other(norm):
    def differentiate(number, left, right):
        left.backward(retain_graph=True)
        right.backward()

    check(_program(norm, differentiate), not norm)


@pytest.mark.parametrize("norm", [False, True])
def test_in_some_calls_one_result_in_others_both(norm):
    def differentiate(number, left, right):
        (left if number in (1, 4) else left + right).backward()

    check(_program(norm, differentiate), not norm)


def test_a_parameter_that_is_frozen_before_the_backward():
    def program(compiled):
        model = nn.Linear(6, 3)
        run = compiled(model)

        def call(number):
            model.zero_grad()
            y = run(data(number, 5, 6))
            model.bias.requires_grad_(False)
            y.square().mean().backward()
            model.bias.requires_grad_()
            return [param.grad for param in model.parameters()]

        return call

    check(program, False)  # each call begins with another leaf than the recorded one ended with


def test_a_network_that_is_frozen_in_turn():
    def program(compiled):
        maker, judge = nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))
        made, judged = (lucid.optim.Adam(part.parameters(), lr=0.01) for part in (maker, judge))

        @compiled
        def make(z):
            made.zero_grad()
            loss = -judge(maker(z)).mean()
            loss.backward()
            made.step()
            return loss

        @lucid.compile
        def tell(x, z):
            judged.zero_grad()
            loss = judge(maker(z).detach()).mean() - judge(x).mean()
            loss.backward()
            judged.step()
            return loss

        def call(number):
            judge.requires_grad_(False)
            first = make(data(number, 3, 4))
            judge.requires_grad_()
            return first, tell(data(number, 3, 6), data(number, 3, 4, seed=1)), [*maker.parameters(), *judge.parameters()]

        return call

    assert len(check(program, True).plans) == 1
