"""Counts of small numbers."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.counting import count

import lucid


@pytest.mark.parametrize("size", [0, 1, 7, 5000])
@pytest.mark.parametrize("largest", [0, 3, 900])
def test_counts(size: int, largest: int) -> None:
    x = np.random.default_rng(0).integers(0, largest + 1, size)
    np.testing.assert_array_equal(count(x, largest + 2), np.bincount(x, minlength=largest + 2))


def test_the_library_uses_it() -> None:
    x = np.random.default_rng(0).integers(0, 50, 10000)
    for values in (x, x[::2], x * 1000):
        assert lucid.bincount(lucid.tensor(values)).tolist() == np.bincount(values).tolist()
    with pytest.raises(RuntimeError, match="non-negative"):
        lucid.bincount(lucid.tensor([1, -1] * 4000))
