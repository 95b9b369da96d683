"""Optimizer steps against their formulas in float64, and against torch.optim where PyTorch is installed."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu import optimizer

from ..optimizer_reference import adam_reference, sgd_reference

RNG = np.random.default_rng(0)
SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False}
ADAM = {
    "lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0, "decoupled_weight_decay": False,
    "amsgrad": False, "maximize": False,
}  # fmt: skip
TOLERANCE = {"float32": 2e-6, "float64": 1e-13, "float16": 3e-3, "bfloat16": 2e-2}
SGD_CASES = [
    {**SGD, "momentum": m, "dampening": d, "weight_decay": w, "nesterov": n, "maximize": x}
    for m, d, w, n, x in itertools.product((0.0, 0.9), (0.0, 0.3), (0.0, 0.1), (False, True), (False, True))
    if not n or (m and not d)
]
ADAM_CASES = [
    {**ADAM, "weight_decay": w, "decoupled_weight_decay": d, "amsgrad": a, "maximize": x}
    for w, d, a, x in itertools.product((0.0, 0.1), (False, True), (False, True), (False, True))
]


def normal(shape, dtype=np.float64):
    return np.asarray(RNG.standard_normal(shape)).astype(dtype)


def close(got, expected, dtype):
    tolerance = TOLERANCE[np.dtype(dtype).name]
    for a, b in zip(got, expected, strict=True):
        if b is None:
            assert a is None
        else:
            assert a.dtype == dtype and a.shape == b.shape
            np.testing.assert_allclose(a.astype(np.float64), b, rtol=tolerance, atol=tolerance)


def widened(arrays):
    return [None if a is None else a.astype(np.float64) for a in arrays]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0,), (3, 7)], ids=str)
def test_one_step(shape, dtype):
    for case, first in itertools.product(SGD_CASES, (False, True)):
        arrays = [normal(shape, dtype), normal(shape, dtype), None if first else normal(shape, dtype)]
        copies = widened(arrays)
        expected = sgd_reference(*copies, **case)
        close(optimizer.sgd(*arrays, **case), expected, dtype)
        for array, copy in zip(arrays, copies, strict=True):
            assert array is copy is None or (array == copy.astype(dtype)).all()
    for case in ADAM_CASES:
        arrays = [normal(shape, dtype), normal(shape, dtype), normal(shape, dtype), normal(shape, dtype) ** 2]
        arrays.append(normal(shape, dtype) ** 2 if case["amsgrad"] else None)
        arrays = [None if a is None else np.asarray(a) for a in arrays]
        expected = adam_reference(*widened(arrays), step=3, **case)
        close(optimizer.adam(*arrays, step=3, **case), expected, dtype)


@pytest.mark.parametrize("size", [50, 40_000])
def test_in_place(size):
    p, g, b = normal(size, np.float32), normal(size, np.float32), normal(size, np.float32)
    expected = optimizer.sgd(p, g, b, **SGD)
    got = optimizer.sgd(p, g, b, **SGD, out=(p, b))
    assert got[0] is p and got[1] is b
    close(got, sgd_reference(*widened((p, g, b)), **{**SGD, "lr": 0.0, "momentum": 0.0}), np.float32)
    for a, e in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, e)
    m, v, largest = normal(size, np.float32), normal(size, np.float32) ** 2, normal(size, np.float32) ** 2
    for amsgrad in (False, True):
        case = {**ADAM, "amsgrad": amsgrad, "step": 2.0}
        expected = optimizer.adam(p, g, m, v, largest, **case)
        close(expected, adam_reference(*widened((p, g, m, v, largest)), **case), np.float32)
        got = optimizer.adam(p, g, m, v, largest, **case, out=(p, m, v, largest))
        assert all(a is b for a, b in zip(got, (p, m, v, largest), strict=True))
        for a, e in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, e)


def test_strided_parameters_in_place():
    p, g, m, v = normal((5, 6)).T, normal((6, 10))[:, ::2], normal((6, 5)), normal((6, 5)) ** 2
    expected = adam_reference(p.copy(), g, m.copy(), v.copy(), None, step=1, **ADAM)
    got = optimizer.adam(p, g, m, v, None, step=1, **ADAM, out=(p, m, v, None))
    assert got[0] is p
    close(got, expected, np.float64)


def test_half_state_in_place():
    p, g, b = (normal(9, np.float16) for _ in range(3))
    expected = optimizer.sgd(p, g, b, **SGD)
    got = optimizer.sgd(p, g, b, **SGD, out=(p, b))
    assert got[0] is p and got[1] is b
    np.testing.assert_array_equal(p, expected[0])
    np.testing.assert_array_equal(b, expected[1])


def test_nan_and_inf_stay_where_they_are():
    p, g = np.zeros(40, np.float32), np.ones(40, np.float32)
    g[3], g[5] = math.nan, math.inf
    p, b = optimizer.sgd(p, g, None, **SGD)
    assert np.isnan(p).nonzero()[0].tolist() == [3] and p[5] == -math.inf and b[5] == math.inf
    zeros = np.zeros(40, np.float32)
    p, m, v, largest = optimizer.adam(zeros, g, zeros, zeros, zeros, step=1, **{**ADAM, "amsgrad": True})
    assert np.isnan(p).nonzero()[0].tolist() == [3, 5] and np.isnan(largest[3]) and v[5] == m[5] == math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_steps_as_in_torch(dtype):
    torch = pytest.importorskip("torch")
    tolerance = 1e-6 if dtype == np.float32 else 1e-13
    gradients = [normal(50, dtype) for _ in range(5)]
    start = normal(50, dtype)
    for case in SGD_CASES:
        leaf = torch.tensor(start, requires_grad=True)
        reference = torch.optim.SGD([leaf], **case)
        p, b = start.copy(), None
        for g in gradients:
            leaf.grad = torch.tensor(g)
            reference.step()
            p, b = optimizer.sgd(p, g, b, **case, out=(p, b))
        np.testing.assert_allclose(p, leaf.detach().numpy(), rtol=tolerance, atol=tolerance)
    for case in ADAM_CASES:
        leaf = torch.tensor(start, requires_grad=True)
        chosen = torch.optim.AdamW if case["decoupled_weight_decay"] else torch.optim.Adam
        options = {k: case[k] for k in ("lr", "eps", "weight_decay", "amsgrad", "maximize")}
        reference = chosen([leaf], betas=(case["beta1"], case["beta2"]), **options)
        state = [start.copy(), np.zeros_like(start), np.zeros_like(start), np.zeros_like(start)]
        for step, g in enumerate(gradients, 1):
            leaf.grad = torch.tensor(g)
            reference.step()
            state = optimizer.adam(state[0], g, *state[1:], step=step, **case, out=state)
        np.testing.assert_allclose(state[0], leaf.detach().numpy(), rtol=tolerance, atol=tolerance)
