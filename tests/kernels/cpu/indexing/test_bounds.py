"""Checking indices on the CPU."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.indexing.bounds import check_bounds

MESSAGE = "index {value} is not below {limit}"


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_indices_in_range_and_the_first_beyond(dtype):
    good = np.arange(5, dtype=dtype)
    assert check_bounds(good, low=0, high=5, message=MESSAGE) is None
    with pytest.raises(IndexError, match="^index 4 is not below 4$"):
        check_bounds(good, low=0, high=4, message=MESSAGE)


def test_negative_indices_and_the_largest():
    indices = np.array([[-3, 2], [0, 1]]).T
    check_bounds(indices, low=-3, high=3, message=MESSAGE)
    with pytest.raises(IndexError, match="index -3 "):
        check_bounds(indices, low=-2, high=3, message=MESSAGE)
    with pytest.raises(IndexError, match="index 18446744073709551615 "):
        check_bounds(np.array([2**64 - 1], np.uint64), low=-1, high=3, message=MESSAGE)


def test_nothing_is_always_in_range():
    check_bounds(np.zeros((0, 3), np.int64), low=0, high=0, message=MESSAGE)
    with pytest.raises(IndexError, match="index 0 is not below 0"):
        check_bounds(np.array(0), low=0, high=0, message=MESSAGE)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_many_indices(dtype):
    """Of which the last one, the first one or none is out of range, with gaps and without."""
    indices = np.full((300, 700), 3, dtype)
    for view in (indices, indices.T, indices[:, ::3]):
        assert check_bounds(view, low=0, high=4, message=MESSAGE) is None
    for place in ((0, 0), (-1, -1), (299, 699)):
        wrong = indices.copy()
        wrong[place] = 4
        for view in (wrong, wrong.T, wrong[:, ::3]):
            with pytest.raises(IndexError, match="^index 4 is not below 4$"):
                check_bounds(view, low=0, high=4, message=MESSAGE)
        if np.dtype(dtype).kind == "i":
            wrong[place] = -1
            with pytest.raises(IndexError, match="^index -1 is not below 4$"):
                check_bounds(wrong, low=0, high=4, message=MESSAGE)
