"""Modes, signatures, random numbers, threads and errors. Compiled against eager, bit for bit."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

from .programs import Programs, check, data, labels, net

program = PROGRAMS = Programs()
EAGER = {
    "detach_out",
    "sets_default_dtype",
    "sets_grad_mode",
}  # which are refused, and say why


@program
def autocast_outside(c):
    m = net()

    def f(x):
        with lucid.no_grad():
            return m(x)

    f = c(f)

    def call(n):
        with lucid.autocast("cpu", dtype=lucid.bfloat16, enabled=n % 3 == 2):
            return f(data(n, 5, 6))

    return call


@program
def functional_call(c):
    m = net()

    def f(params, x):
        with lucid.no_grad():
            return lucid.func.functional_call(m, params, (x,))

    f = c(f)

    def call(n):
        p = {k: v.detach() + n for k, v in m.named_parameters()}
        return f(p, data(n, 5, 6))

    return call


@program
def func_grad(c):
    def loss(w, x):
        return ((w * x).sin() ** 2).sum()

    f = c(lambda w, x: lucid.func.grad(loss)(w, x))
    return lambda n: f(data(n, 4), data(n, 4, seed=1))


@program
def func_vmap(c):
    f = c(lambda w, x: lucid.func.vmap(lambda a: (a * w).sum())(x))
    return lambda n: f(data(n, 4), data(n, 3, 4, seed=1))


@program
def dropout_rng(c):
    m = nn.Sequential(nn.Linear(6, 20), nn.Dropout(0.3), nn.Linear(20, 2))

    def f(x):
        m.zero_grad()
        y = (
            (m(x) + lucid.randn(5, 2) + lucid.rand_like(x[:, :2]) + F.dropout(x, 0.2)[:, :2]).sum()
            + lucid.randperm(5).sum()
            + lucid.randint(0, 9, (3,)).sum()
        )
        y.backward()
        return y

    f = c(f)

    def call(n):
        if n == 6:
            lucid.manual_seed(5)
        return f(data(n, 5, 6)), lucid.rand(2), *[p.grad for p in m.parameters()], lucid.get_rng_state()

    return call


@program
def own_generator(c):
    g = lucid.Generator().manual_seed(4)
    f = c(
        lambda x: (
            x
            + lucid.randn(4, generator=g)
            + lucid.empty(4).normal_(0, 2, generator=g)
            + lucid.bernoulli(lucid.full((4,), 0.5), generator=g)
        )
    )
    return lambda n: f(data(n, 4))


@program
def multinomial(c):
    f = c(lambda x: (lucid.multinomial(x.softmax(-1), 3, replacement=True), lucid.empty(3).exponential_()))
    return lambda n: f(data(n, 4))


@program
def python_floats(c):
    f = c(lambda x, a: x * a)
    return lambda n: f(data(n, 3), float(n % 3))


@program
def np_scalar_arg(c):
    f = c(lambda x, a: x * a)
    return lambda n: f(data(n, 3), np.float32(n % 4))


@program
def tensor_of_list(c):
    f = c(lambda x, a: x * lucid.tensor(a))
    return lambda n: f(data(n, 3), [1.0, float(n % 2), 3.0])


@program
def full_of_number(c):
    f = c(
        lambda x: (
            x
            + lucid.full_like(x, 2.5)
            + lucid.arange(3)
            + lucid.linspace(0, 1, 3)
            + lucid.eye(3)[0]
            + lucid.zeros(3).fill_(3)
        )
    )
    return lambda n: f(data(n, 3))


@program
def shapes_change(c):
    m = net()

    def f(x):
        m.zero_grad()
        y = m(x).sum()
        y.backward()
        return y

    f = c(f)
    return lambda n: (f(data(n, 2 + n % 3, 6)), *[p.grad for p in m.parameters()])


@program
def enum_global_dtype(c):
    f = c(lambda x: x.sum() + lucid.zeros(1))

    def call(n):
        if n >= 4:
            lucid.set_default_dtype(lucid.float64)
        try:
            return f(data(n, 3))
        finally:
            lucid.set_default_dtype(lucid.float32)

    return call


@program
def batchnorm_modes(c):
    m = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))

    def f(x):
        with lucid.no_grad():
            return m(x)

    f = c(f)

    def call(n):
        m.train(n % 2 == 0)
        return f(data(n, 5, 6)), *m.buffers()

    return call


@program
def index_error_middle(c):
    m = nn.Embedding(5, 3)
    buf = lucid.zeros(3)

    def f(i):
        buf.add_(1)
        return m(i).detach() + buf

    f = c(f)

    def call(n):
        i = lucid.tensor([1, 9 if n in (1, 5) else n % 5])
        try:
            r = f(i)
        except IndexError:
            r = lucid.zeros(1)
        return r, buf

    return call


@program
def threads(c):
    m = net()

    def f(x):
        with lucid.no_grad():
            return m(x)

    f = c(f)

    def call(n):
        res = {}

        def work(k):
            res[k] = [f(data(n + k, 5, 6)) for _ in range(3)]

        ts = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        [t.start() for t in ts]
        [t.join() for t in ts]
        return [res[k] for k in range(3)]

    return call


@program
def complex_numbers(c):
    f = c(lambda x: (lucid.fft.rfft(x).abs(), lucid.view_as_real(lucid.fft.fft(x))))
    return lambda n: f(data(n, 8))


@program
def slices_assign(c):
    def f(x, i):
        y = lucid.zeros(5, 4)
        y[1:4] = x
        y[i] += 1
        y.index_add_(0, i, lucid.ones(2, 4))
        y.scatter_(1, i[:, None], 7.0)
        return y, y.gather(1, i[:, None]), x[i], lucid.where(x > 0, x, -x)

    f = c(f)
    return lambda n: f(data(n, 3, 4), lucid.tensor([n % 3, (n + 1) % 3]))


@program
def masked_fill(c):
    f = c(lambda x: x.masked_fill(x > 0, 0.0) + x.tril() + F.softmax(x.masked_fill(x < -1, float("-inf")), -1))
    return lambda n: f(data(n, 4, 4))


@program
def nan_losses(c):
    f = c(lambda x: (x / 0, (x * float("nan")).sum(), x.log()))
    return lambda n: f(data(n, 3))


@program
def inference_argument(c):
    f = c(lambda x: x * 2)

    def call(n):
        with lucid.inference_mode(n % 2 == 0):
            x = data(n, 4)
        return f(x)

    return call


@program
def inside_vmap(c):
    f = c(lambda x: (x * 2).sin())
    return lambda n: lucid.func.vmap(f)(data(n, 3, 4)) if n % 2 else f(data(n, 4))


@program
def sets_default_dtype(c):
    def f(x):
        lucid.set_default_dtype(lucid.float64)
        return x * 2

    f = c(f)

    def call(n):
        r = f(data(n, 3)), lucid.zeros(1)
        lucid.set_default_dtype(lucid.float32)
        return r

    return call


@program
def sets_grad_mode(c):
    def f(x):
        lucid.set_grad_enabled(False)
        return x * 2

    f = c(f)

    def call(n):
        try:
            f(data(n, 3))
            return lucid.tensor(lucid.is_grad_enabled())
        finally:
            lucid.set_grad_enabled(True)

    return call


@program
def kwargs_order(c):
    f = c(lambda **k: k["a"] - k["b"])
    return lambda n: f(a=data(n, 3), b=data(n, 3, seed=1)) if n % 2 else f(b=data(n, 3, seed=1), a=data(n, 3))


@program
def transposed_args(c):
    f = c(lambda a, b: a @ b)
    return lambda n: (
        f(data(n, 4, 4), data(n, 4, 4, seed=1).t()) if n % 2 else f(data(n, 4, 4).t(), data(n, 4, 4, seed=1))
    )


@program
def expanded_arg(c):
    def f(a):
        b = a * 2
        return b.sum(), a + 1

    f = c(f)
    return lambda n: f(data(n, 4).expand(3, 4))


@program
def zero_size(c):
    f = c(lambda a: (a.sum(), a * 2, lucid.cat([a, a])))
    return lambda n: f(data(n, 0, 4))


@program
def no_args(c):
    w = lucid.ones(3)
    f = c(lambda: w.mul_(1.5) * 2)
    return lambda n: (f(), w)


@program
def anomaly(c):
    w = lucid.ones(3, requires_grad=True)

    def f(x):
        w.grad = None
        y = (w * x).sqrt().sum()
        y.backward()
        return y

    f = c(f)

    def call(n):
        if n < 6:
            return f(data(n, 3).abs() + 1)
        with lucid.autograd.detect_anomaly(check_nan=True):
            try:
                return f(data(n, 3))
            except RuntimeError:
                return lucid.zeros(1)

    return call


@program
def exception_then_again(c):
    total = lucid.zeros(1)

    def f(x):
        total.add_(1)
        if x.shape[0] == 3:
            raise ValueError
        return x * total

    f = c(f)

    def call(n):
        try:
            return f(data(n, 3 if n % 4 == 3 else 2)), total
        except ValueError:
            return total

    return call


@program
def set_grad_dtype(c):
    m = net()
    o = lucid.optim.SGD(m.parameters(), lr=0.1)

    def f(x, t, on):
        o.zero_grad()
        with lucid.set_grad_enabled(on):
            loss = F.cross_entropy(m(x), t)
        if on:
            loss.backward()
            o.step()
        return loss.detach() * 1

    f = c(f)
    return lambda n: (f(data(n, 5, 6), labels(n, 3, 5), n % 2 == 0), *m.parameters())


@program
def detach_out(c):
    m = net()

    def f(x):
        with lucid.no_grad():
            y = m(x)
        return y.detach(), y.t()

    f = c(f)
    return lambda n: f(data(n, 5, 6))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name):
    check(PROGRAMS[name], replays=name not in EAGER)


def test_values_are_checked_by_replays():
    def f(x, p):
        return F.binary_cross_entropy(x, x * 0.5), lucid.bernoulli(p)

    compiled = lucid.compile(f, fullgraph=True)
    for number in range(4):
        x, p = lucid.full((3,), number / 4), lucid.tensor([0.2, 0.5, 0.3])
        results = []
        for run in (f, compiled):
            lucid.manual_seed(number)
            results.append([value.tolist() for value in run(x, p)])
        assert results[0] == results[1]
    assert compiled._replays == 2
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        compiled(x + 1, p)
    with pytest.raises(RuntimeError, match="p_in <= 1"):
        compiled(x, p * 9)
