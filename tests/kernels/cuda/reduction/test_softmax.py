"""CUDA softmax and log-softmax against float64 NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

# (shape, dim): short and long rows, aligned and not, slices with gaps and few of them, 0-d, empty
CASES = [((5, 1), 1), ((3, 31), -1), ((6, 64), 1), ((4, 33), 1), ((3, 257), 1), ((2, 1000), 1), ((3, 33, 5), 1), ((31, 7), 0),
         ((300, 3), 0), ((), 0), ((4, 0), 1), ((0, 4), 1), ((1000,), 0), ((2, 3, 700), 1)]  # fmt: skip
LONG = [(1, 8200), (2, 4333), (1, 17_000)]  # rows that do not fit into the registers of a block
TOLERANCE = {np.float32: {"rtol": 1e-5, "atol": 1e-6}, np.float64: {"rtol": 1e-12, "atol": 1e-14}}
HALVES = [np.float16, ml_dtypes.bfloat16]
NAMES = ["softmax", "log_softmax"]


@pytest.fixture
def softmax(cp):
    from lucid_kernels.cuda.reduction import softmax

    return softmax


def reference(name, x, dim):
    x = np.asarray(x, np.float64)
    if not x.size:
        return x
    dim = None if x.ndim == 0 else dim
    shifted = x - x.max(dim, keepdims=True)
    log = shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))
    return log if name == "log_softmax" else np.exp(log)


def reference_grad(name, g, y, dim):
    g, y = np.asarray(g, np.float64), np.asarray(y, np.float64)
    dim = None if y.ndim == 0 else dim
    if name == "softmax":
        return y * (g - (g * y).sum(dim, keepdims=True))
    return g - np.exp(y) * g.sum(dim, keepdims=True)


def data(shape, dtype, seed=0):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 4).astype(dtype)


def poisoned(cp, x):
    """An array like x for a result: what a kernel forgets to write stays NaN."""
    return cp.asarray(np.full(x.shape, np.nan, x.dtype))


def check_values_and_gradients(softmax, cp, name, dtype, cases):
    for shape, dim in cases:
        x, g = data(shape, dtype), data(shape, dtype, 1)
        y, dx = poisoned(cp, x), poisoned(cp, x)
        assert getattr(softmax, name)(cp.asarray(x), dim=dim, out=y) is y
        np.testing.assert_allclose(y.get(), reference(name, x, dim), **TOLERANCE[dtype])
        assert getattr(softmax, name + "_grad")(cp.asarray(g), y, dim=dim, out=dx) is dx
        np.testing.assert_allclose(dx.get(), reference_grad(name, g, y.get(), dim), rtol=1e-4, atol=TOLERANCE[dtype]["atol"] * 100)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(softmax, cp, schedule, name, dtype):
    check_values_and_gradients(softmax, cp, name, dtype, CASES)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_rows_longer_than_the_registers(softmax, cp, name, dtype):
    check_values_and_gradients(softmax, cp, name, dtype, [(shape, 1) for shape in LONG])


def test_rows_that_are_not_aligned(softmax, cp):
    x = cp.asarray(data(1 + 3 * 64, np.float32))
    y = softmax.softmax(x[1:].reshape(3, 64), dim=1)
    np.testing.assert_allclose(y.get(), reference("softmax", x.get()[1:].reshape(3, 64), 1), **TOLERANCE[np.float32])


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_strides_and_out(softmax, cp, name, dim):
    x, g = data((6, 5, 4), np.float32), data((6, 5, 4), np.float32, 1)
    for view in (lambda v: v.transpose(2, 0, 1), lambda v: v[::2, ::-1]):
        y = getattr(softmax, name)(view(cp.asarray(x)), dim=dim)
        np.testing.assert_allclose(y.get(), reference(name, view(x), dim), **TOLERANCE[np.float32])
        dx = getattr(softmax, name + "_grad")(view(cp.asarray(g)), y, dim=dim)
        for out in (cp.zeros(y.shape, np.float32), cp.zeros(y.shape[::-1], np.float32).T):
            assert getattr(softmax, name)(view(cp.asarray(x)), dim=dim, out=out) is out
            np.testing.assert_array_equal(out.get(), y.get())
            assert getattr(softmax, name + "_grad")(view(cp.asarray(g)), y, dim=dim, out=out) is out
            np.testing.assert_array_equal(out.get(), dx.get())


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", NAMES)
def test_halves_are_rounded_once(softmax, cp, schedule, name, dtype):
    unit = float(ml_dtypes.finfo(dtype).eps) / 2
    tolerance = {"rtol": unit * 1.01, "atol": 1e-6}
    for shape, dim in [((3, 40), 1), ((3, 41), 1), ((1, 1000), 1), ((5, 6, 3), 1), ((4, 0), 1), ((2, 5, 300), 1)]:
        x, g = data(shape, dtype), data(shape, dtype, 1)
        y, dx = poisoned(cp, x), poisoned(cp, x)
        assert getattr(softmax, name)(cp.asarray(x), dim=dim, out=y) is y
        np.testing.assert_allclose(y.get().astype(np.float64), reference(name, x, dim), **tolerance)
        assert getattr(softmax, name + "_grad")(cp.asarray(g), y, dim=dim, out=dx) is dx
        wanted = reference_grad(name, g, y.get(), dim)
        np.testing.assert_allclose(dx.get().astype(np.float64), wanted, rtol=unit * 1.01, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinity(softmax, cp, name, dim):
    x = np.zeros((7, 40), np.float32)
    x[1, 3], x[2, 5], x[3, 7], x[4], x[5, 0], x[6, :-1] = np.nan, np.inf, -np.inf, -np.inf, 1e30, -np.inf
    if dim == 0:
        x = np.ascontiguousarray(x.T)
    y = getattr(softmax, name)(cp.asarray(x), dim=dim).get()
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = reference(name, x, dim)
    np.testing.assert_allclose(y, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_parity_with_the_cpu(softmax, cp, name):
    cpu = pytest.importorskip("lucid_kernels.cpu.reduction.softmax")
    for shape, dim in CASES:
        if 0 in shape:
            continue
        x, g = data(shape, np.float32), data(shape, np.float32, 1)
        y = getattr(cpu, name)(x, dim=dim)
        np.testing.assert_allclose(getattr(softmax, name)(cp.asarray(x), dim=dim).get(), y, rtol=1e-5, atol=2e-6)
        np.testing.assert_allclose(
            getattr(softmax, name + "_grad")(cp.asarray(g), cp.asarray(y), dim=dim).get(),
            getattr(cpu, name + "_grad")(g, y, dim=dim), rtol=1e-4, atol=2e-5,
        )  # fmt: skip
