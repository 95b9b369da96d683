"""Group normalisation on a GPU against float64 NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.group_norm_reference import CASES, EPS, data, expected


@pytest.fixture
def group_norm(cp):
    from lucid_kernels.cuda.normalization import group_norm

    return group_norm


@pytest.mark.parametrize(("shape", "groups"), [case for case in CASES if np.prod(case[0]) < 10_000])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 3e-5)])
@pytest.mark.parametrize("affine", [True, False])
def test_values_and_gradients(group_norm, cp, shape, groups, dtype, tolerance, affine):
    x, g, weight, bias = data(shape, dtype)
    weight, bias = (weight, bias) if affine else (None, None)
    given = [None if array is None else cp.asarray(array) for array in (x, weight, bias)]
    y, mean, rstd = group_norm.group_norm(*given, groups=groups, eps=EPS)
    results = (y, mean, rstd, *group_norm.group_norm_grad(cp.asarray(g), *given[:2], mean, rstd, groups=groups))
    for got, want in zip(results, expected(x, g, weight, bias, groups), strict=True):
        assert got.dtype == dtype and got.shape == want.shape
        np.testing.assert_allclose(got.get(), want, rtol=tolerance, atol=tolerance * max(1, np.abs(want).max(initial=0)))


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 4, 8), 3), ((3, 8), 2), ((1, 4, 4100), 2), ((3, 4, 3201), 2), ((3, 4, 3208), 2), ((700, 2, 12), 1),
                                               ((40, 64, 4), 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("parameters", ["alike", "float32"])
def test_packs_and_halves(group_norm, cp, shape, groups, dtype, parameters):
    x, g, weight, bias = data(shape, dtype)
    if parameters == "float32" and dtype == np.float64:
        pytest.skip("parameters are no narrower than what is normalized")
    if parameters == "float32":
        weight, bias = weight.astype(np.float32), bias.astype(np.float32)
    given = [cp.asarray(array) for array in (x, weight, bias)]
    y = cp.asarray(np.full(shape, np.nan, dtype))
    _, mean, rstd = group_norm.group_norm(*given, groups=groups, eps=EPS, out=(y, None, None))
    out = tuple(cp.asarray(np.full(array.shape, np.nan, array.dtype)) for array in (x, weight, weight))
    results = (y, mean, rstd, *group_norm.group_norm_grad(cp.asarray(g), *given[:2], mean, rstd, groups=groups, out=out))
    for got, want in zip(results, expected(x, g, weight, bias, groups), strict=True):
        rounding = float(ml_dtypes.finfo(got.dtype).eps) * (0.51 if got.dtype.itemsize == 2 else 100)
        np.testing.assert_allclose(got.get().astype(np.float64), want, rtol=rounding,
                                   atol=(1e-11 if dtype == np.float64 else 3e-5) * max(1, np.abs(want).max(initial=0)))


def test_halves_and_out(group_norm, cp):
    x, g, weight, bias = (cp.asarray(array.astype(np.float16)) for array in data((3, 4, 17)))
    y, mean, rstd = group_norm.group_norm(x, weight, bias, groups=2, eps=EPS)
    assert y.dtype == np.float16 and mean.dtype == rstd.dtype == np.float32
    out = cp.empty_like(x)
    assert group_norm.group_norm(x, weight, bias, groups=2, eps=EPS, out=(out, None, None))[0] is out
    np.testing.assert_array_equal(out.get(), y.get())
    assert [array.dtype for array in group_norm.group_norm_grad(g, x, weight, mean, rstd, groups=2)] == [np.float16] * 3
