"""Gradients: hooks, functions of the user, checkpoints, frozen and shared parameters. Compiled against eager, bit for bit."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

from .programs import Programs, check, data, labels, net

program = PROGRAMS = Programs()
EAGER = {"embedding_bag", "in_place_becomes_result"}  # which are refused, and say why


@program
def no_grad_inside(c):
    m = net()
    ema = copy.deepcopy(m)
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x, t):
        o.zero_grad()
        with lucid.no_grad():
            target = ema(x).softmax(-1)
        loss = F.cross_entropy(m(x), t) + ((m(x).softmax(-1) - target) ** 2).mean()
        loss.backward()
        o.step()
        with lucid.no_grad():
            for a, b in zip(ema.parameters(), m.parameters()):
                a.mul_(0.9).add_(b, alpha=0.1)
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters(), *ema.parameters())


@program
def frozen_later(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)

    def call(n):
        if n == 5:
            m[0].requires_grad_(False)
        if n == 9:
            m[0].requires_grad_(True)
        return f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters()

    return call


@program
def raising(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)
    bad = [False]

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        if bad[0]:
            raise ValueError("bad")
        o.step()
        return loss

    f = c(f)

    def call(n):
        bad[0] = n in (1, 5)
        try:
            r = f(data(n, 5, 6), labels(n, 3, 5))
        except ValueError:
            r = lucid.zeros(1)
        return r, *m.parameters(), *[p.grad for p in m.parameters() if p.grad is not None]

    return call


@program
def weight_tied(c):
    m = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    m[2].weight = m[0].weight
    o = lucid.optim.Adam(m.parameters(), lr=0.1)

    def f(x):
        o.zero_grad()
        loss = (m(x) ** 2).mean()
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 4)), *m.parameters())


@program
def adversarial(c):
    m = net()

    def f(x):
        x.requires_grad_()
        m(x).sum().backward()
        with lucid.no_grad():
            x += 0.1 * x.grad.sign()
        x.grad = None
        return x

    f = c(f)

    def call(n):
        x = data(n, 5, 6)
        f(x)
        return x

    return call


@program
def checkpointed(c):
    from lucid.utils.checkpoint import checkpoint

    m = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(checkpoint(m, x, use_reentrant=False), t)
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters(), lucid.get_rng_state())


@program
def saved_hooks(c):
    m = net()

    def f(x):
        m.zero_grad()
        with lucid.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
            y = m(x).sum()
        y.backward()
        return y

    f = c(f)
    return lambda n: (f(data(n, 5, 6)), *[p.grad for p in m.parameters()])


@program
def saved_hooks_outside(c):
    m = net()

    def f(x):
        m.zero_grad()
        y = m(x).sum()
        y.backward()
        return y

    f = c(f)

    def call(n):
        if n < 4:
            return f(data(n, 5, 6)), *[p.grad for p in m.parameters()]
        calls = []
        with lucid.autograd.graph.saved_tensors_hooks(lambda t: (calls.append(1), t)[1], lambda t: t * 2):
            y = f(data(n, 5, 6))
        return y, *[p.grad for p in m.parameters()], lucid.tensor(float(len(calls)))

    return call


@program
def custom_function(c):
    class Sq(lucid.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.k = 2
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.k * x

    w = lucid.ones(3, requires_grad=True)

    def f(x):
        w.grad = None
        y = Sq.apply(w * x).sum()
        y.backward()
        return y

    f = c(f)
    return lambda n: (f(data(n, 3)), w.grad)


@program
def double_backward(c):
    m = net()

    def f(x):
        m.zero_grad()
        x = x.clone().requires_grad_()
        y = m(x).sum()
        (g,) = lucid.autograd.grad(y, x, create_graph=True)
        (g**2).sum().backward()
        return g.detach() * 1

    f = c(f)
    return lambda n: (f(data(n, 5, 6)), *[p.grad for p in m.parameters() if p.grad is not None])


@program
def gan(c):
    G, D = nn.Linear(3, 4), nn.Linear(4, 1)
    og, od = lucid.optim.Adam(G.parameters(), lr=0.01), lucid.optim.Adam(D.parameters(), lr=0.01)

    def f(x):
        z = lucid.randn(5, 3)
        fake = G(z)
        od.zero_grad()
        ld = F.softplus(-D(x)).mean() + F.softplus(D(fake.detach())).mean()
        ld.backward()
        od.step()
        og.zero_grad()
        lg = F.softplus(-D(fake)).mean()
        lg.backward()
        og.step()
        return ld, lg

    f = c(f)
    return lambda n: (f(data(n, 5, 4)), *G.parameters(), *D.parameters())


@program
def norm_used(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x, t):
        o.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        total = nn.utils.clip_grad_norm_(m.parameters(), 0.3)
        o.step()
        return loss, total * 2, total

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5)), *m.parameters())


@program
def spectral(c):
    m = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4))
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x):
        o.zero_grad()
        loss = (m(x) ** 2).mean()
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6)), *m.parameters(), *m.buffers())


@program
def requires_toggled(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x):
        o.zero_grad()
        for p in m[0].parameters():
            p.requires_grad_(False)
        loss = (m(x) ** 2).mean()
        loss.backward()
        o.step()
        for p in m[0].parameters():
            p.requires_grad_(True)
        return loss

    f = c(f)
    return lambda n: (f(data(n, 5, 6)), *m.parameters())


@program
def hooks(c):
    m = net()
    m[0].register_forward_hook(lambda mod, a, r: r * 1.5)
    m[2].weight.register_hook(lambda g: g * 2)
    m[0].register_full_backward_hook(lambda mod, gi, go: None)

    def f(x):
        m.zero_grad()
        y = m(x).sum()
        y.backward()
        return y

    f = c(f)
    return lambda n: (f(data(n, 5, 6)), *[p.grad for p in m.parameters()])


@program
def hook_later(c):
    m = net()

    def f(x):
        with lucid.no_grad():
            return m(x)

    f = c(f)
    h = []

    def call(n):
        if n == 5:
            h.append(m[0].register_forward_hook(lambda mod, a, r: r * 3))
        if n == 8:
            h[0].remove()
        return f(data(n, 5, 6))

    return call


@program
def rnn(c):
    m = nn.GRU(4, 5, 2, dropout=0.3)
    cell = nn.LSTMCell(5, 5)
    o = lucid.optim.RMSprop([*m.parameters(), *cell.parameters()], lr=0.01)

    def f(x):
        o.zero_grad()
        y, h = m(x)
        hx = (lucid.zeros(3, 5), lucid.zeros(3, 5))
        for t in y:
            hx = cell(t, hx)
        loss = (hx[0] ** 2).sum()
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (f(data(n, 6, 3, 4)), *m.parameters(), *cell.parameters())


@program
def retain_grad_inside(c):
    w = lucid.ones(3, requires_grad=True)

    def f(x):
        w.grad = None
        y = w * x
        y.retain_grad()
        (y**2).sum().backward()
        return y.grad * 1, w.grad

    f = c(f)
    return lambda n: f(data(n, 3))


@program
def data_assigned(c):
    w = lucid.ones(3, requires_grad=True)

    def f(x):
        w.grad = None
        (w * x).sum().backward()
        w.data = w.data - 0.1 * w.grad
        return w.detach() * 1

    f = c(f)
    return lambda n: (f(data(n, 3)), w)


@program
def embedding_bag(c):
    m = nn.EmbeddingBag(7, 3, mode="mean")
    e = nn.Embedding(7, 3, padding_idx=0, max_norm=1.0)
    o = lucid.optim.SGD([*m.parameters(), *e.parameters()], lr=0.1)

    def f(i):
        o.zero_grad()
        loss = (m(i) ** 2).sum() + (e(i) ** 2).sum()
        loss.backward()
        o.step()
        return loss

    f = c(f)
    return lambda n: (
        f(lucid.tensor(np.random.default_rng(n).integers(0, 7, (4, 3)))),
        *m.parameters(),
        *e.parameters(),
    )


@program
def grad_kept(c):
    w = lucid.ones(3, requires_grad=True)

    def f(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad

    f = c(f)
    kept = []

    def call(n):
        kept.append(f(data(n, 3)))
        return list(kept)

    return call


@program
def in_place_becomes_result(c):
    w = lucid.ones(3, requires_grad=True)
    f = c(lambda x: x.mul_(w))

    def call(n):
        w.grad = None
        x = data(n, 3)
        f(x)
        x.sum().backward()
        return x, w.grad

    return call


@program
def second_derivatives(c):
    m = net()
    o = lucid.optim.Adam(m.parameters(), lr=0.05)
    a, b = (data(1, 8, 3).requires_grad_(), data(2, 8, 3).requires_grad_())

    def derivative(y, by):
        return lucid.autograd.grad(y, by, grad_outputs=lucid.ones_like(y), create_graph=True)[0]

    def f():
        o.zero_grad()
        y = m(lucid.cat([a, b], dim=1))
        first = derivative(y, a)
        loss = (first + derivative(first, b)).square().mean()
        loss.backward()
        o.step()
        return loss.item()

    f = c(f)
    return lambda n: (f(), *m.parameters())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name):
    check(PROGRAMS[name], replays=name not in EAGER)
