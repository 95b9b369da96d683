"""Checking indices on a GPU: the error comes with the next wait, once."""
from __future__ import annotations

import numpy as np
import pytest

MESSAGE = "bounds test: index {value} is not below {limit}"
DTYPES = [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64]


@pytest.fixture
def launch(cp):
    from lucid_kernels.cuda.runtime import launch

    yield launch
    launch.forget_pending()


@pytest.fixture
def check(cp):
    from lucid_kernels.cuda.indexing import bounds

    def call(indices, low, high):
        assert bounds.check_bounds(indices, low=low, high=high, message=MESSAGE) is None

    return call


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 100, 1000])
def test_indices_in_range(cp, schedule, launch, check, size, dtype):
    indices = cp.asarray((np.arange(size) % 100).astype(dtype))
    check(indices, 0, min(size, 100))
    check(indices.reshape(-1, 1).T[:, ::3], 0, 100)
    check(indices[0], 0, 1)
    check(indices[:0], 0, 0)
    launch.raise_pending()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", [0, 255, 256, 999])
def test_one_index_too_large(cp, schedule, launch, check, place, dtype):
    host = np.zeros(1000, dtype)
    host[place] = 7
    check(cp.asarray(host), 0, 7)
    with pytest.raises(IndexError, match="bounds test: index 7 is not below 7 .found on gpu:0"):
        launch.raise_pending()
    check(cp.asarray(host), 0, 8)
    launch.raise_pending()


def test_one_index_too_small(cp, schedule, launch, check):
    indices = cp.asarray([0, 1, -4, 2])
    check(indices, -4, 3)
    launch.raise_pending()
    check(indices, -3, 3)
    with pytest.raises(IndexError, match="index -4 is not below 3"):
        launch.raise_pending()


def test_numbers_beyond_32_bits(cp, schedule, launch, check):
    check(cp.asarray([2**32 + 1]), 0, 2**32 + 2)
    launch.raise_pending()
    check(cp.asarray([2**32 + 1]), 0, 2)
    with pytest.raises(IndexError, match="index 4294967297 is not below 2"):
        launch.raise_pending()
    check(cp.asarray(np.array([2**64 - 1], np.uint64)), -1, 3)  # not -1
    with pytest.raises(IndexError, match="index 9223372036854775807"):
        launch.raise_pending()


def test_only_elements_of_a_view_count(cp, schedule, launch, check):
    indices = cp.asarray([[0, 9], [1, 9], [2, 9]])
    check(indices[:, 0], 0, 3)
    launch.raise_pending()
    check(indices[:, 1], 0, 3)
    with pytest.raises(IndexError, match="index 9"):
        launch.raise_pending()


def test_the_first_of_several_errors_stays(cp, schedule, launch, check):
    check(cp.asarray([5]), 0, 3)
    check(cp.asarray([6]), 0, 4)
    with pytest.raises(IndexError, match="index 5 is not below 3"):
        launch.raise_pending()
    launch.raise_pending()


def test_no_index_is_right_for_a_length_of_zero(cp, launch, check):
    with pytest.raises(IndexError, match="index 4 is not below 0"):
        check(cp.asarray([4]), 0, 0)
    launch.raise_pending()


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros(cp, schedule, launch, dtype):
    from lucid_kernels.cuda.indexing import bounds

    numbers = np.arange(1, 301).astype(dtype)
    numbers[numbers == 0] = 1
    bounds.check_nonzero(cp.asarray(numbers), message="a zero")
    bounds.check_nonzero(cp.asarray(numbers[:0]), message="a zero")
    bounds.check_nonzero(cp.asarray(np.stack([numbers, 0 * numbers], 1))[:, 0], message="a zero")
    launch.raise_pending()
    for place in (0, 299):
        wrong = numbers.copy()
        wrong[place] = 0
        bounds.check_nonzero(cp.asarray(wrong), message="a zero")
        with pytest.raises(RuntimeError, match="a zero .found on gpu:0"):
            launch.raise_pending()
