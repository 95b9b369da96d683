"""The CUDA pathwise gradients are those of the CPU, and of high precision."""
from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.pathwise_reference import BETA, GAMMA

ODD = [np.nan, np.inf, -1.0, 0.0, 1.0, 0.5, 1.5]


@pytest.fixture
def pathwise(cp):
    from lucid_kernels.cuda.random import pathwise

    return pathwise


def check_gamma(cp, cuda, dtype):
    from lucid_kernels.cpu.random import pathwise as cpu

    a, x, slopes = np.array(GAMMA).T.astype(dtype)
    found = cuda.standard_gamma_grad(cp.asarray(a), cp.asarray(x), out=cp.full(a.shape, np.nan, dtype)).get()
    np.testing.assert_allclose(found, slopes, rtol=1e-11 if dtype == np.float64 else 1e-5)
    np.testing.assert_allclose(found, cpu.standard_gamma_grad(a, x), rtol=1e-13 if dtype == np.float64 else 3e-7)
    odd = np.array(ODD, dtype)
    result = cuda.standard_gamma_grad(cp.asarray(odd[:, None]), cp.asarray(odd)).get()
    np.testing.assert_allclose(result, cpu.standard_gamma_grad(odd[:, None], odd), rtol=1e-6)


def check_beta(cp, cuda, dtype):
    from lucid_kernels.cpu.random import pathwise as cpu

    a, b, x, slopes = np.array([*BETA, (2e7, 3e7, 0.4001, np.nan)]).T.astype(dtype)
    found = cuda.dirichlet_grad(*map(cp.asarray, (x, a, a + b)), out=cp.full(a.shape, np.nan, dtype)).get()
    if dtype == np.float64:
        np.testing.assert_allclose(found[:-1], slopes[:-1], rtol=1e-11)
    np.testing.assert_allclose(found, cpu.dirichlet_grad(x, a, a + b), rtol=1e-12 if dtype == np.float64 else 3e-7)
    odd = np.array(ODD, dtype)
    arrays = odd[:, None, None], odd[:, None], odd + 1
    result = cuda.dirichlet_grad(*map(cp.asarray, arrays)).get()
    np.testing.assert_allclose(result, cpu.dirichlet_grad(*arrays), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gamma(pathwise, cp, schedule, dtype):
    check_gamma(cp, pathwise, np.dtype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_beta(pathwise, cp, schedule, dtype):
    check_beta(cp, pathwise, np.dtype(dtype))


def test_strides_and_empty(pathwise, cp):
    a = cp.asarray(np.linspace(0.5, 4, 24).reshape(4, 6)).T[::2]
    expected = pathwise.standard_gamma_grad(cp.ascontiguousarray(a), cp.ones(())).get()
    np.testing.assert_array_equal(pathwise.standard_gamma_grad(a, cp.ones(())).get(), expected)
    assert pathwise.standard_gamma_grad(cp.zeros((0, 3)), cp.zeros((0, 3))).shape == (0, 3)
    assert pathwise.standard_gamma_grad(a.astype(np.float16), a.astype(np.float16)).dtype == np.float16
    assert pathwise.dirichlet_grad(cp.zeros((0, 3)), cp.zeros((0, 3)), cp.zeros((0, 3))).shape == (0, 3)
