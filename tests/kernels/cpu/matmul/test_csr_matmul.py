"""Products of matrices by rows: values, large ones, special values, integers and complex numbers."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.matmul import csr_matmul as kernels

from tests.kernels import csr


def _nan(shape, dtype):
    return np.full(shape, np.nan, dtype)


@pytest.mark.parametrize("shape", csr.SHAPES)
def test_values(shape):
    csr.check(lambda array: array, kernels, shape, np.float32, 3e-6, _nan)
    csr.check(lambda array: array, kernels, shape, np.float64, 1e-14, _nan)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float16, 6e-4), (ml_dtypes.bfloat16, 5e-3)])
def test_halves_are_rounded_once(dtype, tolerance):
    csr.check(lambda array: array, kernels, (9, 30, 5, 120), dtype, tolerance, _nan)


@pytest.mark.parametrize("shape", [(300, 200, 64, 6000), (4, 500, 1, 1900), (3, 50, 2100, 100), (2000, 40, 40, 3000)])
def test_many_elements_by_several_threads(shape):
    csr.check(lambda array: array, kernels, shape, np.float64, 1e-13, _nan)


def test_special_values_stay_in_their_rows():
    dense = np.array([[1.0, np.nan], [np.inf, 2.0], [5.0, 6.0]])
    found = kernels.csr_matmul(np.array([2.0, 0.0, 1.0]), np.array([0, 1, 1, 3]), np.array([0, 1, 2]), dense)
    np.testing.assert_array_equal(found, [[2.0, np.nan], [0.0, 0.0], [np.nan, 6.0]])


@pytest.mark.parametrize("dtype", [np.int64, np.complex128])
def test_integers_and_complex_numbers(dtype):
    values, compressed, plain, _ = csr.matrix(6, 5, 12)
    values, dense = np.trunc(values * 9).astype(dtype), np.arange(20).reshape(5, 4).astype(dtype)
    row, whole = np.repeat(np.arange(6), np.diff(compressed)), np.zeros((6, 5), dtype)
    whole[row, plain] = values
    np.testing.assert_array_equal(kernels.csr_matmul(values, compressed, plain, dense), whole @ dense)
    np.testing.assert_array_equal(kernels.csr_sampled(whole, whole[:5], compressed, plain),
                                  (whole @ whole[:5].T)[row, plain])
