"""Gamma numbers: their distribution, ends, and that element i depends on its counter alone."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.elementwise.special import gammainc
from lucid_kernels.cpu.random.gamma import random_gamma


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 3.0, 200.0])
def test_distribution(shape, dtype):
    """The statistic of Kolmogorov and Smirnov; 1.95 / sqrt(n) is exceeded once in a thousand."""
    n = 20000
    numbers = random_gamma(np.full(n, shape, dtype), seed=11, offset=3)
    assert numbers.dtype == dtype
    ranks = np.sort(gammainc(np.full(n, shape), numbers.astype(np.float64)))
    assert max(np.abs(ranks - np.arange(n) / n).max(), np.abs(ranks - np.arange(1, n + 1) / n).max()) < 1.95 / np.sqrt(n)


def test_logarithms():
    shapes = np.array([0.5, 1.0, 7.0, 1e-3])
    numbers, logarithms = (random_gamma(shapes, seed=5, offset=9, log=log) for log in (False, True))
    np.testing.assert_allclose(np.log(numbers)[:3], logarithms[:3], rtol=1e-13)
    assert np.isfinite(random_gamma(np.full(1000, 1e-4), seed=1, offset=0, log=True)).all()


def test_an_element_depends_on_its_counter_alone():
    shapes = np.linspace(0.1, 5, 5001)
    whole = random_gamma(shapes, seed=2**63 + 5, offset=2**32 - 100)
    np.testing.assert_array_equal(random_gamma(shapes[3000:3010], seed=2**63 + 5, offset=2**32 + 2900), whole[3000:3010])
    np.testing.assert_array_equal(random_gamma(np.repeat(shapes, 2)[::2], seed=2**63 + 5, offset=2**32 - 100), whole)


def test_ends():
    numbers = random_gamma(np.array([0.0, -1.0, np.nan, np.inf, 1e-300]), seed=1, offset=0)
    np.testing.assert_array_equal(numbers, [2.0**-1022, np.nan, np.nan, np.inf, 2.0**-1022])
    assert random_gamma(np.empty((0, 2), np.float32), seed=1, offset=0).shape == (0, 2)
    assert random_gamma(np.full(3, 2.0, np.float16), seed=1, offset=0).dtype == np.float16
    out = np.empty((2, 3))
    assert random_gamma(np.ones((2, 3)), seed=1, offset=0, out=out) is out
