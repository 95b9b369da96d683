"""Elements read, written and combined by index: against NumPy, for one and several tasks."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.indexing import gather_scatter as kernels
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

CASES: list[Any] = [((5,), (9,), 0), ((3, 4), (3, 7), 1), ((3, 4), (2, 7), 1), ((3, 4), (7, 2), 0), ((3, 4), (0, 4), 0),
                    ((4, 5, 6), (3, 8, 6), 1), ((4, 5, 6), (4, 8, 3), 1), ((4, 5, 6), (8, 2, 6), 0), ((2, 3, 4, 5), (2, 3, 9, 2), 2),
                    ((70_000,), (40_000,), 0), ((30, 4000), (20, 5000), 1), ((4000, 600), (300, 590), 0), ((9, 40, 300), (9, 90, 300), 1)]
COMBINE: Any = {kernels.ADD: np.add, kernels.MULTIPLY: np.multiply, kernels.LARGEST: np.maximum, kernels.SMALLEST: np.minimum}


def spot(indices: np.ndarray, axis: int) -> tuple[Any, ...]:
    """What `take_along_axis` would read of an array that may be larger in the other dimensions."""
    others = np.indices(indices.shape, sparse=True)
    return tuple(indices if dim == axis else other for dim, other in enumerate(others))


def arguments(case: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    shape, lengths, axis = case
    rng = np.random.default_rng(0)
    x, source = (rng.integers(-9, 9, size).astype(dtype) for size in (shape, lengths))
    view = kernels.view_of(shape, lengths, axis)
    assert view is not None
    return x, rng.integers(0, shape[axis], lengths), source, view


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gather(case: Any, dtype: Any) -> None:
    x, indices, _, view = arguments(case, dtype)
    np.testing.assert_array_equal(kernels.gather(x, indices, view), x[spot(indices, case[2])])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_scatter(case: Any, dtype: Any) -> None:
    x, indices, source, view = arguments(case, dtype)
    for kind in (kernels.WRITE, *COMBINE):
        found, wanted = x.copy(), x.copy()
        with np.errstate(over="ignore"):
            kernels.scatter(found, indices, source, view, kind)
            if kind == kernels.WRITE:
                wanted[spot(indices, case[2])] = source
            else:
                COMBINE[kind].at(wanted, spot(indices, case[2]), source)
        np.testing.assert_array_equal(found, wanted)


def test_one_number_for_all_indices() -> None:
    x, indices, _, view = arguments(CASES[3], np.float32)
    wanted = x.copy()
    wanted[spot(indices, 0)] = 7
    kernels.scatter(x, indices, np.float32(7)[()] + np.zeros((), np.float32), view, kernels.WRITE)
    np.testing.assert_array_equal(x, wanted)


def test_not_finite_numbers() -> None:
    """The extrema take over NaN, and keep it; bits are copied as they are."""
    odd = np.array([0, np.nan, 1, -np.inf, np.inf, np.nan], np.float32)
    indices = np.array([0, 0, 1, 1, 2, 2])
    view = kernels.view_of((3,), (6,), 0)
    assert view is not None
    for kind, wanted in ((kernels.LARGEST, [np.nan, 1, np.nan]), (kernels.SMALLEST, [np.nan, -np.inf, np.nan])):
        target = np.zeros(3, np.float32)
        kernels.scatter(target, indices, odd, view, kind)
        np.testing.assert_array_equal(target, np.array(wanted, np.float32))
    back = kernels.view_of((6,), (4,), 0)
    assert back is not None
    np.testing.assert_array_equal(kernels.gather(odd, np.array([5, 4, 1, 0]), back), odd[[5, 4, 1, 0]])


@pytest.mark.parametrize("wrong", [-1, 3, 2**62])
def test_an_index_out_of_range_raises(wrong: int) -> None:
    indices = np.array([[0, 1], [wrong, 2]])
    view = kernels.view_of((2, 3), (2, 2), 1)
    assert view is not None
    target = np.zeros((2, 3), np.float32)
    with pytest.raises(IndexError, match="length 3"):
        kernels.gather(target, indices, view)
    with pytest.raises(IndexError, match="length 3"):
        kernels.scatter(target, indices, np.ones((2, 2), np.float32), view, kernels.ADD)
    np.testing.assert_array_equal(target, [[1, 1, 0], [0, 0, 1]])


def test_indices_that_are_shorter_within_rows_have_no_view() -> None:
    assert kernels.view_of((4, 5, 6), (4, 4, 8), 2) is None
    assert kernels.view_of((4, 5, 6), (8, 5, 5), 0) is None


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    results = []
    before = get_num_threads()
    source, indices = rng.standard_normal((3, 50_000)).astype(np.float32), rng.integers(0, 10, (3, 50_000))
    for threads in (1, 2):
        set_num_threads(threads)
        try:
            parts = []
            for view, given in ((kernels.view_of((3, 10), (3, 50_000), 1), indices),
                                (kernels.view_of((10, 3000), (50, 3000), 0), indices.reshape(50, 3000))):
                assert view is not None
                target = np.zeros(view.rows * view.pitch, np.float32)
                kernels.scatter(target, given, source.reshape(given.shape), view, kernels.ADD)
                parts.append(target)
        finally:
            set_num_threads(before)
        results.append(parts)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
