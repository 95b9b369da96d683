"""Random programs, eagerly and compiled: what they return, parameters, buffers, gradients and generators, bit for bit."""
from __future__ import annotations

import random

import pytest

import lucid
from lucid import nn

from .programs import check, data

# What a line makes, and the line: of matrices M (n x 6), vectors V (6), numbers S and squares W (6 x 6) that there are.
_MAKING = (
    ("M", "{M} + {V}"), ("M", "{M} * {M}"), ("M", "{M} - {S}"), ("M", "1.5 - {M}"), ("M", "{M} / ({V}.square() + 1)"),
    ("M", "lucid.where({M} > {V}, {M}, 0.5)"), ("M", "{M}.tanh()"), ("M", "F.gelu({M})"), ("M", "{M}.relu()"), ("M", "{M} * s.scale"),
    ("M", "{M} @ {W}"), ("M", "F.linear({M}, {W}, {V})"), ("M", "s.model({M})"), ("M", "F.layer_norm({M}, (6,), {V})"),
    ("M", "F.softmax({M}, 1)"), ("M", "{M}.flip(1).contiguous()"), ("M", "lucid.cat([{M}[:, :2], {M}[:, 2:]], 1)"),
    ("M", "{M}[..., [0, 2, 1, 3, 5, 4]]"), ("M", "{M}[s.order[:{M}.shape[0]] % 3]"), ("M", "{M}.T.T"), ("M", "{M}.detach()"),
    ("M", "{M}.reshape(-1, 2, 3).transpose(1, 2).reshape(-1, 6)"), ("M", "{M}.masked_fill({M} < 0, 0.0)"),
    ("M", "F.dropout({M}, 0.3)"), ("M", "{M} + lucid.randn_like({M})"), ("M", "{M} * lucid.rand(6)"), ("M", "{M}.cumsum(0)"),
    ("V", "{M}.sum(0)"), ("V", "{M}.amax(0)"), ("V", "{M}[-1]"), ("V", "{W} @ {V}"), ("V", "{V}.exp().clamp(max=3)"), ("V", "s.buffer"),
    ("V", "s.hidden * {V}"), ("V", "{W}[2]"), ("S", "{M}.mean()"), ("S", "{V} @ {V}"), ("S", "{W}.norm()"), ("S", "{M}.max()"),
    ("W", "{M}.T @ {M} * 0.1"), ("W", "lucid.outer({V}, {V})"), ("W", "{W}.T"), ("W", "{W} * {S}"))
# Lines that write: F is a matrix of the program's own.
_WRITING = (
    "{F}.add_({M})", "{F}.mul_(0.5)", "{F}[:, 1] = {S}", "{F}[0] = {V}", "{F}[:, 2:4] *= 2", "{F}[{M} > 1] = 1.0", "{F}.clamp_(-1, 2)",
    "{F}.T[0] += 1", "s.hidden = {V}.detach().clone()", "s.buffer.mul_(0.9).add_({V}.detach(), alpha=0.1)",
    "s.buffer[1:3] = {V}.detach()[:2]")
_STEPS = (lambda params: lucid.optim.SGD(params, lr=0.05, momentum=0.9), lambda params: lucid.optim.Adam(params, lr=0.01),
          lambda params: lucid.optim.RMSprop(params, lr=0.01))


class State:
    """What a program sees beside its argument."""

    def __init__(self, chosen):
        self.w, self.v = nn.Parameter(lucid.randn(6, 6) * 0.5), nn.Parameter(lucid.randn(6))
        self.model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 6))
        self.buffer, self.hidden, self.scale, self.order = lucid.zeros(6), lucid.ones(6), 1.25, lucid.randperm(4)
        self.params = [self.w, self.v, *self.model.parameters()]
        self.opt = chosen(self.params)


def _written(rng, trains):
    """The source of a program."""
    there = {"M": ["x"], "V": ["s.v"], "S": ["x.sum()"], "W": ["s.w"], "F": ["own"]}
    lines = ["own = x * 1.5"]

    def filled(template):
        return template.format_map({kind: rng.choice(names[-5:]) for kind, names in there.items()})

    for number in range(rng.randrange(5, 14)):
        if rng.random() < 0.25:
            lines.append(filled(rng.choice(_WRITING)))
        else:
            kind, template = rng.choice(_MAKING)
            lines.append(f"t{number} = {filled(template)}")
            there[kind].append(f"t{number}")
    if not trains:
        return [*lines, filled("return {M} * 1, {S} * 2.0, {V} + 0")]
    lines.append(filled("loss = ({M} + {V}).clamp(-9, 9).square().mean() + {S}.clamp(-9, 9) * 0.1 + {W}.tanh().mean() + own.mean()"))
    lines.append("loss = loss + s.w.square().mean() + s.v.mean()")
    cleared = rng.choice(["s.opt.zero_grad()", "s.opt.zero_grad(set_to_none=False)", "pass"])
    return [*lines, cleared, "loss.backward()", rng.choice(["s.opt.step()", "pass"]), "return loss.detach()"]


@pytest.mark.parametrize("seed", range(40))
def test_a_program(seed):
    rng = random.Random(seed)
    trains, chosen, sizes = rng.random() < 0.6, rng.choice(_STEPS), rng.choice([(4,), (4, 3)])
    source = "\n ".join(["def step(x):", *_written(rng, trains)])

    def program(compiled):
        s = State(chosen)
        scope = {"lucid": lucid, "F": nn.functional, "s": s}
        exec(source, scope)
        step = compiled(scope["step"])

        def call(number):
            if number == 6:  # something else happens outside
                s.scale, s.opt.param_groups[0]["lr"] = 0.75, 0.001
                s.w.data.mul_(0.9)
            with lucid.set_grad_enabled(trains):
                found = step(data(number, sizes[number % len(sizes)] if number > 3 else 4, 6))
            return [found, s.buffer, s.hidden, *s.params, *[param.grad for param in s.params if param.grad is not None]]

        return call

    check(program, None)
