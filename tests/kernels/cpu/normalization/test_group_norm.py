"""Group normalisation against NumPy in float64."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.normalization.group_norm import group_norm, group_norm_grad

from ...group_norm_reference import CASES, EPS, data, expected


@pytest.mark.parametrize(("shape", "groups"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 3e-5)])
@pytest.mark.parametrize("affine", [True, False])
def test_values_and_gradients(shape, groups, dtype, tolerance, affine):
    arrays = x, g, weight, bias = data(shape, dtype)
    before = [array.copy() for array in arrays]
    weight, bias = (weight, bias) if affine else (None, None)
    y, mean, rstd = group_norm(x, weight, bias, groups=groups, eps=EPS)
    results = (y, mean, rstd, *group_norm_grad(g, x, weight, mean, rstd, groups=groups))
    for got, want in zip(results, expected(x, g, weight, bias, groups), strict=True):
        assert got.dtype == dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1, np.abs(want).max(initial=0)))
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_strides_out_and_halves():
    x, g, weight, bias = data((3, 4, 17), np.float32)
    y, mean, rstd = group_norm(x, weight, bias, groups=2, eps=EPS)
    gradients = group_norm_grad(g, x, weight, mean, rstd, groups=2)
    turned = [np.asfortranarray(array) for array in (g, x)]
    out = np.empty((3, 4, 17, 2), np.float32)[..., 0]
    assert group_norm(turned[1], weight, bias, groups=2, eps=EPS, out=(out, None, None))[0] is out
    np.testing.assert_array_equal(out, y)
    for got, want in zip(group_norm_grad(*turned, weight, mean, rstd, groups=2), gradients, strict=True):
        np.testing.assert_array_equal(got, want)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        halves = [array.astype(dtype) for array in (x, weight, bias)]
        found = group_norm(*halves, groups=2, eps=EPS)
        wide = group_norm(*[half.astype(np.float32) for half in halves], groups=2, eps=EPS)
        assert found[0].dtype == dtype and found[1].dtype == np.float32
        np.testing.assert_array_equal(found[0], wide[0].astype(dtype))


def test_nan_and_infinity_stay_in_their_group():
    x, g, weight, bias = data((2, 6, 20), np.float32)
    x[0, 0, 3], x[1, 5, 2] = np.nan, np.inf
    weight[3] = 0
    y, mean, rstd = group_norm(x, weight, bias, groups=3, eps=EPS)
    dx, dweight, _ = group_norm_grad(g, x, weight, mean, rstd, groups=3)
    for array in (y, dx):
        assert np.isnan(array[0, :2]).all() and np.isfinite(array[0, 2:]).all() and np.isfinite(array[1, :4]).all()
    assert np.isnan(y[1, 5, 2]) and np.isfinite(dweight[2:4]).all() and np.isnan(dweight[:2]).all()


@pytest.mark.parametrize("length", [5, 1])
def test_infinite_weights_and_gradients_are_those_of_the_formula_with_a_scale_and_a_shift(length):
    """PyTorch's, whose two infinities may be NaN where their difference is not."""
    x, g, weight, bias = data((3, 4, length), np.float32)
    weight[1], g[1, 0, length // 2] = np.inf, -np.inf
    y, mean, rstd = group_norm(x, weight, bias, groups=2, eps=EPS)
    dx, dweight, _ = group_norm_grad(g, x, weight, mean, rstd, groups=2)
    with np.errstate(all="ignore"):
        mean, rstd = (np.repeat(statistic, 2, axis=1)[:, :, None] for statistic in (mean, rstd))
        scale = rstd * weight[:, None]
        want = x * scale + (bias[:, None] - mean * scale)
        sums_g, sums_gx = g.sum(2), (g * x).sum(2)
        each_g, each_gx = ((weight * sums).reshape(3, 2, 2).sum(2).repeat(2, axis=1)[:, :, None] for sums in (sums_g, sums_gx))
        slope = (each_g * mean - each_gx) * rstd**3 / (2 * length)
        want_dx = scale * g + slope * x + (-slope * mean - each_g * rstd / (2 * length))
        want_dweight = ((sums_gx - sums_g * mean[:, :, 0]) * rstd[:, :, 0]).sum(0)
    for got, expected_values in ((y, want), (dx, want_dx), (dweight, want_dweight)):
        np.testing.assert_allclose(got, expected_values, rtol=1e-4, atol=1e-4)
        assert not np.isfinite(got).all()
    assert np.isnan(y[:, 1]).any() and (length == 1 or np.isinf(y[:, 1]).any())
