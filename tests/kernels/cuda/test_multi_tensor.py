"""Steps of optimizers with lists of tensors against NumPy in float64, and what they read on the device."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .runtime.launched import launched

SIZES = (3, 0, 300, 1, 5000, 64)
#: Options after the learning rate, the weight decay and whether to climb; how many moments they need, and the numbers at first.
CASES = {
    "Sgd": [((0.0, 0.0, 0), 0, (0.0,)), ((0.9, 0.3, 0), 1, (1.0,)), ((0.9, 0.3, 0), 1, (0.0,)), ((0.8, 0.0, 1), 1, (0.0,))],
    "Adam": [((0.9, 0.99, 1e-8, 0, 0), 2, (4.0,)), ((0.9, 0.99, 1e-3, 1, 1), 3, (0.0,)), ((0.3, 0.9, 1e-8, 0, 1), 3, (1.0,))],
    "RMSprop": [((0.9, 1e-8, 0.0, 0), 1, (0.0,)), ((0.8, 1e-2, 0.9, 0), 2, (1.0,)), ((0.9, 1e-2, 0.5, 1), 3, (1.0,))],
    "Adagrad": [((0.0, 1e-10), 1, (0.0,)), ((0.3, 1e-3), 1, (3.0,))],
    "Adamax": [((0.9, 0.99, 1e-8), 2, (2.0,))],
    "NAdam": [((0.9, 0.99, 1e-8, 0, 4e-3), 2, (0.0, 1.0)), ((0.8, 0.9, 1e-3, 1, 0.1), 2, (3.0, 0.5))],
    "RAdam": [((0.9, 0.99, 1e-8, 0), 2, (0.0,)), ((0.9, 0.99, 1e-8, 1), 2, (50.0,))],
    "Adadelta": [((0.9, 1e-6), 2, (0.0,))],
    "ASGD": [((0.1, 0.75, 1.0), 1, (0.0, 0.05, 1.0)), ((0.1, 0.5, 1.0), 1, (3.0, 0.03, 0.5))],
    "Rprop": [((0.5, 1.2, 1e-6, 50.0), 2, (0.0,)), ((0.5, 1.2, 0.7, 0.9), 2, (2.0,))],
}
ALL = [(rule, case) for rule, cases in CASES.items() for case in cases]


def reference(rule, options, p, g, m, s):
    """(parameter, moments, numbers) after a step, in float64."""
    lr, decay, climb, *o = options
    g, t = -g if climb else g, s[0] + 1
    numbers, m = [t, *s[1:]], list(m)
    if rule in ("Adam", "NAdam", "RAdam") and o[3]:
        p = p * (1 - lr * decay)
    else:
        g = g + decay * p
    if rule in ("Adam", "NAdam", "RAdam"):
        m[0], m[1] = o[0] * m[0] + (1 - o[0]) * g, o[1] * m[1] + (1 - o[1]) * g * g
    if rule == "Sgd":
        numbers = list(s)
        if o[0]:
            m[0] = g if s[0] else o[0] * m[0] + (1 - o[1]) * g
            g = g + o[0] * m[0] if o[2] else m[0]
        p = p - lr * g
    elif rule == "Adam":
        if o[4]:
            m[2] = np.maximum(m[2], m[1])
        root = np.sqrt(m[2] if o[4] else m[1]) / math.sqrt(1 - o[1] ** t)
        p = p - lr / (1 - o[0] ** t) * m[0] / (root + o[2])
    elif rule == "RMSprop":
        m[0] = o[0] * m[0] + (1 - o[0]) * g * g
        square = m[0]
        if o[3]:
            m[2] = o[0] * m[2] + (1 - o[0]) * g
            square = square - m[2] ** 2
        move = g / (np.sqrt(square) + o[1])
        if o[2]:
            move = m[1] = o[2] * m[1] + move
        p = p - lr * move
    elif rule == "Adagrad":
        m[0] = m[0] + g * g
        p = p - lr / (1 + s[0] * o[0]) * g / (np.sqrt(m[0]) + o[1])
    elif rule == "Adamax":
        m[0], m[1] = o[0] * m[0] + (1 - o[0]) * g, np.maximum(o[1] * m[1], abs(g) + o[2])
        p = p - lr / (1 - o[0] ** t) * m[0] / m[1]
    elif rule == "NAdam":
        now, following = (o[0] * (1 - 0.5 * 0.96 ** (step * o[4])) for step in (t, t + 1))
        numbers[1] = s[1] * now
        root = np.sqrt(m[1] / (1 - o[1] ** t)) + o[2]
        p = p - lr * (1 - now) / (1 - numbers[1]) * g / root - lr * following / (1 - numbers[1] * following) * m[0] / root
    elif rule == "RAdam":
        longest = 2 / (1 - o[1]) - 1
        length = longest - 2 * t * o[1] ** t / (1 - o[1] ** t)
        move = lr * m[0] / (1 - o[0] ** t)
        if length > 5:
            scale = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            move = move * math.sqrt(scale * (1 - o[1] ** t)) / (np.sqrt(m[1]) + o[2])
        p = p - move
    elif rule == "Adadelta":
        m[0] = o[0] * m[0] + (1 - o[0]) * g * g
        move = np.sqrt(m[1] + o[1]) / np.sqrt(m[0] + o[1]) * g
        m[1] = o[0] * m[1] + (1 - o[0]) * move * move
        p = p - lr * move
    elif rule == "ASGD":
        p = p * (1 - o[0] * s[1]) - s[1] * g
        m[0] = p if s[2] == 1 else m[0] + (p - m[0]) * s[2]
        numbers = [t, lr / (1 + o[0] * lr * t) ** o[1], 1 / max(1, t - o[2])]
    else:
        agreement = g * m[0]
        size = np.clip(m[1] * np.where(agreement > 0, o[1], np.where(agreement < 0, o[0], 1)), o[2], o[3])
        g = np.where(agreement < 0, 0, g)
        m, p = [g, size], p - np.sign(g) * size
    return p, m, numbers


@pytest.fixture
def kernels(cp):
    from lucid_kernels.cuda import multi_tensor

    return multi_tensor


def rows_of(width, sizes=SIZES, seed=0):
    """Parameters and gradients of both signs, moments above 0."""
    rng = np.random.default_rng(seed)
    return [[rng.standard_normal(size) if number < 2 else abs(rng.standard_normal(size)) + 0.1 for number in range(width)]
            for size in sizes]


def check(cp, kernels, rule, case, dtype="float32", counted=True, steps=2, sizes=SIZES, tolerance=None):
    """Steps with all tensors of a list are those of NumPy."""
    own, moments, numbers = case
    options = (0.05, 0.1, 1, *own)
    width = 2 + kernels.RULES[rule].moments
    rows = rows_of(2 + moments, sizes)
    if rule == "RMSprop":  # the mean of squares is no less than the square of the mean
        rows = [[*row[:2], row[2] + 20, *row[3:]] for row in rows]
    mine = [[cp.asarray(a.astype(dtype)) for a in row] + [None] * (width - len(row)) for row in rows]
    counts = [[cp.asarray(np.float32(n)) for n in numbers] if counted else list(numbers) for _ in rows]
    rows, expected = [[a.astype(dtype).astype(np.float64) for a in row] for row in rows], [list(numbers) for _ in rows]
    for _ in range(steps):
        kernels.step(*(a for row in mine for a in row), rule=rule, counts=counts, options=options)
        for index, (p, g, *m) in enumerate(rows):
            p, m, expected[index] = reference(rule, options, p, g, m, expected[index])
            rows[index] = [p, g, *m]
        if not counted:
            counts = [list(each) for each in expected]
    tolerance = tolerance or {"float32": 2e-5, "float64": 1e-6 if rule == "NAdam" else 1e-12}[dtype]
    for row, want in zip(mine, rows, strict=True):
        for a, b in zip(row, want, strict=False):
            np.testing.assert_allclose(a.get().astype(np.float64), b, atol=tolerance, rtol=tolerance)
    if counted:
        for each, want in zip(counts, expected, strict=True):
            assert [number.get() for number in each] == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("counted", [True, False], ids=["device", "host"])
@pytest.mark.parametrize(("rule", "case"), ALL, ids=str)
def test_steps(cp, schedule, kernels, rule, case, counted):
    if counted and rule == "Sgd":
        pytest.skip("whether it is the first step is known on the host")
    check(cp, kernels, rule, case, counted=counted)


@pytest.mark.parametrize("rule", CASES)
def test_double(cp, kernels, rule):
    for case in CASES[rule]:
        check(cp, kernels, rule, case, "float64", counted=rule not in ("Sgd", "NAdam", "ASGD"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("rule", ["Sgd", "Adam"])
def test_halves_are_computed_in_float32(cp, kernels, rule, dtype):
    import ml_dtypes

    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    for case in CASES[rule]:
        check(cp, kernels, rule, case, kind, counted=rule != "Sgd", steps=1, tolerance=1e-2 if dtype == "float16" else 5e-2)


def adam(cp, kernels, rows, counts, **more):
    kernels.step(*(a for row in rows for a in row), rule="Adam", counts=counts, options=(0.1, 0, 0, 0.9, 0.99, 1e-8, 0, 0), **more)


def lists(cp, sizes=(5, 4097), seed=1):
    return [[*(cp.asarray(a.astype(np.float32)) for a in row), None] for row in rows_of(4, sizes, seed)]


def host(rows):
    return [[None if a is None else a.get() for a in row] for row in rows]


def same(rows, others):
    for row, other in zip(rows, others, strict=True):
        for a, b in zip(row, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_table_is_written_where_it_has_changed(cp, kernels):
    kernels.device_tables._tables.clear()
    rows, counts = lists(cp, (5,) * 80), [[cp.asarray(np.float32(0))] for _ in range(80)]

    def written():
        names = launched(lambda: adam(cp, kernels, rows, counts))
        assert sum(name.startswith("multi_tensor") for name in names) == 1
        return names.count("store_words")

    assert written() > 1
    assert written() == 0
    rows[0][1] = rows[0][1] * 2  # a gradient in other memory
    assert written() == 1
    assert all(count[0].get() == 3 for count in counts)
    alone = lists(cp, (5,) * 80)[:3]
    for step in range(3):
        for number, row in enumerate(alone):
            if (step, number) == (2, 0):
                row[1] *= 2
            adam(cp, kernels, [row], [[float(step)]])
    same(host(rows[:3]), host(alone))


def test_a_tensor_that_is_larger_now_at_the_same_address(cp, kernels):
    memory = [cp.asarray(a.astype(np.float32)) for a in rows_of(4, (100,))[0]]
    for size in (10, 100):
        rows = [[*(a[:size] for a in memory), None]]
        alone = [[*(a.copy() for a in rows[0][:4]), None]]
        adam(cp, kernels, rows, [[3.0]])
        adam(cp, kernels, alone, [[3.0]])
        same(host(rows), host(alone))


def test_a_moment_that_is_gone(cp, kernels):
    """Without one, the next step of the same tensor is not mistaken for the one before."""
    param, grad, moment = (cp.asarray(a.astype(np.float32)) for a in rows_of(3, (100,))[0][:3])
    options = (0.1, 0.0, 0, 0.9, 0.0, 0)
    kernels.step(param, grad, moment, rule="Sgd", counts=[[1.0]], options=options)
    del moment
    before = param.get()
    kernels.step(param, grad, None, rule="Sgd", counts=[[1.0]], options=(0.1, 0.0, 0, 0.0, 0.0, 0))
    np.testing.assert_allclose(param.get(), before - np.float32(0.1) * grad.get(), rtol=1e-6)


def test_blocks_with_parts_of_several_tensors(cp, schedule, kernels, monkeypatch):
    rows, expected = lists(cp, SIZES), lists(cp, SIZES)
    counts = [cp.asarray(np.float32(number)) for number in range(len(SIZES))]
    monkeypatch.setattr(kernels.launch, "grid_cap", lambda blocks: (2,))
    adam(cp, kernels, rows, [[count] for count in counts])
    for number, row in enumerate(expected):
        adam(cp, kernels, [row], [[float(number)]])
    same(host(rows), host(expected))
    assert [count.get() for count in counts] == [number + 1 for number in range(len(SIZES))]


def test_infinite_gradients_change_nothing(cp, kernels):
    rows, counts = lists(cp), [[cp.asarray(np.float32(3))] for _ in range(2)]
    before = host(rows)
    adam(cp, kernels, rows, counts, found_inf=cp.asarray(np.float32(1)), grad_scale=cp.asarray(np.float32(2)))
    same(host(rows), before)
    assert [count[0].get() for count in counts] == [3, 3]
    adam(cp, kernels, rows, counts, found_inf=cp.asarray(np.float32(0)))
    assert [count[0].get() for count in counts] == [4, 4]


def test_gradients_lose_their_scale(cp, kernels):
    rows, scaled = lists(cp), lists(cp)
    for row in scaled:
        row[1] *= 4
    adam(cp, kernels, rows, [[0.0], [0.0]])
    adam(cp, kernels, scaled, [[0.0], [0.0]], grad_scale=cp.asarray(np.float32(4)))
    same(host(rows), host(scaled))


def test_a_rate_on_the_device(cp, kernels):
    rows, others = lists(cp), lists(cp)
    adam(cp, kernels, rows, [[0.0], [0.0]], lr=cp.asarray(np.float32(0.5)))
    kernels.step(*(a for row in others for a in row), rule="Adam", counts=[[0.0], [0.0]],
                 options=(0.5, 0, 0, 0.9, 0.99, 1e-8, 0, 0))
    same(host(rows), host(others))


def test_a_captured_step_counts_and_reads_what_is_kept(cp, kernels):
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        rows, others = lists(cp), lists(cp)
        counts, same_counts = ([[cp.asarray(np.float32(0))] for _ in range(2)] for _ in range(2))
        kept, arrays = kernels.Numbers(), [a for row in rows for a in row]
        options = [0.1, 0, 0, 0.9, 0.99, 1e-8, 0, 0]
        pool = cp.cuda.MemoryPool()  # what is captured keeps its memory
        stream.synchronize()  # what is written at once, in another stream, is written after all that was asked for
        with cp.cuda.using_allocator(pool.malloc):
            stream.begin_capture()
            kernels.step(*arrays, rule="Adam", counts=counts, options=options, kept=kept)
            graph = stream.end_capture()
        for rate in (0.1, 0.1, 0.02):
            options[0] = rate
            kept.write(options)
            graph.launch()
            kernels.step(*(a for row in others for a in row), rule="Adam", counts=same_counts, options=options)
            same(host(rows), host(others))
        kernels.step(*arrays, rule="Adam", counts=counts, options=options)  # another list of the same tensors
        graph.launch()
        assert [count[0].get() for count in counts] == [5, 5]


def test_strided_mixed_and_repeated_tensors(cp, kernels):
    rows = lists(cp, (6, 6, 6))
    expected = [[None if a is None else a.copy() for a in row] for row in rows]
    rows[0] = [None if a is None else a.reshape(3, 2).T.copy().T for a in rows[0]]
    rows[1][2] = rows[1][2].astype(np.float64)
    counts = [[cp.asarray(np.float64(1))], [cp.asarray(np.float32(1))], [cp.asarray(np.float32(1))]]
    counts.append(counts[2])
    adam(cp, kernels, [*rows, rows[2]], counts)
    adam(cp, kernels, expected, [[1.0]] * 3)
    adam(cp, kernels, expected[2:], [[2.0]])
    assert [count[0].get() for count in counts] == [2, 2, 3, 3]
    rows[0] = [None if a is None else a.reshape(6) for a in rows[0]]
    same(host(rows), host(expected))


def test_one_order_of_dimensions_is_read_as_it_lies(cp, kernels):
    rows, expected = lists(cp, (24, 24, 24)), lists(cp, (24, 24, 24))

    def turned(row, shape):
        return [None if a is None else a.reshape(shape).transpose(0, 2, 1).copy().transpose(0, 2, 1) for a in row]

    rows[0], rows[1], rows[2] = turned(rows[0], (2, 3, 4)), turned(rows[1], (2, 12, 1)), turned(rows[2], (1, 4, 6))
    for step in range(3):
        names = launched(lambda count=float(step): adam(cp, kernels, rows, [[count]] * 3))
        assert [name.partition("<")[0] for name in names if name != "store_words"] == ["multi_tensor"]
        adam(cp, kernels, expected, [[float(step)]] * 3)
    rows[2][1] = rows[2][1].copy(order="C")  # a gradient in another order
    for each in (rows, expected):
        each[2][1] *= 2
        adam(cp, kernels, each, [[3.0]] * 3)
    same(host([[None if a is None else a.reshape(24) for a in row] for row in rows]), host(expected))


def test_nan_stays_in_its_element(cp, kernels):
    for rule, case in ALL:
        width, (own, moments, numbers) = 2 + kernels.RULES[rule].moments, case
        row = [cp.asarray(a.astype(np.float32)) for a in rows_of(2 + moments, (9,))[0]]
        row[1][4] = np.nan
        if moments:
            row[2] += 20
        kernels.step(*row, *[None] * (width - len(row)), rule=rule, counts=[list(numbers)], options=(0.1, 0, 0, *own))
        bad = np.isnan(row[0].get())
        assert not bad[[0, 1, 2, 3, 5, 6, 7, 8]].any()
        assert bad[4] == (rule != "Rprop")  # NaN has no sign
