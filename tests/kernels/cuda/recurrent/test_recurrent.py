"""CUDA recurrent networks against float64 NumPy and the CPU's gradients."""
from __future__ import annotations

import numpy as np
import pytest

from ...recurrent_reference import CASES, data, run


@pytest.fixture
def recurrent(cp):
    from lucid_kernels.cuda.recurrent import recurrent

    return recurrent


def moved(cp, arrays):
    return [None if a is None else cp.asarray(a) for a in arrays]


@pytest.mark.parametrize("case", [case for case in CASES if case[1] < 70], ids=str)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 1e-5)])
def test_values_and_gradients(recurrent, cp, schedule, case, dtype, tolerance):
    cpu = pytest.importorskip("lucid_kernels.cpu.recurrent.recurrent")
    arrays, attributes = data(*case, dtype)
    results = recurrent.recurrence(*moved(cp, arrays), **attributes)
    for got, want in zip(results[:3], run(*arrays, **attributes), strict=True):
        if want is not None:
            assert got.dtype == dtype
            np.testing.assert_allclose(got.get(), want, rtol=tolerance, atol=tolerance)
    rng = np.random.default_rng(1)
    upstream = [None if y is None else rng.normal(size=y.shape).astype(dtype) for y in results[:3]]
    kept = cpu.recurrence(*arrays, **attributes)[3:]
    for given in (upstream, [upstream[0], None, None], [None, upstream[1], None]):
        expected = cpu.recurrence_grad(*given, arrays[1], *kept, **attributes)
        found = recurrent.recurrence_grad(*moved(cp, given), cp.asarray(arrays[1]), *results[3:], **attributes)
        for got, want in zip(found, expected, strict=True):
            assert (got is None) == (want is None)
            if want is not None:
                np.testing.assert_allclose(got.get(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
@pytest.mark.parametrize(("rows", "features"), [(3, 5), (33, 7), (1, 130)])
@pytest.mark.parametrize(("reverse", "bias"), [(False, True), (True, False)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 1e-5)])
def test_a_small_state(recurrent, cp, schedule, mode, rows, features, reverse, bias, dtype, tolerance):
    """One launch a step, of several blocks and chunks of the product, gives what a product and a kernel give."""
    arrays, attributes = data(mode, features, (rows,) * 3, reverse, bias, dtype)
    results = recurrent.recurrence(*moved(cp, arrays), **attributes)
    for got, want in zip(results[:3], run(*arrays, **attributes), strict=True):
        if want is not None:
            np.testing.assert_allclose(got.get(), want, rtol=tolerance, atol=tolerance)
    rng = np.random.default_rng(1)
    upstream = moved(cp, [None if y is None else rng.normal(size=y.shape).astype(dtype) for y in results[:3]])
    weight = cp.asarray(arrays[1])
    for given in (upstream, [upstream[0], None, None], [None, upstream[1], None]):
        found = recurrent.recurrence_grad(*given, weight, *results[3:], **attributes)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recurrent, "_SMALL", 0)
            expected = recurrent.recurrence_grad(*given, weight, *results[3:], **attributes)
        for got, want in zip(found, expected, strict=True):
            assert (got is None) == (want is None)
            if want is not None:
                np.testing.assert_allclose(got.get(), want.get(), rtol=tolerance, atol=tolerance)


def test_other_shapes_of_the_same_rows(recurrent, cp):
    for mode in ("LSTM", "GRU"):
        arrays, attributes = data(mode, 5, (3, 3), False, True)
        given = moved(cp, arrays)
        wide = [a if a is None else a.reshape(shape) for a, shape in zip(
            given, [(2, 3, -1), arrays[1].shape, (-1,), *[(1, 3, 5)] * 2], strict=True)]
        expected, found = recurrent.recurrence(*given, **attributes), recurrent.recurrence(*wide, **attributes)
        for got, want, shape in zip(found[:3], expected[:3], [(2, 3, 5), (1, 3, 5), (1, 3, 5)], strict=True):
            if want is not None:
                np.testing.assert_array_equal(got.get(), want.get().reshape(shape))
        slopes = recurrent.recurrence_grad(*found[:3], given[1], *found[3:], **attributes)
        flat = recurrent.recurrence_grad(*expected[:3], given[1], *expected[3:], **attributes)
        for got, want in zip(slopes, flat, strict=True):
            if want is not None:
                np.testing.assert_array_equal(got.get(), want.get())


def test_halves_out_and_nothing(recurrent, cp):
    arrays, attributes = data("LSTM", 9, (4, 4), False, False, np.float32)
    halves = [None if a is None else a.astype(np.float16) for a in arrays]
    got = recurrent.recurrence(*moved(cp, halves), **attributes)
    wide = recurrent.recurrence(*moved(cp, [None if a is None else a.astype(np.float32) for a in halves]), **attributes)
    for a, b in zip(got[:3], wide[:3], strict=True):
        np.testing.assert_array_equal(a.get(), b.get().astype(np.float16))
    out = tuple(cp.empty((*a.shape, 2), a.dtype)[..., 0] for a in wide)
    for a, b, c in zip(recurrent.recurrence(*moved(cp, halves), **attributes, out=out), out, wide, strict=True):
        assert a is b
        np.testing.assert_allclose(a.get(), c.get(), rtol=1e-6)
    arrays, attributes = data("GRU", 3, (0, 0), False, True)
    results = recurrent.recurrence(*moved(cp, arrays), **attributes)
    assert results[0].shape == (0, 3)
    assert recurrent.recurrence_grad(None, None, None, cp.asarray(arrays[1]), *results[3:], **attributes)[0].shape == (0, 9)


def test_nan_and_infinity(recurrent, cp):
    for mode in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"):
        arrays, attributes = data(mode, 7, (4, 4), False, False, np.float32)
        arrays[0][1, 0], arrays[0][2] = np.nan, np.inf
        with np.errstate(all="ignore"):
            expected = run(*arrays, **attributes)[0]
        found = recurrent.recurrence(*moved(cp, arrays), **attributes)[0]
        np.testing.assert_allclose(found.get(), expected, rtol=1e-5, atol=1e-5)
