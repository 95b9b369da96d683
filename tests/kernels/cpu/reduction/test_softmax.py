"""Softmax kernels against formulas in float64, and against PyTorch where it is installed."""

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.reduction import softmax as kernels
from lucid_kernels.cpu.simd import nontemporal

RNG = np.random.default_rng(0)
TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 3e-3, "bfloat16": 2.5e-2}
SHAPES = [((7, 5), 1), ((7, 5), 0), ((2, 5, 600), 1), ((4,), -1), ((), 0), ((3, 4, 2), -2), ((0, 3), 1), ((3, 0), 1)]


def softmax(x, dim):
    if x.size == 0 or x.ndim == 0:
        return np.ones_like(x)
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def total(x, dim):
    return x.sum(dim, keepdims=True) if x.ndim else x


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_values(dtype):
    tolerance = TOLERANCE[np.dtype(dtype).name]
    for shape, dim in SHAPES:
        x = np.asarray(3 * RNG.standard_normal(shape)).astype(dtype)
        g = np.asarray(RNG.standard_normal(shape)).astype(dtype)
        wide, upstream = x.astype(np.float64), g.astype(np.float64)
        p = softmax(wide, dim)
        y = kernels.softmax(x, dim=dim)
        assert y.dtype == dtype and y.shape == shape and y.flags.c_contiguous
        np.testing.assert_allclose(y.astype(np.float64), p, rtol=tolerance, atol=tolerance)
        log_y = kernels.log_softmax(x, dim=dim)
        np.testing.assert_allclose(log_y.astype(np.float64), np.log(p), rtol=tolerance, atol=tolerance)
        q = y.astype(np.float64)
        dx = kernels.softmax_grad(g, y, dim=dim)
        np.testing.assert_allclose(
            dx.astype(np.float64), q * (upstream - total(upstream * q, dim)), rtol=tolerance, atol=2 * tolerance
        )
        q = np.exp(log_y.astype(np.float64))
        dx = kernels.log_softmax_grad(g, log_y, dim=dim)
        np.testing.assert_allclose(
            dx.astype(np.float64), upstream - q * total(upstream, dim), rtol=tolerance, atol=4 * tolerance
        )


def test_parallel_is_the_same_as_serial():
    x = RNG.standard_normal((900, 50), dtype=np.float32)
    y = kernels.softmax(x, dim=1)
    np.testing.assert_array_equal(y, np.concatenate([kernels.softmax(x[i : i + 300], dim=1) for i in (0, 300, 600)]))
    dx = kernels.log_softmax_grad(x, y, dim=1)
    np.testing.assert_array_equal(dx[:300], kernels.log_softmax_grad(x[:300], y[:300], dim=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [128, 131, 1000])
def test_streamed_is_the_same(width, dtype, monkeypatch):
    """In large arrays of rows; also what is not finite. A result that is given is not streamed."""
    x, g = RNG.standard_normal((2, 60_000 // width, width)).astype(dtype)
    x[3, 5], x[4, 6], x[5] = np.nan, np.inf, -np.inf
    calls = [(kernels.softmax, (x,)), (kernels.log_softmax, (x,)), (kernels.softmax_grad, (g, x)), (kernels.log_softmax_grad, (g, x))]
    with np.errstate(all="ignore"):
        expected = [function(*arrays, dim=1) for function, arrays in calls]
        monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
        for (function, arrays), y in zip(calls, expected, strict=True):
            copies = [array.copy() for array in arrays]
            assert function(*copies, dim=1, out=copies[0]) is copies[0]
            for computed in (function(*arrays, dim=1), copies[0]):
                np.testing.assert_allclose(computed, y, rtol=100 * np.finfo(dtype).eps, atol=100 * np.finfo(dtype).eps)


def test_strides_and_out():
    x = RNG.standard_normal((8, 6), dtype=np.float32).T[::2]
    copy = x.copy()
    expected = kernels.softmax(copy, dim=1)
    for out in (np.empty((3, 8), np.float32), np.empty((8, 3), np.float32).T):
        assert kernels.softmax(x, dim=1, out=out) is out
        np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(x, copy)


@pytest.mark.parametrize("dim", [0, 1])
def test_not_finite(dim):
    x = np.zeros((5, 20), np.float32)
    x[0, 3], x[1, 3], x[2, 3], x[3] = np.nan, np.inf, -np.inf, -np.inf
    if dim == 0:
        x = x.T.copy()
    y, log_y = kernels.softmax(x, dim=dim), kernels.log_softmax(x, dim=dim)
    y, log_y = (y, log_y) if dim else (y.T, log_y.T)
    assert np.isnan(y[[0, 1, 3]]).all() and np.isnan(log_y[[0, 1, 3]]).all()
    assert y[2, 3] == 0 and log_y[2, 3] == -np.inf
    np.testing.assert_allclose(y[2, 4:], 1 / 19, rtol=1e-6)


@pytest.mark.parametrize("shape", [(40, 30), (40, 30, 7)])
def test_large_numbers_of_one_size_lose_no_digits(shape):
    x = (1e4 + RNG.standard_normal(shape)).astype(np.float32)
    expected = np.log(softmax(x.astype(np.float64), 1))
    np.testing.assert_allclose(kernels.log_softmax(x, dim=1), expected, rtol=1e-6)
    np.testing.assert_allclose(kernels.log_softmax(np.tile(x, (30, 1, 1)[: x.ndim]), dim=1)[-40:], expected, rtol=1e-6)


def test_as_in_torch():
    torch = pytest.importorskip("torch")
    x = (5 * RNG.standard_normal((6, 33, 4))).astype(np.float32)
    for dim in (0, 1, 2):
        np.testing.assert_allclose(
            kernels.softmax(x, dim=dim), torch.softmax(torch.tensor(x), dim), rtol=2e-6, atol=1e-7
        )
        np.testing.assert_allclose(
            kernels.log_softmax(x, dim=dim), torch.log_softmax(torch.tensor(x), dim), rtol=2e-6, atol=2e-6
        )


@pytest.mark.parametrize("shape", [(3, 40), (3, 40, 7)])
def test_small_results_are_subnormal_not_zero(shape):
    x = np.zeros(shape, np.float32)
    x[0, 1:], x[1, 1:], x[2, 1:] = -90.0, -102.0, -110.0
    y = kernels.softmax(x, dim=1)
    wanted = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-45)
    assert (y[1, 1:] > 0).all() and (y[2, 1:] == 0).all()
