"""Products of matrices by rows on a GPU: values, halves, special values, columns out of range."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels import csr


def check(cp, shape, dtype, tolerance):
    from lucid_kernels.cuda.matmul import csr_matmul

    csr.check(cp.asarray, csr_matmul, shape, dtype, tolerance, lambda shape, dtype: cp.asarray(np.full(shape, np.nan, dtype)))


@pytest.mark.parametrize("shape", csr.SHAPES)
def test_values(cp, schedule, shape):
    check(cp, shape, np.float32, 3e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float16, 6e-4), (ml_dtypes.bfloat16, 5e-3)])
def test_dtypes(cp, schedule, dtype, tolerance):
    check(cp, (9, 30, 5, 120), dtype, tolerance)


def special(cp):
    from lucid_kernels.cuda.matmul.csr_matmul import csr_matmul, csr_sampled

    dense = cp.asarray(np.array([[1.0, np.nan], [np.inf, 2.0], [5.0, 6.0]]))
    starts = cp.asarray(np.array([0, 1, 1, 3]))
    found = csr_matmul(cp.asarray(np.array([2.0, 0.0, 1.0])), starts, cp.asarray(np.array([0, 1, 2])), dense)
    np.testing.assert_array_equal(found.get(), [[2.0, np.nan], [0.0, 0.0], [np.nan, 6.0]])
    for wrong in (-1, 3, 2**40):  # nothing is read there
        plain = cp.asarray(np.array([0, wrong, 2]))
        found = csr_matmul(cp.asarray(np.array([2.0, 0.0, 1.0])), starts, plain, dense)
        np.testing.assert_array_equal(found.get()[2], [5.0, 6.0])
        found = csr_sampled(cp.asarray(np.ones((3, 2))), dense, starts, plain)
        np.testing.assert_array_equal(found.get(), [np.nan, 0.0, 11.0])


def test_special_values_and_columns_out_of_range(cp, schedule):
    special(cp)
