"""Pathwise gradients against high-precision differences of the distribution functions, and their ends."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.random.pathwise import dirichlet_grad, standard_gamma_grad

from tests.kernels.pathwise_reference import BETA, GAMMA


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-11), (np.float32, 1e-5)])
def test_values(dtype, rtol):
    a, x, slopes = np.array(GAMMA).T
    np.testing.assert_allclose(standard_gamma_grad(a.astype(dtype), x.astype(dtype)), slopes, rtol=rtol)
    a, b, x, slopes = np.array(BETA).T
    keep = (x < 0.99) | (dtype is np.float64)  # 1 - x has few digits in float32
    result = dirichlet_grad(x.astype(dtype), a.astype(dtype), (a + b).astype(dtype))
    np.testing.assert_allclose(result[keep], slopes[keep], rtol=rtol)


def test_the_two_sides_of_a_beta_number_agree():
    """x of (a, b) is 1 - x of (b, a): raising both parameters in proportion moves both alike, and huge ones nearly not."""
    a, b, x = 5.0, 8.0, np.array([0.1, 0.38, 0.8])
    uniform = dirichlet_grad(x, np.array(1.0), np.array(2.0))  # P = x^a: dx/da = -x log(x) at a = 1
    np.testing.assert_allclose(uniform * (1 - x), -x * np.log(x), rtol=1e-12)
    small = np.array([1e7 * 0.99, 1e7 * 1.01])  # on both sides of the leading term's range
    left, right = dirichlet_grad(np.full(2, 0.5001), small, 2 * small) * small
    np.testing.assert_allclose(left, right, rtol=1e-2 * abs(left))
    assert np.all(dirichlet_grad(x, np.array(a), np.array(a + b)) > 0)


def test_ends():
    zero, inf, nan = 0.0, np.inf, np.nan
    a = np.array([1.0, zero, -1.0, nan, inf, 1.0, 1.0, 1.0])
    x = np.array([zero, 1.0, 1.0, 1.0, 1.0, -1.0, nan, inf])
    np.testing.assert_array_equal(standard_gamma_grad(a, x), [zero, *[nan] * 7])
    x = np.array([zero, 1.0, -0.1, 1.1, nan])
    result = dirichlet_grad(x, np.full(5, 2.0), np.full(5, 4.0))
    assert result[0] == 0 and np.isfinite(result[1]) and np.isnan(result[2:]).all()
    assert np.isnan(dirichlet_grad(np.full(3, 0.5), np.array([zero, 1.0, nan]), np.array([1.0, 1.0, 1.0]))).all()


def test_broadcasting_strides_out_and_empty():
    a, x = np.linspace(0.5, 3, 12).reshape(4, 3), np.linspace(0.1, 2, 8)[::2, None]
    expected = standard_gamma_grad(np.broadcast_to(a, (4, 3)).copy(), np.broadcast_to(x, (4, 3)).copy())
    out = np.empty((3, 4)).T
    assert standard_gamma_grad(a, x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert standard_gamma_grad(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 3)
    assert standard_gamma_grad(a.astype(np.float16), x.astype(np.float16)).dtype == np.float16
    assert dirichlet_grad(np.array(0.5), np.array(1.0), np.array(2.0)).shape == ()
