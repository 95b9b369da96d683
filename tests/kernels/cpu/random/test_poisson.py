"""Quantiles of Poisson distributions against the distribution function."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.elementwise.special import gammaincc
from lucid_kernels.cpu.random.poisson import poisson_quantile


@pytest.mark.parametrize("rate", [0.0, 1e-8, 0.3, 30.0, 399.0, 400.0, 1e4, 1e7])
def test_values(rate):
    chance = np.append(np.random.default_rng(0).random(2000), [1e-9, 0.5, 1 - 1e-9])
    rates = np.full(chance.shape, rate)
    found = poisson_quantile(rates, chance)
    tolerance = 1e-9 if rate > 1e4 else 1e-12
    assert (gammaincc(found + 1, rates) > chance - tolerance).all()
    assert (gammaincc(np.maximum(found, 1), rates)[found > 0] <= chance[found > 0] + tolerance).all()


def test_the_ends():
    """The smallest and the largest chances there are, many sizes at once."""
    rates = np.repeat([0.0, 1.0, 399.0, 1e4], 2)
    found = poisson_quantile(rates.reshape(4, 2), np.array([[0.0, 1 - 2.0**-53]] * 4))
    assert (found[:, 0] <= rates[::2]).all() and (found[:, 1] >= rates[::2]).all()
    assert (found[:, 1] <= rates[::2] + 10 * np.sqrt(rates[::2]) + 40).all()
    assert poisson_quantile(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 3)
