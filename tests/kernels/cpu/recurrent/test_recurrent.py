"""Recurrent networks against NumPy in float64 and differences."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.recurrent.recurrent import recurrence, recurrence_grad

from ...recurrent_reference import CASES, data, run, slope, weight_gradients


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 3e-6)])
def test_values(case, dtype, tolerance):
    arrays, attributes = data(*case, dtype)
    given = [None if a is None else a.copy() for a in arrays]
    found = recurrence(*arrays, **attributes)[:3]
    for got, want in zip(found, run(*arrays, **attributes), strict=True):
        assert (got is None) == (want is None)
        if want is not None:
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    for array, copy in zip(arrays, given, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("missing", [(), (0,), (1, 2)])
def test_gradients(case, missing):
    arrays, attributes = data(*case)
    results = recurrence(*arrays, **attributes)
    rng = np.random.default_rng(1)
    upstream = [None if y is None else rng.normal(size=y.shape) for y in results[:3]]
    given = [None if number in missing else g for number, g in enumerate(upstream)]
    d_gates, d_product, d_hidden, d_cell = recurrence_grad(*given, arrays[1], *results[3:], **attributes)
    found = [d_gates, *weight_gradients(d_gates, d_product, results[4]), d_hidden, d_cell]
    directions = [None if a is None else rng.normal(size=a.shape) for a in arrays]
    want = slope(arrays, directions, [0 if g is None else g for g in given], attributes)
    got = sum((f * d).sum() for f, d in zip(found, directions, strict=True) if d is not None)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
@pytest.mark.parametrize("steps", [2, 6])
def test_other_shapes_of_the_same_rows(mode, steps):
    arrays, attributes = data(mode, 5, (3,) * steps, False, True)
    wide = [a if a is None else a.reshape(shape) for a, shape in zip(
        arrays, [(steps, 3, -1), arrays[1].shape, (-1,), *[(1, 3, 5)] * 2], strict=True)]
    expected, found = recurrence(*arrays, **attributes), recurrence(*wide, **attributes)
    shapes = [(steps, 3, 5), (1, 3, 5), (1, 3, 5)]
    for got, want, shape in zip(found[:3], expected[:3], shapes, strict=True):
        if want is not None:
            np.testing.assert_array_equal(got, want.reshape(shape))
    one = [a if a is None else a[:1] if a.ndim == 2 and len(a) in (3, 3 * steps) else a for a in arrays]
    vectors = [a if a is None or number in (1, 2) else a[0] for number, a in enumerate(one)]
    for got, want in zip(recurrence(*vectors, mode=mode, batch_sizes=(1,), reverse=False)[:3],
                         recurrence(*one, mode=mode, batch_sizes=(1,), reverse=False)[:3], strict=True):
        if want is not None:
            np.testing.assert_array_equal(got, want[0])
    slopes = [a if a is None else np.cos(a) for a in found[:3]]
    flat = [a if a is None else np.cos(a) for a in expected[:3]]
    for got, want in zip(recurrence_grad(*slopes, arrays[1], *found[3:], **attributes),
                         recurrence_grad(*flat, arrays[1], *expected[3:], **attributes), strict=True):
        if want is not None:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_single_precision_gradients_strides_and_out(mode):
    arrays, attributes = data(mode, 40, (6, 6, 5), False, mode == "GRU")
    small = [None if a is None else np.asfortranarray(a.astype(np.float32)) for a in arrays]
    wide, single = recurrence(*arrays, **attributes), recurrence(*small, **attributes)
    upstream = [None if y is None else np.ones_like(y) for y in wide[:3]]
    want = recurrence_grad(*upstream, arrays[1], *wide[3:], **attributes)
    turned = [None if g is None else np.asfortranarray(g.astype(np.float32)) for g in upstream]
    got = recurrence_grad(*turned, small[1], *single[3:], **attributes)
    out = tuple(None if a is None else np.empty((*a.shape, 2), a.dtype)[..., 0] for a in got)
    again = recurrence_grad(*turned, small[1], *single[3:], **attributes, out=out)
    for a, b, c, d in zip(want, got, again, out, strict=True):
        if a is not None:
            assert b.dtype == np.float32 and c is d
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(b, c)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(dtype):
    arrays, attributes = data("LSTM", 9, (4, 4), False, False, np.float32)
    halves = [None if a is None else a.astype(dtype) for a in arrays]
    wide = [None if a is None else a.astype(np.float32) for a in halves]
    for got, want in zip(recurrence(*halves, **attributes)[:3], recurrence(*wide, **attributes)[:3], strict=True):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, want.astype(dtype))


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_nan_infinity_and_nothing(mode):
    arrays, attributes = data(mode, 40, (6, 6), False, False, np.float32)
    arrays[0][2] = np.nan
    arrays[0][9] = np.inf
    output, *_ = recurrence(*arrays, **attributes)
    with np.errstate(all="ignore"):
        expected = run(*arrays, **attributes)[0]
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)
    assert np.isnan(output[2]).all() and np.isnan(output[8]).all() and np.isfinite(output[[0, 1, 6, 7]]).all()
    arrays, attributes = data(mode, 3, (0, 0), False, False)
    results = recurrence(*arrays, **attributes)
    assert results[0].shape == (0, 3) and results[1].shape == (0, 3)
    found = recurrence_grad(None, None, None, arrays[1], *results[3:], **attributes)
    assert found[0].shape == arrays[0].shape and found[2].shape == (0, 3)
