"""Training steps: optimizers, schedulers, scalers, clipping, accumulation. Compiled against eager, bit for bit."""

from __future__ import annotations

import copy

import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

from .programs import Programs, check, data, labels, net

program = PROGRAMS = Programs()


@program
def autocast(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x, t):
        o.zero_grad()
        with lucid.autocast("cpu", dtype=lucid.bfloat16):
            loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters())


@program
def learning_rates(c):
    m = net()
    o = lucid.optim.AdamW(
        [{"params": m[0].parameters(), "lr": 0.1}, {"params": m[2].parameters(), "weight_decay": 0.3}], lr=0.01
    )

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)

    def call(n):
        o.param_groups[0]["lr"] = 0.1 / (n + 1)
        if n == 6:
            o.param_groups[1]["betas"] = (0.8, 0.9)
        return f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters()

    return call


@program
def add_group(c):
    m = net()
    extra = nn.Parameter(lucid.ones(3))
    o = lucid.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x) * extra, t)
        loss.backward()
        o.step()
        return loss

    f = c(f)

    def call(n):
        if n == 5:
            o.add_param_group({"params": [extra], "lr": 0.5})
        return f(data(n, 5, 6), labels(n, 3, 5)), extra, *m.parameters()

    return call


@program
def sched_plateau(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)
    s = lucid.optim.lr_scheduler.ReduceLROnPlateau(o, patience=1)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        s.step(loss)
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), lucid.tensor(o.param_groups[0]["lr"]), *m.parameters())


@program
def scaler(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)
    s = lucid.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        s.scale(loss).backward()
        s.unscale_(o)
        nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        s.step(o)
        s.update()
        return loss.detach()

    f = c(f)

    def call(n):
        x = data(n, 5, 6)
        if n == 7:
            x[0, 0] = float("inf")
        return f(x, labels(n, 3, 5)), lucid.tensor(s.get_scale()), *m.parameters()

    return call


@program
def load_state(c):
    m = net()
    o = lucid.optim.Adam(m.parameters(), lr=0.1)
    first = copy.deepcopy(m.state_dict())

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)
    saved = {}

    def call(n):
        if n == 2:
            saved["o"] = copy.deepcopy(o.state_dict())
        if n == 5:
            m.load_state_dict(first)
        if n == 6:
            o.load_state_dict(saved["o"])
        if n == 8:
            m.load_state_dict({k: v + 1 for k, v in first.items()}, assign=True)
        return f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters()

    return call


@program
def accumulation(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def micro(x, t):
        loss = F.cross_entropy(m(x), t) / 3
        loss.backward()
        return loss

    micro = c(micro)

    def call(n):
        loss = micro(data(n, 5, 6), labels(n, 3, 5))
        if n % 3 == 2:
            o.step()
            o.zero_grad(set_to_none=n % 2 == 0)
        return loss, *m.parameters(), *[p.grad for p in m.parameters() if p.grad is not None]

    return call


@program
def accumulation_flag(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def micro(x, t, last):
        loss = F.cross_entropy(m(x), t) / 3
        loss.backward()
        if last:
            nn.utils.clip_grad_value_(m.parameters(), 0.1)
            o.step()
            o.zero_grad()
        return loss

    micro = c(micro)
    return lambda n: (micro(data(n, 5, 6), labels(n, 3, 5), n % 3 == 2), *m.parameters())


@program
def set_to_none_false(c):
    m = net()
    o = lucid.optim.Adam(m.parameters(), lr=0.1)

    def f(x, t):
        o.zero_grad(set_to_none=False)
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters())


@program
def python_optimizer(c):
    m = net()
    vel = [lucid.zeros_like(p) for p in m.parameters()]

    def f(x, t):
        for p in m.parameters():
            p.grad = None
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        with lucid.no_grad():
            for p, v in zip(m.parameters(), vel):
                v.mul_(0.9).add_(p.grad)
                p.sub_(v, alpha=0.1)
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters(), *vel)


@program
def custom_optimizer(c):
    class My(lucid.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @lucid.no_grad()
        def step(self):
            for g in self.param_groups:
                for p in g["params"]:
                    if p.grad is None:
                        continue
                    s = self.state[p]
                    s["n"] = s.get("n", 0) + 1
                    p.add_(p.grad, alpha=-g["lr"] / s["n"])

    m = net()
    o = My(m.parameters(), 0.3)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters())


@program
def tensor_lr(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=lucid.tensor(0.1))

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)

    def call(n):
        o.param_groups[0]["lr"].fill_(0.1 * (n + 1))
        return f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters()

    return call


@program
def swa(c):
    m = net()
    a = lucid.optim.swa_utils.AveragedModel(m)
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        a.update_parameters(m)
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters(), *a.parameters(), *a.buffers())


@program
def ema_lerp(c):
    m = net()
    ema = [p.detach().clone() for p in m.parameters()]

    def f(x):
        with lucid.no_grad():
            for e, p in zip(ema, m.parameters()):
                e.lerp_(p, 0.1)
                p.data = p.data * 0.9
        return x * 2

    f = c(f)
    return lambda n: (f(data(n, 2)), *ema, *m.parameters())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name):
    check(PROGRAMS[name], replays=True)
