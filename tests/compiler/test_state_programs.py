"""State: variables, buffers, views, containers, attributes and code. Compiled against eager, bit for bit."""

from __future__ import annotations

import copy

import pytest

import lucid
from lucid import nn

from .programs import Programs, check, data, net

program = PROGRAMS = Programs()
EAGER = {
    "alias_out",
    "counting_hook",
    "data_and_return",
    "kept_twice",
    "kept_view",
    "sched_epoch_read",
    "two_buffers_swap",
}  # which are refused, and say why
GLOBAL = {"k": 1.0}
LIST = [1.0]


@program
def closures(c):
    w = lucid.randn(4, requires_grad=True)
    hist = lucid.zeros(4)

    def f(x):
        nonlocal hist
        w.grad = None
        y = (w * x + hist).sum()
        y.backward()
        hist = hist + w.grad
        return y

    f = c(f)
    return lambda n: (f(data(n, 4)), w.grad, hist)


@program
def alias_views(c):
    buf = lucid.zeros(4, 4)
    row = buf[1]

    def f(x):
        row.add_(x)
        buf[2].copy_(row * 2)
        buf[:, 0] += 1
        return buf.sum(), row * 1

    f = c(f)
    return lambda n: (f(data(n, 4)), buf, row)


@program
def alias_out(c):
    def f(x):
        y = x * 2
        a = y.view(2, 2)
        a += 1
        return y, a

    f = c(f)
    return lambda n: f(data(n, 4))


@program
def in_place_inputs(c):
    def f(x, y):
        x.mul_(2)
        x[1:].add_(y[1:])
        y.zero_()
        return x.sum()

    f = c(f)

    def call(n):
        x, y = data(n, 4), data(n, 4, seed=1)
        s = f(x, y)
        return s, x, y

    return call


@program
def in_place_view_arguments(c):
    def f(x):
        x.mul_(2)
        return x + 1

    f = c(f)

    def call(n):
        x = data(n, 4, 4)
        r = f(x[1])
        return x, r

    return call


@program
def deepcopied(c):
    m = net()
    ms = [m]

    def f(x):
        with lucid.no_grad():
            return ms[0](x)

    f = c(f)

    def call(n):
        if n == 5:
            other = copy.deepcopy(m)
            with lucid.no_grad():
                for p in other.parameters():
                    p.mul_(2)
            ms[0] = other
        return f(data(n, 5, 6))

    return call


@program
def compiled_module_deepcopied(c):
    m = net().eval()
    k = c(m)
    other = []

    def call(n):
        with lucid.no_grad():
            if n == 4:
                other.append(copy.deepcopy(k))
                for p in other[0].parameters():
                    p.mul_(2)
            r = [k(data(n, 5, 6))]
            if other:
                r.append(other[0](data(n, 5, 6)))
        return r

    return call


@program
def assigned_buffers(c):
    class B(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("avg", lucid.zeros(6))
            self.n = 0
            self.w = nn.Parameter(lucid.ones(6))

        def forward(self, x):
            self.avg = 0.9 * self.avg + 0.1 * x.detach().mean(0)
            return ((x - self.avg) * self.w).sum()

    b = B()
    ident = b.avg

    def f(x):
        b.zero_grad()
        y = b(x)
        y.backward()
        return y

    f = c(f)
    return lambda n: (f(data(n, 5, 6)), b.avg, b.w.grad, lucid.tensor(b._buffers["avg"] is ident))


@program
def two_buffers_swap(c):
    class B(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", lucid.zeros(3))
            self.register_buffer("b", lucid.ones(3))

        def forward(self, x):
            self.a, self.b = self.b, self.a + x
            return self.a * 2

    b = B()
    f = c(b)
    return lambda n: (f(data(n, 3)), b.a, b.b)


@program
def attribute_state(c):
    class R:
        def __init__(self):
            self.h = lucid.zeros(3)

        def step(self, x):
            self.h = lucid.tanh(self.h * 0.5 + x)
            return self.h.sum()

    r = R()
    f = c(r.step)
    return lambda n: (f(data(n, 3)), r.h)


@program
def list_state(c):
    h = [lucid.zeros(3), lucid.ones(3)]

    def f(x):
        h[0] = h[0] + x
        h[1] = h[1] * h[0]
        return h[1] - 1

    f = c(f)
    return lambda n: (f(data(n, 3)), *h)


@program
def returns_argument(c):
    f = c(lambda x, y: (x, y * 2, x))

    def call(n):
        x = data(n, 3)
        a, b, d = f(x, data(n, 3, seed=1))
        return a, b, lucid.tensor(a is x and d is x)

    return call


@program
def out_argument(c):
    buf = lucid.empty(3)
    f = c(lambda x: (lucid.add(x, 1, out=buf), buf * 2)[1])
    return lambda n: (f(data(n, 3)), buf)


@program
def aliased_state(c):
    a = lucid.ones(4)
    b = a.view(2, 2)
    d = a.detach()

    def f(x):
        a.add_(x)
        b.mul_(2)
        d.sub_(1)
        return a + b.reshape(4) + d

    f = c(f)
    return lambda n: (f(data(n, 4)), a, b, d)


@program
def argument_is_state_view(c):
    w = lucid.ones(4)

    def f(x):
        w.add_(1)
        return x * 2 + w

    f = c(f)
    return lambda n: f(w.view(4)) if n % 2 else f(data(n, 4))


@program
def grad_swapped(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f():
        o.step()
        return None

    f = c(f)

    def call(n):
        for k, p in enumerate(m.parameters()):
            p.grad = data(n, *p.shape, seed=k)
        f()
        return list(m.parameters())

    return call


@program
def param_data_moves(c):
    m = net()
    f = c(lambda x: m(x).detach() * 1)

    def call(n):
        if n == 5:
            m.double()
        return f(data(n, 5, 6).to(m[0].weight.dtype))

    return call


@program
def returned_and_kept(c):
    st = {"h": lucid.zeros(3)}

    def f(x):
        st["h"] = lucid.tanh(st["h"] + x)
        return st["h"]

    f = c(f)
    return lambda n: (f(data(n, 3)) is st["h"], st["h"])


@program
def kept_twice(c):
    st = {"h": lucid.zeros(3), "g": lucid.zeros(3)}

    def f(x):
        st["h"] = st["g"] = lucid.tanh(st["h"] + x)
        return x * 2

    f = c(f)

    def call(n):
        f(data(n, 3))
        st["h"].add_(1)
        return st["h"], st["g"]

    return call


@program
def kept_view(c):
    st = {"h": lucid.zeros(3), "g": lucid.zeros(1)}

    def f(x):
        h = lucid.tanh(st["h"] + x)
        st["h"] = h
        st["g"] = h[:1]
        return x * 2

    f = c(f)

    def call(n):
        f(data(n, 3))
        st["h"].add_(1)
        return st["h"], st["g"]

    return call


@program
def data_and_return(c):
    w = lucid.ones(3, requires_grad=True)

    def f(x):
        y = w.detach() * x
        w.data = y
        return y

    f = c(f)

    def call(n):
        y = f(data(n, 3))
        y.add_(1)
        return y, w

    return call


@program
def defaults_changed(c):
    def g(x, k=2.0):
        return x * k

    f = c(lambda x: g(x))

    def call(n):
        g.__defaults__ = (float(n // 4),)
        return f(data(n, 4))

    return call


@program
def code_changed(c):
    def g(x):
        return x * 2

    def h(x):
        return x * 3

    f = c(lambda x: g(x))

    def call(n):
        if n == 5:
            g.__code__ = h.__code__
        return f(data(n, 4))

    return call


@program
def class_attribute_later(c):
    class K:
        k = 1.0

    a = K()
    f = c(lambda x: x * a.k)

    def call(n):
        if n == 4:
            a.k = 2.0
        if n == 8:
            del a.k
            K.k = 5.0
        return f(data(n, 4))

    return call


@program
def monkey_forward(c):
    m = net()
    f = c(lambda x: m(x).detach() * 1)

    def call(n):
        if n == 5:
            m[1].forward = lambda x: x * 2
        return f(data(n, 5, 6))

    return call


@program
def modulelist_grows(c):
    m = nn.ModuleList([nn.Linear(3, 3)])

    def f(x):
        with lucid.no_grad():
            for k in m:
                x = k(x)
        return x

    f = c(f)

    def call(n):
        if n == 5:
            m.append(nn.Linear(3, 3))
        return f(data(n, 2, 3))

    return call


@program
def two_compiled_share(c):
    w = lucid.ones(3)
    f = c(lambda x: w.add_(x) * 1)
    g = c(lambda x: w.mul_(0.5) + x)
    return lambda n: (f(data(n, 3)), g(data(n, 3)), w)


@program
def globals_changed(c):
    f = c(lambda x: x * GLOBAL["k"] + sum(LIST))

    def call(n):
        GLOBAL["k"] = float(n // 3)
        LIST[:] = [1.0] * (1 + n // 5)
        return f(data(n, 3))

    return call


@program
def getattr_dynamic(c):
    class S:
        pass

    s = S()
    s.alpha = 1.0

    def f(x):
        return x * getattr(s, "al" + "pha")

    f = c(f)

    def call(n):
        s.alpha = float(n // 4)
        return f(data(n, 3))

    return call


@program
def sched_epoch_read(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)
    s = lucid.optim.lr_scheduler.StepLR(o, 3)
    f = c(lambda x: x * s.last_epoch)

    def call(n):
        o.step()
        s.step()
        return f(data(n, 3))

    return call


@program
def lr_read(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x):
        return x * o.param_groups[0]["lr"]

    f = c(f)

    def call(n):
        o.param_groups[0]["lr"] = 0.1 * (n // 4 + 1)
        return f(data(n, 3))

    return call


@program
def counting_hook(c):
    m = net()
    count = [0]

    def hook(mod, a, r):
        count[0] += 1
        return r * count[0]

    m[0].register_forward_hook(hook)

    def f(x):
        with lucid.no_grad():
            return m(x)

    f = c(f)
    return lambda n: (f(data(n, 5, 6)), lucid.tensor(float(count[0])))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name):
    check(PROGRAMS[name], replays=name not in EAGER)


def test_steps_get_the_arguments_of_the_call():
    def f(x):
        (x * x).sum().backward()
        nn.utils.clip_grad_norm_([x], 1.0)
        return x.grad

    compiled = lucid.compile(f, fullgraph=True)
    first = lucid.full((4,), 3.0, requires_grad=True)
    for number in range(5):
        x = first if number < 2 else lucid.full((4,), float(number), requires_grad=True)
        x.grad = None
        other = x.detach().clone().requires_grad_()
        assert compiled(x).tolist() == f(other).tolist()
    assert compiled._replays == 3
