"""The CUDA optimizer steps against torch.optim and a NumPy version in float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ..optimizer_reference import adam_reference, sgd_reference

SGD = dict(lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False)
ADAM = dict(lr=0.01, beta1=0.9, beta2=0.99, eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False, amsgrad=False,
            maximize=False)  # fmt: skip
SGD_CASES = [
    {},
    dict(weight_decay=0.1, maximize=True),
    dict(momentum=0.9),
    dict(momentum=0.9, dampening=0.3, weight_decay=0.01),
    dict(momentum=0.8, nesterov=True, maximize=True),
]
ADAM_CASES = [
    dict(weight_decay=wd, decoupled_weight_decay=decoupled, amsgrad=amsgrad, maximize=maximize)
    for wd, decoupled, (amsgrad, maximize) in itertools.product(
        (0.0, 0.1), (False, True), ((False, True), (True, False))
    )
] + [dict(beta1=0.3), dict(beta1=0.0, beta2=0.0)]


@pytest.fixture
def steps(cp):
    from lucid_kernels.cuda import optimizer

    return optimizer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SGD_CASES, ids=str)
def test_sgd(cp, schedule, steps, case, dtype):
    rng, keywords = np.random.default_rng(0), SGD | case
    p = rng.standard_normal((7, 43))
    p_, buffer, buffer_ = cp.asarray(p.astype(dtype)), None, None
    for _ in range(3):  # in place, as an optimizer does it
        g = rng.standard_normal(p.shape)
        p, buffer = sgd_reference(p, g, buffer, **keywords)
        got = steps.sgd(p_, cp.asarray(g.astype(dtype)), buffer_, out=(p_, buffer_), **keywords)
        assert got[0] is p_ and (buffer_ is None or got[1] is buffer_)
        buffer_ = got[1]
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(p_.get(), p, atol=tolerance)
        if buffer is None:
            assert buffer_ is None
        else:
            np.testing.assert_allclose(buffer_.get(), buffer, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", ADAM_CASES, ids=str)
def test_adam(cp, schedule, steps, case, dtype):
    rng, keywords = np.random.default_rng(0), ADAM | case
    amsgrad = keywords["amsgrad"]
    p = rng.standard_normal((5, 61))
    state = [p, np.zeros_like(p), np.zeros_like(p), np.zeros_like(p) if amsgrad else None]
    state_ = [None if a is None else cp.asarray(a.astype(dtype)) for a in state]
    for step in range(1, 4):
        g = rng.standard_normal(p.shape) / step
        state = list(adam_reference(state[0], g, *state[1:], step=step, **keywords))
        got = steps.adam(state_[0], cp.asarray(g.astype(dtype)), *state_[1:], step=step, out=tuple(state_), **keywords)
        assert all(a is b for a, b in zip(got, state_, strict=True))
        for a, b in zip(state_, state, strict=True):
            if b is not None:
                np.testing.assert_allclose(a.get(), b, atol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("case", SGD_CASES, ids=str)
def test_sgd_is_torch_s(cp, steps, case):
    torch = pytest.importorskip("torch")
    rng, keywords = np.random.default_rng(1), SGD | case
    p = rng.standard_normal(301, dtype=np.float32)
    model = torch.tensor(p)
    p_, buffer_ = cp.asarray(p), None
    optimizer = torch.optim.SGD([model], foreach=False, **keywords)
    for _ in range(4):
        g = rng.standard_normal(301, dtype=np.float32)
        model.grad = torch.tensor(g)
        optimizer.step()
        p_, buffer_ = steps.sgd(p_, cp.asarray(g), buffer_, **keywords)
    np.testing.assert_allclose(p_.get(), model.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", ADAM_CASES, ids=str)
def test_adam_is_torch_s(cp, steps, case):
    torch = pytest.importorskip("torch")
    rng, keywords = np.random.default_rng(1), ADAM | case
    p = rng.standard_normal(301, dtype=np.float32)
    model = torch.tensor(p)
    state = [cp.asarray(p)] + [cp.zeros(301, np.float32) for _ in range(2 + keywords["amsgrad"])]
    state += [None] * (4 - len(state))
    options = dict(keywords)
    kind = torch.optim.AdamW if options.pop("decoupled_weight_decay") else torch.optim.Adam
    optimizer = kind([model], betas=(options.pop("beta1"), options.pop("beta2")), foreach=False, **options)
    for step in range(1, 5):
        g = rng.standard_normal(301, dtype=np.float32)
        model.grad = torch.tensor(g)
        optimizer.step()
        state = list(steps.adam(state[0], cp.asarray(g), *state[1:], step=float(step), **keywords))
    np.testing.assert_allclose(state[0].get(), model.numpy(), rtol=1e-5, atol=1e-6)


def test_nothing_else_is_written(cp, steps):
    arrays = [cp.asarray(np.full(5, value, np.float32)) for value in (1, 2, 3, 4, 5)]
    steps.adam(*arrays, step=1, **(ADAM | dict(amsgrad=True)))
    steps.sgd(*arrays[:3], **(SGD | dict(momentum=0.5)))
    for value, array in zip((1, 2, 3, 4, 5), arrays, strict=True):
        np.testing.assert_array_equal(array.get(), value)


def test_strides_halves_empty_and_nan(cp, steps):
    p, g, m, v = np.random.default_rng(2).standard_normal((4, 6, 5))
    v = v * v
    keywords = ADAM | dict(step=3)
    expected = adam_reference(p, g, m, v, None, **keywords)
    strided = [cp.asarray(np.ascontiguousarray(a.T)).T for a in (p, g, m, v)]
    got = steps.adam(*strided, None, out=(strided[0], None, strided[3], None), **keywords)
    assert got[0] is strided[0] and got[2] is strided[3] and got[3] is None
    for a, b in zip(got[:3], expected[:3], strict=True):
        np.testing.assert_allclose(a.get(), b, atol=1e-12)
    half = [cp.asarray(a.astype(np.float16)) for a in (p, g, m, v)]
    got = steps.adam(*half, None, out=(half[0], None, None, None), **keywords)
    assert got[0] is half[0] and all(a.dtype == np.float16 for a in got[:3])
    np.testing.assert_allclose(half[0].get(), expected[0], atol=5e-3)
    assert steps.sgd(*(cp.empty(0) for _ in range(3)), **(SGD | dict(momentum=0.5)))[1].size == 0
    one = [cp.asarray(np.array([value])) for value in (1.0, np.nan, 0.0, 0.0, 7.0)]
    assert all(np.isnan(a.get()) for a in steps.adam(*one, **(ADAM | dict(step=1, amsgrad=True))))


def test_same_as_cpu(cp, steps):
    cpu = pytest.importorskip("lucid_kernels.cpu.optimizer")
    p, g, m, v = np.random.default_rng(3).standard_normal((4, 77), dtype=np.float32)
    v = v * v
    for case in ADAM_CASES:
        keywords, top = ADAM | case | dict(step=5), v * 2 if case.get("amsgrad") else None
        mine = steps.adam(*map(cp.asarray, (p, g, m, v)), None if top is None else cp.asarray(top), **keywords)
        for a, b in zip(mine, cpu.adam(p, g, m, v, top, **keywords), strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.get(), b, rtol=2e-6, atol=2e-7)
    for case, buffer in itertools.product(SGD_CASES, (None, m)):
        mine = steps.sgd(cp.asarray(p), cp.asarray(g), None if buffer is None else cp.asarray(buffer), **(SGD | case))
        for a, b in zip(mine, cpu.sgd(p, g, buffer, **(SGD | case)), strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.get(), b, rtol=2e-6, atol=2e-7)


def lists(cp, sizes, width, dtype="float32"):
    rng = np.random.default_rng(5)
    return [[cp.asarray(abs(rng.standard_normal(size)).astype(dtype)) for _ in range(width)] for size in sizes]


def same_lists(together, alone):
    for row, other in zip(together, alone, strict=True):
        for a, b in zip(row, other, strict=True):
            np.testing.assert_array_equal(a.get(), b.get())


def check_lists(cp, steps, together):
    """Both kinds of steps on rows (param, grad, three of state), against one by one, with several options."""
    for case in SGD_CASES:
        keywords = SGD | case
        rows = [[a.copy() for a in row[: 3 if keywords["momentum"] else 2]] for row in together]
        alone = [[a.copy() for a in row] for row in rows]
        first = [number % 2 == 0 for number in range(len(rows))]
        steps.multi_tensor_sgd(*(a for row in rows for a in row), first=first, **keywords)
        for row, new in zip(alone, first, strict=True):
            p, g, b = row if len(row) == 3 else (*row, None)
            steps.sgd(p, g, None if new else b, **keywords, out=(p, b))
        same_lists(rows, alone)
    for case in ADAM_CASES:
        keywords = ADAM | case
        rows = [[a.copy() for a in row[: 5 if keywords["amsgrad"] else 4]] for row in together]
        alone = [[a.copy() for a in row] for row in rows]
        counts = [1.0 + number for number in range(len(rows))]
        steps.multi_tensor_adam(*(a for row in rows for a in row), steps=counts, **keywords)
        for row, count in zip(alone, counts, strict=True):
            p, g, *state = row if len(row) == 5 else (*row, None)
            steps.adam(p, g, *state, step=count, **keywords, out=(p, *state))
        same_lists(rows, alone)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lists_have_the_same_bits(cp, schedule, steps, dtype):
    check_lists(cp, steps, lists(cp, (3, 0, 300, 1, 5000, 0, 64), 5, dtype))


def test_lists_of_mixed_tensors(cp, steps):
    mixed = lists(cp, (6, 6), 5) + lists(cp, (6,), 5, "float64") + lists(cp, (6,), 5, "float16")
    check_lists(cp, steps, mixed)
    rows = [*lists(cp, (6,), 4), [a.reshape(3, 2).T for a in lists(cp, (6,), 4)[0]]]
    alone = [[a.copy() for a in row] for row in rows]
    steps.multi_tensor_adam(*(a for row in rows for a in row), steps=[1.0, 2.0], **ADAM)
    for (p, g, m, v), step in zip(alone, (1.0, 2.0), strict=True):
        steps.adam(p, g, m, v, None, step=step, **ADAM, out=(p, m, v, None))
    same_lists(rows, alone)


def test_a_list_is_one_launch_and_may_be_empty(cp, steps):
    row = lists(cp, (50,), 4)[0]
    other = [a.copy() for a in row]
    steps.multi_tensor_adam(*row, *row, steps=[1.0, 2.0], **ADAM)  # a tensor listed twice takes two steps
    for step in (1.0, 2.0):
        steps.adam(*other, None, step=step, **ADAM, out=(other[0], other[2], other[3], None))
    same_lists([row], [other])
    steps.multi_tensor_adam(steps=[], **ADAM)
    steps.multi_tensor_sgd(*lists(cp, (0,), 2)[0], first=[False], **SGD)
