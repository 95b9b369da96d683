"""CUDA attention against float64 NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels import attention_reference as reference

TOLERANCE = {np.float32: {"rtol": 1e-4, "atol": 2e-5}, np.float64: {"rtol": 1e-10, "atol": 1e-12}}
SCALE = 0.3


@pytest.fixture
def kernels(cp):
    from lucid_kernels.cuda.attention import attention

    return attention


def forward_and_backward(kernels, cp, g, q, k, v, mask, is_causal=False, scale=SCALE):
    g, q, k, v, mask = (None if a is None else cp.asarray(a) for a in (g, q, k, v, mask))
    y, *kept = kernels.attention(q, k, v, mask, scale=scale, is_causal=is_causal, with_grad=True)
    return (y, logarithms(cp, kept, mask, scale), *kernels.attention_grad(g, q, k, v, mask, y, *kept, scale=scale, is_causal=is_causal))


def logarithms(cp, kept, mask, scale):
    """Of the sums of exponentials."""
    from lucid_kernels.cuda.attention import problem

    shift, factor = (a.get() for a in kept[:2])
    return cp.asarray(reference.logarithms(shift * shift.dtype.type(problem.factors(mask, scale)[1]), factor))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mask", reference.MASKS, ids=str)
def test_values_and_gradients(kernels, cp, dtype, mask):
    for shape in reference.SHAPES:
        data = reference.data(shape, mask, dtype)
        results = forward_and_backward(kernels, cp, *data, is_causal=mask == "causal")
        for got, wanted in zip(results, reference.expected(*data, is_causal=mask == "causal"), strict=True):
            assert got.dtype == dtype and got.shape == wanted.shape
            np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[dtype])


@pytest.mark.parametrize("mask", ["causal", (1, 1, 1, 1)], ids=str)
def test_every_schedule(kernels, cp, schedule, mask):
    data = reference.data((1, 2, 1, 70, 66, 17, 5), mask, np.float32)
    results = forward_and_backward(kernels, cp, *data, is_causal=mask == "causal")
    for got, wanted in zip(results, reference.expected(*data, is_causal=mask == "causal"), strict=True):
        np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[np.float32])


def test_strides_and_out(kernels, cp):
    data = reference.data((2, 2, 2, 9, 7, 8, 6), (1, 0, 1, 1), np.float32)
    wanted = [a.get() for a in forward_and_backward(kernels, cp, *data)]
    g, q, k, v, mask = (cp.asarray(np.ascontiguousarray(a.T)).T for a in data)
    out = (cp.zeros(wanted[0].shape, np.float32, order="F"), None, cp.zeros(wanted[1].shape, np.float32, order="F"), None)
    y, *kept = kernels.attention(q, k, v, mask, scale=SCALE, is_causal=False, with_grad=True, out=out)
    assert y is out[0] and kept[1] is out[2]
    out = (cp.zeros(q.shape, np.float32), cp.zeros(k.shape, np.float32, order="F"), None)
    grads = kernels.attention_grad(g, q, k, v, mask, y, *kept, scale=SCALE, is_causal=False, out=out)
    assert grads[0] is out[0] and grads[1] is out[1]
    for got, plain in zip((y, *grads), wanted[:1] + wanted[2:], strict=True):
        np.testing.assert_array_equal(got.get(), plain)


def without_tensor_cores(monkeypatch):
    from lucid_kernels.cuda.attention import flash_attention

    monkeypatch.setattr(flash_attention, "serves", lambda q, v: False)


@pytest.mark.parametrize("mask", reference.MASKS, ids=str)
def test_float32_without_tensor_cores(kernels, cp, monkeypatch, mask):
    without_tensor_cores(monkeypatch)
    for shape in reference.SHAPES[1:4]:
        data = reference.data(shape, mask, np.float32)
        results = forward_and_backward(kernels, cp, *data, is_causal=mask == "causal")
        for got, wanted in zip(results, reference.expected(*data, is_causal=mask == "causal"), strict=True):
            np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[np.float32])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_without_tensor_cores_are_computed_in_float32(kernels, cp, monkeypatch, dtype):
    without_tensor_cores(monkeypatch)
    data = reference.data((1, 2, 1, 9, 7, 8, 8), (0, 0, 1, 1), dtype)
    results = forward_and_backward(kernels, cp, *data)
    assert [a.dtype for a in results] == [dtype, np.float32, dtype, dtype, dtype]
    q, k, v, mask = (cp.asarray(a.astype(np.float32)) for a in data[1:])
    y, *kept = kernels.attention(q, k, v, mask, scale=SCALE, is_causal=False, with_grad=False)
    np.testing.assert_array_equal(results[0].get(), y.get().astype(dtype))
    np.testing.assert_array_equal(results[1].get(), logarithms(cp, kept, mask, SCALE).get())


def test_wide_heads(kernels, cp):
    data = reference.data((1, 1, 1, 5, 6, 260, 3), None, np.float32)
    for got, wanted in zip(forward_and_backward(kernels, cp, *data), reference.expected(*data), strict=True):
        np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[np.float32])


@pytest.mark.parametrize("empty", [0, 3, 4, 5, 6])
def test_empty(kernels, cp, empty):
    shape = [2, 2, 2, 3, 4, 5, 6]
    shape[empty] = 0
    for causal in (False, True):
        data = reference.data(shape, None, np.float32)
        results = forward_and_backward(kernels, cp, *data, is_causal=causal)
        for got, wanted in zip(results, reference.expected(*data, is_causal=causal), strict=True):
            np.testing.assert_allclose(got.get(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", [1, 2, 3])
def test_nan_and_infinity_go_where_they_go_in_numpy(kernels, cp, bad, where):
    data = reference.data((1, 1, 1, 7, 5, 4, 3), None, np.float32)
    data[where][0, 0, 2, 1] = bad
    with np.errstate(invalid="ignore"):
        wanted = reference.expected(*data)
    for got, exact in zip(forward_and_backward(kernels, cp, *data), wanted, strict=True):
        np.testing.assert_allclose(got.get(), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lowest", reference.LOWEST)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_the_lowest_number_are_a_mean(kernels, cp, lowest, dtype):
    data = reference.masked_with(lowest, (1, 2, 1, 20, 70, 8, 8), dtype)
    for got, wanted in zip(forward_and_backward(kernels, cp, *data), reference.expected(*data), strict=True):
        np.testing.assert_allclose(got.get(), wanted, **TOLERANCE[dtype])


@pytest.mark.parametrize("causal", [False, True])
def test_equal_scores_however_large(kernels, cp, causal):
    g, q, k, v, _ = reference.data((1, 1, 1, 40, 20, 8, 8), None, np.float32)
    k[:] = k[:, :, :1]
    y, _, _, _, dv = forward_and_backward(kernels, cp, g, q * 1e15, k * 1e15, v, None, is_causal=causal)
    wanted = reference.expected(g, q * 0, k, v, None, is_causal=causal)
    np.testing.assert_allclose(y.get(), wanted[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(dv.get(), wanted[4], rtol=1e-5, atol=1e-5)


def test_parity_with_the_cpu(kernels, cp):
    cpu = pytest.importorskip("lucid_kernels.cpu.attention.attention")
    g, q, k, v, mask = reference.data((1, 4, 2, 70, 66, 8, 8), (1, 1, 1, 1), np.float32)
    y, *kept = cpu.attention(q, k, v, mask, scale=SCALE, is_causal=False, with_grad=True)
    lse = reference.logarithms(*kept[:2])
    wanted = (y, lse, *cpu.attention_grad(g, q, k, v, mask, y, *kept, scale=SCALE, is_causal=False))
    for got, other in zip(forward_and_backward(kernels, cp, g, q, k, v, mask), wanted, strict=True):
        np.testing.assert_allclose(got.get(), other, rtol=1e-4, atol=2e-5)
